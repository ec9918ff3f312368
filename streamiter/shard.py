"""Shards: who a shard is, who its parents are, and its rank among the others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec

_SHARD_ID = re.compile(
    r"[^\x00-\x20\ud800-\udfff]+"
)  # no blanks: order keys set ids apart by them; and what UTF-8 can write


_SURROGATE = re.compile(r"[\ud800-\udfff]")


def is_text(text: str) -> bool:
    """Whether it can be written as UTF-8: half of a surrogate pair cannot."""
    return text.isascii() or not _SURROGATE.search(text)


def is_shard_id(text: str) -> bool:
    """Whether a shard can have this id: a word."""
    return _SHARD_ID.fullmatch(text) is not None


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
    # The first and the last hash key of its records, in decimal, where the service says; no part of who the shard is.
    hash_keys: tuple[str, str] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for shard_id in (self.id, *self.parents):
            if not is_shard_id(shard_id):
                raise ValueError(f"a shard id must be a word without blanks, not {shard_id!r}")


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
