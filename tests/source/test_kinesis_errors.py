"""Kinesis' refusals, as users are told of them: a stream that is gone is told from a shard that is gone by the words alone."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from streamiter import AccessDenied, InvalidStream, TransientError
from streamiter.errors import PositionTrimmed, ShardGone, SourceError, StreamiterError
from streamiter.position import AtNumber, AtTime, Position
from streamiter.source.kinesis_errors import kinesis_errors


def told(code: str, message: str, position: Position | None = None) -> Exception:
    """What becomes of a refusal of GetRecords or, with a position, of GetShardIterator."""
    answer: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    with pytest.raises(StreamiterError) as caught, kinesis_errors("kinesis:GetRecords", "shard S0 of it", position):
        raise ClientError(answer, "GetRecords")
    return caught.value


@pytest.mark.parametrize(
    "stream",
    ["orders", "my-shards", "shard", "Shard", "shardId-000000000000", "arn:aws:kinesis:eu-west-1:1:stream/shards"],
)
def test_a_stream_is_gone_whatever_it_is_called(stream: str):
    gone = told("ResourceNotFoundException", f"Stream {stream} under account 111122223333 not found.")
    assert type(gone) is InvalidStream
    gone = told(
        "ResourceNotFoundException",
        f"Shard shardId-000000000004 in stream {stream} under account 111122223333 does not exist",
    )
    assert type(gone) is ShardGone


def test_a_number_that_is_refused_is_trimmed_unless_it_is_another_shard_s():
    at = AtNumber("4")
    assert type(told("InvalidArgumentException", "StartingSequenceNumber 4 is invalid", at)) is PositionTrimmed
    foreign = "Invalid StartingSequenceNumber. It encodes shardId-000000000001, while it was used with shardId-0"
    assert type(told("InvalidArgumentException", foreign, at)) is SourceError


def test_a_clock_of_the_service_s_that_is_behind_passes():
    behind = "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis"
    assert type(told("InvalidArgumentException", behind, AtTime(10**15))) is TransientError


def test_a_key_that_may_not_be_used_names_the_action_on_the_key():
    refused = told("KMSAccessDeniedException", "User is not authorized to decrypt records in stream 1:orders:17")
    assert isinstance(refused, AccessDenied)
    assert "kms:Decrypt" in str(refused)
    assert "the IAM action kinesis:GetRecords" not in str(refused)
    assert "kinesis:GetRecords" in str(told("AccessDeniedException", "not authorized"))


@pytest.mark.parametrize("code", ["KMSDisabledException", "KMSInvalidStateException", "KMSNotFoundException"])
def test_a_key_that_cannot_be_used_says_so(code: str):
    error = told(code, "the key is disabled")
    assert isinstance(error, SourceError)
    assert code in str(error)
