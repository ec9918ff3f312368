"""Parts: what a task reads: ranges of shards, and rows that the planner has read already; plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from streamiter.position import Place, Position
from streamiter.reading import Handed
from streamiter.shard import Rank

AT_ONCE = 8  # shards that one task reads side by side


class ShardRange(NamedTuple):
    """Records of one shard: from a position to a place, or to the shard's end."""

    shard_id: str
    rank: Rank
    start: Position
    end: Place | None = None  # the last record; None: to the end of the shard
    floor_us: int | None = None  # the order time that its records never sort before, as far as the planner knows it
    seek: tuple[str, ...] = ()  # the ancestors that may raise the floor
    # The caller did not ask for records older than this order time, unless an ancestor has newer ones.
    since_us: int | None = None
    # All up to this time was read, even if the service no longer holds the last record that was read.
    read_up_to_us: int | None = None


class Rows(NamedTuple):
    """Records that the planner read, as an Arrow stream of the standard columns."""

    ipc: bytes
    shard_id: str = ""  # the shard of all of them, where tasks must find out how high its ancestors' order times go
    seek: tuple[str, ...] = ()
    since_us: int | None = None

    def __repr__(self) -> str:
        return f"<Rows {self.shard_id} of {len(self.ipc)} bytes>"  # The bytes hold keys and images.


class Partition(InputPartition):
    """Parts that one task reads; `families`: a shard only after the ancestors that may raise its floor."""

    def __init__(
        self,
        stream: str,
        parts: Sequence[ShardRange | Rows],
        service_us: int | None = None,
        *,
        families: bool = False,
    ) -> None:
        super().__init__(None)
        self.stream = stream
        self.parts = tuple(parts)
        self.service_us = service_us  # when this was planned, by the service's clock: it refuses times after that
        self.families = families

    @property
    def chains(self) -> list[list[ShardRange | Rows]]:
        """Parts that are read one after the other, ancestors first; the task may read chains side by side."""
        ranges = [part for part in self.parts if isinstance(part, ShardRange)]
        chains, alone = _grouped(ranges, [part for part in self.parts if isinstance(part, Rows)], self.families)
        return [*chains, [*alone]] if alone else chains

    def __repr__(self) -> str:
        told = [part.shard_id if isinstance(part, ShardRange) else f"{len(part.ipc)} bytes" for part in self.parts]
        return f"Partition({', '.join(told)})"


def handed_range(handed: Handed, seek: Iterable[str]) -> ShardRange:
    """A shard that the planner leaves to executors, as a range."""
    return ShardRange(
        handed.shard_id,
        handed.rank,
        handed.start,
        None,
        handed.floor_us,
        tuple(seek) if handed.floor_unknown else (),
        handed.since_us,
        handed.read_up_to_us,
    )


def partitions(
    stream: str,
    ranges: Sequence[ShardRange],
    rows: Sequence[Rows],
    *,
    most: int | None,
    slots: int | None,
    most_bytes: int,
    families: bool,
    service_us: int | None = None,
) -> list[Partition]:
    """Partitions of these ranges, as many as `shares` says, and of these rows, up to so many bytes each.

    `families`: a shard is read right after the ancestors that may raise its floor, by the same task.
    """
    groups, alone = _grouped(ranges, rows, families)
    count = shares(len(groups), most, slots)
    dealt = [[part for group in groups[first::count] for part in group] for first in range(count)]
    found = [Partition(stream, parts, service_us, families=families) for parts in dealt]
    packed: list[Rows] = []
    for part in alone:
        if packed and sum(len(one.ipc) for one in packed) + len(part.ipc) > most_bytes:
            found.append(Partition(stream, packed, service_us))
            packed = []
        packed.append(part)
    return found + ([Partition(stream, packed, service_us)] if packed else [])


def shares(count: int, most: int | None, slots: int | None) -> int:
    """How many partitions share so many shards, or families of shards.

    At most `most`, where the user says so. Else one for each slot: a task reads its shards side by side, so all of them
    are read at once. A task with more than AT_ONCE would read them in rounds; then Spark may as well have more tasks, each
    of which it can run again by itself. Where the slots are not known, there is one partition for each.
    """
    if most is not None:
        return min(count, most)
    if slots is None:
        return count
    rounds = ceil(count / (slots * AT_ONCE))
    return min(count, rounds * slots)


def _grouped(
    ranges: Sequence[ShardRange], rows: Sequence[Rows], families: bool
) -> tuple[list[list[ShardRange | Rows]], list[Rows]]:
    """Ranges that are read one after the other, and the rows that go with none of them."""
    return _families(ranges, rows) if families else ([[part] for part in ranges], [*rows])


def _families(ranges: Sequence[ShardRange], rows: Sequence[Rows]) -> tuple[list[list[ShardRange | Rows]], list[Rows]]:
    """Ranges that seek one another's order times together; ancestors first, as they come. And the rows that are alone."""
    group_of: dict[str, list[ShardRange | Rows]] = {}
    groups: list[list[ShardRange | Rows]] = []
    for part in ranges:
        joined: list[ShardRange | Rows] = []
        for group in _distinct(group_of[shard_id] for shard_id in part.seek if shard_id in group_of):
            groups = [one for one in groups if one is not group]
            joined += group
        joined.append(part)
        groups.append(joined)
        group_of.update({one.shard_id: joined for one in joined})
    alone = []
    for row in rows:
        group_found = next((group_of[shard_id] for shard_id in row.seek if shard_id in group_of), None)
        if group_found is None:
            alone.append(row)
        else:
            group_found.append(row)
    return groups, alone


def _distinct(groups: Iterable[list[ShardRange | Rows]]) -> list[list[ShardRange | Rows]]:
    return list({id(group): group for group in groups}.values())
