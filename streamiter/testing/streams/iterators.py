"""Iterators: a reading place in a shard, as the opaque text that goes out to the client and comes back."""

from __future__ import annotations

import msgspec

from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.http.sealed import seal, unseal


class ShardIterator(msgspec.Struct, frozen=True, array_like=True):
    """Where the next page starts, and when the iterator was handed out. The text has it all: the service keeps nothing."""

    stream_arn: str
    shard_id: str
    place: int
    empties: int  # empty pages already sent at this place
    issued_us: int
    type: str  # the kind of GetShardIterator call that it descends from
    is_trimmed: bool = False  # its place is trimmed already, which GetRecords tells

    def encode(self) -> str:
        """The iterator as text; like the service's own it begins with the stream's ARN."""
        return f"{self.stream_arn}|1|{seal(self)}"

    @classmethod
    def decode(cls, text: str) -> ShardIterator:
        """The iterator in a text; refuses a text that this service did not write."""
        iterator = unseal(text.rpartition("|")[2], cls)
        if iterator is None:
            raise _malformed()
        return iterator


def _malformed() -> Refusal:
    return invalid("Invalid ShardIterator")
