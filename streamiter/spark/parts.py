"""Parts: what a task is given to read: a range of a shard, or rows that the planner has read already; plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from streamiter.position import Place, Position
from streamiter.shard import Rank
from streamiter.stream.handover import Handed


class ShardRange(NamedTuple):
    """Records of one shard: from a position to a place, or to the shard's end."""

    shard_id: str
    rank: Rank
    start: Position
    end: Place | None = None  # the last record; None: to the end of the shard
    floor_us: int | None = None  # the order time that its records never sort before, as far as the planner knows it
    seek: tuple[str, ...] = ()  # the ancestors that may raise the floor
    since_us: int | None = (
        None  # what is older than this order time was not asked for, unless an ancestor has newer ones
    )
    idle_us: int | None = None  # all up to this time was read, though its last record may not be held any more


class Rows(NamedTuple):
    """Records that the planner read, as an Arrow stream of the standard columns."""

    ipc: bytes
    shard_id: str = ""  # of all of them, where it is not known which ancestors' order times they are above
    seek: tuple[str, ...] = ()
    since_us: int | None = None


class Partition(InputPartition):
    """Parts that one task reads."""

    def __init__(self, stream: str, parts: Sequence[ShardRange | Rows], service_us: int | None = None) -> None:
        super().__init__(None)
        self.stream = stream
        self.parts = tuple(parts)
        self.service_us = service_us  # the service's time, as it was planned: it refuses times that are still to come

    @property
    def chains(self) -> list[list[ShardRange | Rows]]:
        """Parts that are read one after the other, ancestors first; chains may be read side by side."""
        ranges = [part for part in self.parts if isinstance(part, ShardRange)]
        chains, alone = _families(ranges, [part for part in self.parts if isinstance(part, Rows)])
        return [*chains, [*alone]] if alone else chains

    def __repr__(self) -> str:
        told = [part.shard_id if isinstance(part, ShardRange) else f"{len(part.ipc)} bytes" for part in self.parts]
        return f"Partition({', '.join(told)})"


def handed_range(handed: Handed, seek: Iterable[str]) -> ShardRange:
    """What the planner left to executors, as a range."""
    return ShardRange(
        handed.shard_id,
        handed.rank,
        handed.start,
        None,
        handed.floor_us,
        tuple(seek) if handed.is_unresolved else (),
        handed.since_us,
        handed.idle_us,
    )


def partitions(
    stream: str,
    ranges: Sequence[ShardRange],
    rows: Sequence[Rows],
    *,
    most: int | None,
    most_bytes: int,
    families: bool,
    service_us: int | None = None,
) -> list[Partition]:
    """Partitions of these ranges, one each, but at most `most` of them, and of these rows, up to so many bytes each.

    `families`: a shard is read right after the ancestors that may raise its floor, by the same task.
    """
    groups: list[list[ShardRange | Rows]]
    if families:
        groups, rows = _families(ranges, rows)
    else:
        groups = [[part] for part in ranges]
    if most is not None and len(groups) > most:
        groups = [[part for group in groups[first::most] for part in group] for first in range(most)]
    found = [Partition(stream, group, service_us) for group in groups]
    packed: list[Rows] = []
    for part in rows:
        if packed and sum(len(one.ipc) for one in packed) + len(part.ipc) > most_bytes:
            found.append(Partition(stream, packed, service_us))
            packed = []
        packed.append(part)
    return found + ([Partition(stream, packed, service_us)] if packed else [])


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
