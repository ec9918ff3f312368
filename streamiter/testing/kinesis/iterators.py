"""Kinesis iterators: a reading place in a shard, as the opaque text that goes out to the client and comes back."""

from __future__ import annotations

import base64
import binascii
import zlib

import msgspec

from streamiter.testing.refusal import Refusal


class KinesisIterator(msgspec.Struct, frozen=True, array_like=True):
    """Where the next page starts, and when this was handed out: all of it travels, the service keeps nothing."""

    stream: str
    shard_id: str
    place: int
    empties: int  # empty pages already sent at this place
    issued_us: int
    is_stuck: bool = False  # opened at a number that is not held any more: only empty pages follow

    def encode(self) -> str:
        """The text of it."""
        packed = msgspec.msgpack.encode(self)
        return base64.b64encode(zlib.crc32(packed).to_bytes(4, "big") + packed).decode()

    @classmethod
    def decode(cls, text: str) -> KinesisIterator:
        """The iterator in a text; a refusal when it is none of ours."""
        try:
            sealed = base64.b64decode(text, validate=True)
            if zlib.crc32(sealed[4:]).to_bytes(4, "big") != sealed[:4]:
                raise _malformed()
            return msgspec.msgpack.decode(sealed[4:], type=cls)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            raise _malformed() from None


class ListToken(msgspec.Struct, frozen=True, array_like=True):
    """Where a listing goes on: ListShards' NextToken."""

    stream: str
    after: str
    issued_us: int

    def encode(self) -> str:
        """The text of it."""
        return base64.b64encode(msgspec.msgpack.encode(self)).decode()

    @classmethod
    def decode(cls, text: str) -> ListToken:
        """The token in a text; a refusal when it is none of ours."""
        try:
            return msgspec.msgpack.decode(base64.b64decode(text, validate=True), type=cls)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            raise Refusal("InvalidArgumentException", "NextToken is invalid") from None


def _malformed() -> Refusal:
    return Refusal("InvalidArgumentException", "Invalid ShardIterator.")
