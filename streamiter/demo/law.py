"""The law: in what order a table's records come out, by laws 3 and 4 of the design alone; knows nothing of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamiter.testing import WrittenRecord

Name = tuple[str, str]  # a record's: its shard, and its sequence number there
_Rank = tuple[str, int, str]


def lawful_order(history: Sequence[WrittenRecord], parent_of: Mapping[str, str | None]) -> list[Name]:
    """The names of all records, in order. `history` has a shard's records in its own order, parents' before children's."""
    last_us: dict[str, int] = {}
    keyed: list[tuple[int, _Rank, int, Name]] = []
    for place, record in enumerate(history):
        shard = record.shard_id
        order_us = max(record.created_us or 0, _floor_us(shard, last_us, parent_of))
        last_us[shard] = order_us
        keyed.append((order_us, _rank(shard, parent_of), place, (shard, record.sequence_number)))
    return [name for *_, name in sorted(keyed)]


def _floor_us(shard: str | None, last_us: Mapping[str, int], parent_of: Mapping[str, str | None]) -> int:
    """Order time never runs backwards along a lineage (law 3): this is where it stands above the next record."""
    while shard is not None:
        if shard in last_us:
            return last_us[shard]
        shard = parent_of[shard]
    return 0


def _rank(shard: str, parent_of: Mapping[str, str | None]) -> _Rank:
    """Equal times go by shard id, but never before an ancestor (law 4)."""
    line = [shard]
    while (parent := parent_of[line[-1]]) is not None:
        line.append(parent)
    return max(line), len(line) - 1, shard
