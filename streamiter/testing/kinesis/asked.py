"""What is asked of Kinesis beyond the form of a request: that it names its stream, and that its payloads can be read."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from streamiter.testing.http.refusal import Refusal


def wrong(told: str) -> Refusal:
    """A refusal: the request asks for something impossible."""
    return Refusal("InvalidArgumentException", told)


def check_names_stream(asked: dict[str, Any]) -> None:
    """Refuses a request that says neither the name nor the ARN of its stream."""
    if asked.get("StreamName") is None and asked.get("StreamARN") is None:
        raise wrong("StreamName or StreamARN must be specified")


def payload_of(text: str) -> bytes:
    """The bytes in a request's Data."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise Refusal("SerializationException", "Data is no base64") from None


def check_dry_run(asked: dict[str, Any]) -> None:
    """Ends a request that only asks whether it would succeed: it would."""
    if asked.get("DryRun"):
        raise Refusal("DryRunOperationException", "Request would have succeeded, but the DryRun flag is set.")
