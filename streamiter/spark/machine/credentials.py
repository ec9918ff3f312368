"""Credentials: those of a role, taken on by boto3's own chain, and renewed before they end."""

from __future__ import annotations

from typing import Any

from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials

from streamiter.source.aws import aws_errors
from streamiter.source.sessions import core_session, new_session


def role_session(role_arn: str, region: str | None) -> Any:
    """A boto3 session whose calls are made by a role; each driver and executor takes it on by itself."""
    with aws_errors("sts:AssumeRole", f"role {role_arn}"):
        base = core_session()
        if region is not None:
            base.set_config_variable("region", region)
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=base.create_client,
            source_credentials=base.get_credentials(),
            role_arn=role_arn,
            extra_args={"RoleSessionName": "streamiter-spark"},
            cache={},
        )
        assumed = core_session()
        if region is not None:
            assumed.set_config_variable("region", region)
        # botocore's own profiles with role_arn do just this; there is no public name for it.
        vars(assumed)["_credentials"] = DeferredRefreshableCredentials(
            refresh_using=fetcher.fetch_credentials, method="assume-role"
        )
        return new_session(assumed)
