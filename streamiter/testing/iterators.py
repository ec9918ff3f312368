"""Iterators: a reading place in a shard, as the opaque text that goes out to the client and comes back."""

from __future__ import annotations

import base64
import binascii
import zlib

import msgspec

from streamiter.testing.refusal import Refusal, invalid


class ShardIterator(msgspec.Struct, frozen=True, array_like=True):
    """Where the next page starts, and when this was handed out: all of it travels, the service keeps nothing."""

    stream_arn: str
    shard_id: str
    place: int
    empties: int  # empty pages already sent at this place
    issued_us: int
    type: str  # the kind of GetShardIterator call that it descends from
    is_trimmed: bool = False  # it points at what was trimmed already: GetRecords is to say so

    def encode(self) -> str:
        """The text of it; the service's own begin with the stream's ARN, too."""
        packed = msgspec.msgpack.encode(self)
        sealed = zlib.crc32(packed).to_bytes(4, "big") + packed
        return f"{self.stream_arn}|1|{base64.b64encode(sealed).decode()}"

    @classmethod
    def decode(cls, text: str) -> ShardIterator:
        """The iterator in a text; a refusal when it is none of ours."""
        try:
            sealed = base64.b64decode(text.rpartition("|")[2], validate=True)
            if zlib.crc32(sealed[4:]).to_bytes(4, "big") != sealed[:4]:
                raise _malformed()
            return msgspec.msgpack.decode(sealed[4:], type=cls)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            raise _malformed() from None


def _malformed() -> Refusal:
    return invalid("Invalid ShardIterator")
