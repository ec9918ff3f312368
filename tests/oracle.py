"""The oracle: in what order the records of a world come out, by sorting on the key of law 4. Knows nothing of the merge."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol


class _Truth(Protocol):
    @property
    def number(self) -> int: ...
    @property
    def created_us(self) -> int | None: ...


class _Shard(Protocol):
    parents: tuple[str, ...]
    records: list


class Expected(NamedTuple):
    """A record with its key; sorts by it."""

    order_us: int
    rank: tuple[str, int, str]
    place: tuple[int, int]
    shard: str
    index: int


def expected(
    shards: Mapping[str, _Shard],
    *,
    start_us: int | None = None,
    read: Collection[str] = (),
    first: Mapping[str, int] = {},
) -> list[Expected]:
    """All records in the order of laws 3 and 4.

    `start_us`: only those with this order time or a later one. `read`: shards of which only the rank counts. `first`: of a
    shard, the index of the first record that is held.
    """
    parents = {shard_id: [above for above in shard.parents if above in shards] for shard_id, shard in shards.items()}
    last_us: dict[str, int | None] = {}  # order time of a shard's last record, or its floor
    ranks: dict[str, tuple[str, int, str]] = {}
    found: list[Expected] = []
    for shard_id in _parents_first(parents):
        above = parents[shard_id]
        ranks[shard_id] = (
            max([shard_id, *(ranks[parent][0] for parent in above)]),
            1 + max((ranks[parent][1] for parent in above), default=-1),
            shard_id,
        )
        if shard_id in read:
            last_us[shard_id] = None
            continue
        floors = [floor_us for parent in above if (floor_us := last_us[parent]) is not None]
        order_us = max(floors, default=None)
        place: tuple[int, int] | None = None
        for index, truth in enumerate(shards[shard_id].records):
            if index < first.get(shard_id, 0):
                continue
            order_us = max(order_us or 0, truth.created_us or 0)
            if start_us is not None and order_us < start_us:
                continue
            if place is None or truth.number > place[0]:
                place = (truth.number, 0)
            else:
                place = (place[0], place[1] + 1)
            found.append(Expected(order_us, ranks[shard_id], place, shard_id, index))
        last_us[shard_id] = order_us
    return sorted(found)


def _parents_first(parents: Mapping[str, Sequence[str]]) -> list[str]:
    ordered: list[str] = []
    while len(ordered) < len(parents):
        ordered += [s for s in parents if s not in ordered and all(parent in ordered for parent in parents[s])]
    return ordered


def assert_same(out: Sequence, wanted: Sequence[Expected], *, clock: int = 0) -> None:
    """These records came out as the oracle has them: sequence, keys, clock, none late, order keys that sort as they came."""
    assert [(o.shard, o.index) for o in out] == [(e.shard, e.index) for e in wanted]
    assert [(o.order_us, o.rank, o.place) for o in out] == [(e.order_us, e.rank, e.place) for e in wanted]
    assert [o.clock for o in out] == list(range(clock + 1, clock + 1 + len(out)))
    assert not [o for o in out if o.late]
    assert [o.key for o in out] == sorted({o.key for o in out})


def assert_lawful(out: Sequence, shards: Mapping[str, _Shard], *, once: bool = True) -> None:
    """What holds always: laws 1 and 2, each record exactly once, and what is not late comes in the order of the keys."""
    at = {(o.shard, o.index): position for position, o in enumerate(out)}
    assert len(at) == len(out), "a record came out twice"
    if once:
        lost = [(s, i) for s, shard in shards.items() for i in range(len(shard.records)) if (s, i) not in at]
        assert not lost, f"lost: {lost}"
    for shard_id, shard in shards.items():
        mine = [o.index for o in out if o.shard == shard_id]
        assert mine == sorted(mine), f"law 1: {shard_id} came out as {mine}"
        for parent in shard.parents:
            theirs = [position for (s, _), position in at.items() if s == parent]
            own = [position for (s, _), position in at.items() if s == shard_id]
            assert not (theirs and own and max(theirs) > min(own)), f"law 2: {shard_id} before the end of {parent}"
    highest = None
    for o in out:
        key = (o.order_us, o.rank, o.place)
        assert o.late == (highest is not None and key < highest), f"late or not: {o}"
        highest = key if highest is None else max(highest, key)
