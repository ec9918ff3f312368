"""Kinesis iterators: a reading place in a shard, as the opaque text that goes out to the client and comes back."""

from __future__ import annotations

import msgspec

from streamiter.testing.http.refusal import Refusal
from streamiter.testing.http.sealed import seal, unseal

TOKEN_LIFE_US = 300_000_000
_LEAST_SIZE = 152  # bytes: the service's are as long as this and the stream's name


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
        return seal(self, size=_LEAST_SIZE + (len(self.stream) + 2) // 16 * 16)

    @classmethod
    def decode(cls, text: str) -> KinesisIterator:
        """The iterator in a text; a refusal when it is none of ours."""
        iterator = unseal(text, cls)
        if iterator is None:
            raise _malformed()
        return iterator


class ListToken(msgspec.Struct, frozen=True, array_like=True):
    """Where a listing goes on: the NextToken of shards, streams and consumers."""

    stream: str
    after: str
    issued_us: int
    filter: dict[str, str | float] | None = None  # the first page's: the next ones are asked for with the token alone

    def encode(self) -> str:
        """The text of it."""
        return seal(self)

    @classmethod
    def decode(cls, text: str) -> ListToken:
        """The token in a text; a refusal when it is none of ours."""
        token = unseal(text, cls)
        if token is None:
            raise Refusal("InvalidArgumentException", "NextToken is invalid")
        return token

    @classmethod
    def read(cls, text: str, now_us: int) -> ListToken:
        """The same, and a refusal when it is too old."""
        token = cls.decode(text)
        if now_us - token.issued_us >= TOKEN_LIFE_US:
            raise Refusal("ExpiredNextTokenException", "The NextToken has expired.")
        return token


def _malformed() -> Refusal:
    return Refusal("InvalidArgumentException", "Invalid ShardIterator.")
