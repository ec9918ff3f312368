"""The caller: whose credentials sign the calls, and where they were found."""

from __future__ import annotations

import botocore.exceptions as boto

from streamiter.errors import CredentialsMissing, StreamiterError
from streamiter.source import DynamoDBStreams, KinesisStreams
from streamiter.source.aws import aws_errors

_METHODS = {
    "env": "the environment",
    "shared-credentials-file": "the credentials file",
    "config-file": "the config file",
    "iam-role": "the instance's role",
    "container-role": "the container's role",
    "assume-role": "an assumed role",
    "sso": "single sign-on",
}


def who_calls(source: DynamoDBStreams | KinesisStreams) -> str:
    """Describes the credentials that boto3 finds, without secrets; raises CredentialsMissing if there are none."""
    with aws_errors("sts:GetCallerIdentity", "credentials"):
        credentials = source.session.get_credentials()
        if credentials is None:
            raise CredentialsMissing(
                "boto3 found none; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile (--profile NAME), "
                "or log in (aws sso login)"
            )
        key = credentials.get_frozen_credentials().access_key
    shown = f"key …{key[-4:]}" if len(key) > 8 else "a short key"
    where = _METHODS.get(credentials.method, credentials.method)
    return f"{shown}, from {where}{_identity(source)}"


def _identity(source: DynamoDBStreams | KinesisStreams) -> str:
    """Asks AWS whose the credentials are; emulators do not know."""
    try:
        client = source.make_client(service_of(source))
    except StreamiterError:
        return ""  # there is no region, or not a valid one: the next finding says so
    if "amazonaws." not in client.meta.endpoint_url:
        return ""
    try:
        identity = source.session.client("sts", region_name=client.meta.region_name).get_caller_identity()
        return f", {identity['Arn']}"
    except (boto.BotoCoreError, boto.ClientError):
        return ""  # what is wrong with them shows with the first call that counts


def service_of(source: DynamoDBStreams | KinesisStreams) -> str:
    """The service as boto3 names it."""
    return "kinesis" if isinstance(source, KinesisStreams) else "dynamodbstreams"
