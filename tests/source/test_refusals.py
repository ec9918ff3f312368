"""Missing credentials, a missing region, a refused permission, a service that is not there: what to do is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import boto3
import botocore.session
import pytest
from botocore.credentials import DeferredRefreshableCredentials
from botocore.exceptions import ClientError

from streamiter import (
    AccessDenied,
    CredentialsMissing,
    DynamoDBStreams,
    InvalidOption,
    InvalidStream,
    InvalidToken,
    Stream,
    TransientError,
)
from streamiter.source.aws import aws_errors
from streamiter.testing import ManualClock, Simulator
from tests.stream.helpers import assert_all_came, drain, until_raises, write

NOWHERE = "http://127.0.0.1:9"


def read(source: DynamoDBStreams, clock: ManualClock) -> None:
    with Stream(source, clock=clock) as stream:
        drain(stream, clock)


@pytest.mark.parametrize(
    "table", ["users", "arn:aws:dynamodb:us-east-1:000000000000:table/users/stream/2025-06-15T15:06:40.000"]
)
def test_missing_credentials_say_where_they_are_looked_for(bare: pytest.MonkeyPatch, table: str):
    with pytest.raises(CredentialsMissing) as caught:
        read(DynamoDBStreams(table, endpoint_url=NOWHERE, region="us-east-1"), ManualClock())
    told = str(caught.value)
    assert "boto3 found no AWS credentials" in told
    for remedy in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "session=", "client="):
        assert remedy in told


def test_half_of_the_credentials_are_missing_ones(bare: pytest.MonkeyPatch):
    bare.setenv("AWS_ACCESS_KEY_ID", "simulator")
    with pytest.raises(CredentialsMissing, match="AWS_SECRET_ACCESS_KEY"):
        Stream(DynamoDBStreams("users", endpoint_url=NOWHERE, region="us-east-1"))


def test_a_profile_that_is_not_there_is_missing_credentials(bare: pytest.MonkeyPatch):
    bare.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(CredentialsMissing, match="nobody"):
        Stream(DynamoDBStreams("users", endpoint_url=NOWHERE, region="us-east-1"))


def test_a_missing_region_says_how_to_give_one(credentials: None):
    with pytest.raises(CredentialsMissing, match=r"(?s)region.*region=.*AWS_DEFAULT_REGION"):
        Stream(DynamoDBStreams("users", endpoint_url=NOWHERE))


def test_what_the_message_for_a_missing_region_advises_works(sim: Simulator, bare: pytest.MonkeyPatch):
    bare.setenv("AWS_DEFAULT_REGION", "us-east-1")
    assert DynamoDBStreams("users", endpoint_url=sim.endpoint_url).name == sim.stream_arn


def test_a_region_that_cannot_be_one_is_told(credentials: None):
    with pytest.raises(ValueError, match=r"no such region!|region"):
        Stream(DynamoDBStreams("users", region="no such region!"))


@pytest.mark.parametrize("operation", ["DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords"])
@pytest.mark.parametrize(
    "kind,remedy",
    [
        ("access_denied", "allow the caller the IAM action dynamodb:{}"),
        ("unknown_key", "the access key is not known: it was deleted or mistyped"),
        ("expired_token", "the session has expired: log in again (aws sso login)"),
    ],
)
def test_a_refusal_names_the_call_and_its_own_remedy(sim: Simulator, operation: str, kind: str, remedy: str):
    sim.shape("S1")
    write(sim, "S1")
    sim.fault(operation, kind=kind, times=None)
    with pytest.raises(AccessDenied) as caught:
        read(DynamoDBStreams("users", endpoint_url=sim.endpoint_url, region="us-east-1"), sim.clock)
    told = str(caught.value)
    assert f"dynamodb:{operation}" in told
    assert remedy.format(operation) in told
    assert ("IAM" in told) is (kind == "access_denied"), "no permission helps credentials that are refused"
    assert "users" in told


def test_list_streams_is_named_where_only_a_streams_client_was_given(sim: Simulator):
    sim.fault("ListStreams", kind="access_denied", times=None)
    with pytest.raises(
        AccessDenied, match=r"dynamodb:ListStreams.*allow the caller the IAM action dynamodb:ListStreams"
    ):
        Stream(DynamoDBStreams("users", client=sim.client()))


def test_after_the_permission_is_given_it_goes_on(sim: Simulator):
    sim.shape("S1")
    write(sim, "S1")
    fault = sim.fault("GetRecords", kind="access_denied", times=None)
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        until_raises(AccessDenied, stream, sim.clock)
        sim.heal(fault)
        assert_all_came(drain(stream, sim.clock), sim)


def test_credentials_that_are_renewed_and_still_expired_are_missing_ones(sim: Simulator, bare: pytest.MonkeyPatch):
    sim.shape("S1")
    write(sim, "S1")
    minutes = [-1]

    def renewed() -> dict[str, str]:
        end = datetime.now(UTC) + timedelta(minutes=minutes[0])
        return {"access_key": "a", "secret_key": "b", "token": "c", "expiry_time": end.isoformat()}

    core = botocore.session.Session()
    core._credentials = DeferredRefreshableCredentials(renewed, "test")  # type: ignore[attr-defined]
    session = boto3.Session(botocore_session=core, region_name="us-east-1")
    with pytest.raises(CredentialsMissing, match="still expired. Renew what gives boto3 its credentials"):
        read(DynamoDBStreams("users", endpoint_url=sim.endpoint_url, session=session), sim.clock)
    assert not sim.clock.slept, "nothing is retried: only the owner of the credentials can renew them"
    minutes[0] = 60
    read(DynamoDBStreams("users", endpoint_url=sim.endpoint_url, session=session), sim.clock)


def test_a_service_that_is_not_there_is_tried_with_patience(credentials: None):
    clock = ManualClock()
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/users/stream/2025-06-15T15:06:40.000"
    with Stream(DynamoDBStreams(arn, endpoint_url=NOWHERE, region="us-east-1"), clock=clock, patience=5) as stream:
        _, error = until_raises(TransientError, stream, clock)
    assert "listing the shards" in str(error)
    assert "could not be called at 127.0.0.1:9: EndpointConnectionError" in str(error)


def test_a_proxy_that_is_not_there_is_named_without_its_password(credentials: None, sim: Simulator, monkeypatch):
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", "http://ann:secret@127.0.0.1:9")
    source = DynamoDBStreams(sim.stream_arn, endpoint_url=sim.endpoint_url, region="us-east-1")
    with pytest.raises(TransientError) as caught:
        source.list_shards(None)
    assert "could not be called at 127.0.0.1:9: ProxyConnectionError" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "body,shown",
    [
        ("<!DOCTYPE html>\n<html>\n  <body>no such page</body>\n</html>", "HTTP 501, not from the service itself"),
        ("upstream\n  is  away " * 40, "HTTP 501, not from the service itself: upstream is away upstream"),
    ],
)
def test_a_page_of_another_server_is_told_in_a_line(body: str, shown: str):
    response = {"Error": {"Code": "501", "Message": body}, "ResponseMetadata": {"HTTPStatusCode": 501}}
    with pytest.raises(TransientError) as caught, aws_errors("dynamodb:DescribeStream", "table users"):
        raise ClientError(response, "DescribeStream")
    told = str(caught.value)
    assert shown in told and "<" not in told and "\n" not in told and len(told) < 250
    assert told.startswith("table users: dynamodb:DescribeStream: ")


def test_an_endpoint_in_the_environment_that_is_no_url_says_how_one_is_written(bare: pytest.MonkeyPatch):
    bare.setenv("AWS_ENDPOINT_URL", "127.0.0.1:8000")
    with pytest.raises(InvalidOption, match=r"127\.0\.0\.1:8000.*http://HOST:PORT.*AWS_ENDPOINT_URL"):
        _ = DynamoDBStreams("users", region="us-east-1").name


@pytest.mark.parametrize("kind", ["throttle", "500", "reset"])
def test_a_table_is_looked_up_with_patience_too(sim: Simulator, kind: str):
    sim.shape("S1")
    sim.fault("DescribeTable", kind=kind, times=2)
    with Stream(DynamoDBStreams("users", endpoint_url=sim.endpoint_url, region="us-east-1"), clock=sim.clock) as stream:
        assert stream.token["stream"] == sim.stream_arn


def test_errors_hold_no_credentials(sim: Simulator, bare: pytest.MonkeyPatch):
    bare.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    sim.fault("DescribeTable", kind="access_denied", times=None)
    with pytest.raises(AccessDenied) as caught:
        Stream(DynamoDBStreams("users", endpoint_url=sim.endpoint_url, region="us-east-1"))
    assert "hunter2" not in str(caught.value)


def test_a_stream_that_is_gone_says_how_to_find_the_new_one(sim: Simulator):
    gone = sim.stream_arn + "1"
    with pytest.raises(InvalidStream, match=r"after 24 hours.*name the table to read its latest") as caught:
        read(DynamoDBStreams(gone, client=sim.client()), sim.clock)
    assert gone in str(caught.value)


def test_a_token_of_another_stream_says_what_to_do(sim: Simulator):
    source = DynamoDBStreams("users", client=sim.client())
    token = Stream(source, clock=sim.clock).token
    with pytest.raises(InvalidToken, match=r"of another stream.*name that stream, or another token"):
        Stream(source, token | {"stream": "arn:other"}, clock=sim.clock)
