"""The wire: answers straight from the response's bytes, past botocore's parser, which is 25 times as slow.

botocore's `before-parse` event hands over the body before it is parsed. Inside our own calls, and there alone, the body is
checked against its checksum, which botocore does for DynamoDB's tables, but not for its streams; a damaged one would be
taken for an empty answer. A page of records is decoded by msgspec, and botocore is given an empty body instead.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import msgspec

from streamiter.errors import TransientError

_Page = TypeVar("_Page")


class Answer(Generic[_Page]):
    """What the hook found during one call: a page, where the call said how to decode one."""

    __slots__ = ("decode", "page", "size_bytes")

    def __init__(self, decode: Callable[[bytes], _Page] | None) -> None:
        self.decode = decode
        self.page: _Page | None = None  # None too where the client's botocore has no such event
        self.size_bytes = 0


_call: ContextVar[Answer[Any] | None] = ContextVar("streamiter_own_call", default=None)
_decode_any = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def hook(client: Any, service: str) -> None:
    """Registers with a client of the service, once however often it is asked; other users of it see no change."""
    events = getattr(getattr(client, "meta", None), "events", None)
    if events is not None:
        events.register(f"before-parse.{service}", _before_parse, unique_id="streamiter-own-calls")


@contextmanager
def own_call(decode: Callable[[bytes], _Page] | None = None) -> Iterator[Answer[_Page]]:
    """A call of ours: its answer is checked, and decoded as it says."""
    answer = Answer(decode)
    token = _call.set(answer)
    try:
        yield answer
    finally:
        _call.reset(token)


def _before_parse(response_dict: dict[str, Any], operation_model: Any = None, **_: Any) -> None:
    answer = _call.get()
    if answer is None or response_dict.get("status_code", 0) >= 300:
        return
    operation = getattr(operation_model, "name", "")
    body = response_dict["body"]
    try:
        if not _is_sound(body, response_dict.get("headers") or {}, operation) and not body.isascii():
            body.decode()  # what is decoded later is to be text all the same
        if answer.decode is None:
            _decode_any(body)
            return
        answer.page = answer.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TransientError(f"the answer to {operation} cannot be read: {error}") from None
    answer.size_bytes = len(body)
    response_dict["body"] = b"{}"


def _is_sound(body: bytes, headers: Any, operation: str) -> bool:
    """Whether a checksum says so; raises where it says otherwise."""
    told = headers.get("x-amz-crc32")
    if told is None or headers.get("content-encoding"):
        return False
    if str(zlib.crc32(body)) != str(told).strip():
        raise TransientError(f"the answer to {operation} was damaged on its way: its checksum does not match")
    return True
