"""Kinesis' errors as ours, where they mean something else than DynamoDB's of the same name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import ClientError

from streamiter.errors import InvalidStream, PositionTrimmed, ShardGone, SourceError, TransientError
from streamiter.position import After, AtNumber, AtTime, Position
from streamiter.source.aws import aws_errors

_STREAM_NAME = re.compile(r"\bstream\s+\S+", re.IGNORECASE)


@contextmanager
def kinesis_errors(
    action: str, where: str, position: Position | None = None, *, gone: type[Exception] = ShardGone
) -> Iterator[None]:
    """Calls inside raise our errors; `position` is where a shard is being opened."""
    try:
        with aws_errors(action, where, gone=gone, at_time=isinstance(position, AtTime)):
            yield
    except ShardGone as error:
        if not _is_about_a_shard(_told(error)[1]):  # it is the stream that is not there
            raise InvalidStream(str(error)) from error
        raise
    except SourceError as error:
        code, message = _told(error)
        if code != "InvalidArgumentException":
            raise
        if isinstance(position, AtTime) and "currentTimestampInMillis" in message:
            raise TransientError(str(error)) from error  # one of the service's clocks is behind the others
        if isinstance(position, After | AtNumber) and not _is_foreign(message):
            raise PositionTrimmed(str(error)) from error
        raise


def _told(error: BaseException) -> tuple[str, str]:
    """The service's own code and message behind one of our errors."""
    cause = error.__cause__
    told = cause.response.get("Error", {}) if isinstance(cause, ClientError) else {}
    return str(told.get("Code", "")), str(told.get("Message", ""))


def _is_about_a_shard(message: str) -> bool:
    """Whether what was not found is a shard; the stream may have one in its name."""
    return "shard" in _STREAM_NAME.sub("", message).lower()


def _is_foreign(message: str) -> bool:
    """Whether a sequence number was refused because it is another shard's or another stream's."""
    return "encodes" in message or "did not come from this stream" in message
