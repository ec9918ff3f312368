"""The wire: answers straight from the response's bytes, past botocore's parser, which is 25 times as slow.

botocore's `before-parse` event hands over the body before it is parsed. Inside our own calls, and there alone, the body is
checked against its checksum, which botocore does for DynamoDB's tables, but not for its streams; a damaged one would be
taken for an empty answer. A page of records is decoded by msgspec, and botocore is given an empty body instead.

Its `before-send` event shows what goes out, so that calls like it can be repeated without botocore (repeat.py). There, too,
an answer that came without botocore is handed to it, where it is none of the usual ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import msgspec
from botocore.awsrequest import AWSResponse

from streamiter.errors import TransientError
from streamiter.source.exchange import Reply
from streamiter.source.salvage import Salvage

_Page = TypeVar("_Page")


class Answer(Generic[_Page]):
    """What the hooks found during one call: a page, where the call said how to decode one; and what was sent."""

    __slots__ = ("decode", "iterator", "page", "reply", "salvage", "sent", "size_bytes")

    def __init__(self, decode: Callable[[bytes], _Page] | None, salvage: Salvage[_Page] | None, iterator: str) -> None:
        self.decode = decode
        self.salvage = salvage
        self.iterator = iterator
        self.page: _Page | None = None  # None too where the client's botocore has no such event
        self.size_bytes = 0
        self.sent: list[Any] = []  # the requests that botocore sent
        self.reply: Reply | None = None  # what botocore is to take for the answer to the next one

    def take(self, body: bytes, headers: Mapping[str, str], operation: str) -> None:
        """Takes an answer: checks it, and decodes the page in it."""
        is_whole = _is_sound(body, headers, operation)
        try:
            if not is_whole and not body.isascii():
                body.decode()  # what is decoded later is to be text all the same
            if self.decode is None:
                _decode_any(body)
                return
            self.page = self.decode(body)
            if self.salvage is not None:
                self.salvage.was_read(self.iterator)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if self.salvage is not None:
                self.page = self.salvage.page(self.iterator, body, is_whole=is_whole)
            if self.page is None:
                raise TransientError(f"the answer to {operation} cannot be read: {error}") from None
        self.size_bytes = len(body)


_call: ContextVar[Answer[Any] | None] = ContextVar("streamiter_own_call", default=None)
_decode_any = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def hook(client: Any, service: str) -> None:
    """Registers with a client of the service, once however often it is asked; other users of it see no change."""
    events = getattr(getattr(client, "meta", None), "events", None)
    if events is not None:
        events.register(f"before-parse.{service}", _before_parse, unique_id="streamiter-own-calls")
        events.register(f"before-send.{service}", _before_send, unique_id="streamiter-own-sending")


def current() -> Answer[Any] | None:
    """That of the call of ours that this thread makes."""
    return _call.get()


@contextmanager
def hooked_call(
    decode: Callable[[bytes], _Page] | None = None, salvage: Salvage[_Page] | None = None, iterator: str = ""
) -> Iterator[Answer[_Page]]:
    """A call of ours: its answer is checked, and decoded as it says; `salvage` is for a page that cannot be decoded."""
    answer = Answer(decode, salvage, iterator)
    token = _call.set(answer)
    try:
        yield answer
    finally:
        _call.reset(token)


def _before_parse(response_dict: dict[str, Any], operation_model: Any = None, **_: Any) -> None:
    answer = _call.get()
    if answer is None or response_dict.get("status_code", 0) >= 300:
        return
    answer.take(response_dict["body"], response_dict.get("headers") or {}, getattr(operation_model, "name", ""))
    if answer.decode is not None:
        response_dict["body"] = b"{}"


def _before_send(request: Any, **_: Any) -> AWSResponse | None:
    answer = _call.get()
    if answer is None:
        return None
    answer.sent.append(request)
    reply, answer.reply = answer.reply, None  # if botocore tries again, it sends
    if reply is None:
        return None
    headers: Any = reply.headers
    return AWSResponse(request.url, reply.status, headers, _Body(reply.body))


class _Body:
    """An answer's body as botocore reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        """All of it."""
        yield self._body


def _is_sound(body: bytes, headers: Mapping[str, str], operation: str) -> bool:
    """Whether a checksum says so; raises where it says otherwise."""
    told = headers.get("x-amz-crc32")
    if told is None or headers.get("content-encoding"):
        return False
    if str(zlib.crc32(body)) != str(told).strip():
        raise TransientError(f"the answer to {operation} was damaged on its way: its checksum does not match")
    return True
