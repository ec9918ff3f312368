"""Shards: who a shard is, who its parents are, and its rank among the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import msgspec


class Rank(msgspec.Struct, frozen=True, order=True, gc=False):
    """Where a shard stands when order times tie: by its id, but never before its ancestors (law 4)."""

    greatest: str  # the greatest id among the shard and its ancestors
    depth: int
    shard_id: str

    @property
    def text(self) -> str:
        """The rank as text that sorts as the rank does; ids hold no blanks, and a blank sorts below all that they hold."""
        return _rank_text(self)


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard as the service lists it: identity and parents; `closed` when the listing says that it takes no more records."""

    id: str
    parents: tuple[str, ...] = ()
    closed: bool = False

    def __post_init__(self) -> None:
        if not self.id or any(character <= " " for character in self.id):
            raise ValueError(f"a shard id must be a word without blanks, not {self.id!r}")


def hinted_us(shard_id: str) -> int | None:
    """When the shard was made, as its id hints: `shardId-<milliseconds>-<hex>`. A hint, never a law: None where it has none."""
    parts = shard_id.removeprefix("shardId-").split("-")
    if not shard_id.startswith("shardId-") or len(parts) != 2 or len(parts[0]) > 20 or not parts[0].isdecimal():
        return None
    milliseconds = int(parts[0])
    return milliseconds * 1000 if 1_300_000_000_000 < milliseconds < 9_000_000_000_000 else None


FIRST = Rank("", -1, "")  # before the rank of any shard
LAST = Rank(chr(0x10FFFF), 0, "")  # behind the rank of any shard


@lru_cache(maxsize=4096)
def _rank_text(rank: Rank) -> str:
    # Asked for with each record of a shard.
    return f"{rank.greatest} {sortable(rank.depth)} {rank.shard_id}"


def sortable(number: int) -> str:
    """A number from 0 up as text that sorts as numbers do: its length, then its digits."""
    digits = str(number)
    return f"{len(digits):02d}{digits}"
