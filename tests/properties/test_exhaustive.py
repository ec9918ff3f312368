"""Every small world: all lineages of up to 4 shards, all placings of up to 5 records, all page cuts; smallest first."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import combinations, permutations, product

from tests.drawn import LONG_AGO
from tests.oracle import assert_same, expected
from tests.worlds import ALWAYS, SECOND, Drive, Page, Pages, Tape, Truth, World, WorldShard

SECONDS = float(os.environ.get("STREAMITER_EXHAUSTIVE_SECONDS", "8"))
TIMES = (LONG_AGO, LONG_AGO + SECOND, LONG_AGO + 2 * SECOND)
MOST_SHARDS, MOST_RECORDS = 4, 5


class CutPages(Pages):
    """Pages cut at given records, one of them after a run of empty pages."""

    def __init__(self, world: World, cuts: set[tuple[str, int]]) -> None:
        super().__init__(world, Tape(), 0)
        self.cuts = cuts

    def fetch(self, shard_id: str, at: int, service_us: int) -> Page:
        records = self.world.shards[shard_id].records
        if (shard_id, at) in self.cuts and self._empties[shard_id] < 2:
            self._empties[shard_id] += 1
            return Page([], at, False, None, service_us)
        end = next((end for end in range(at + 1, len(records)) if (shard_id, end) in self.cuts), len(records))
        self._empties[shard_id] = 0
        page = super().fetch(shard_id, at, service_us)
        return Page(page.records[: end - at], end, page.ended and end == len(records), None, service_us)


def lineages(count: int) -> Iterator[list[tuple[int, ...]]]:
    """All ways in which so many shards descend from those before them, each of none, one or two."""
    ways = [
        [above for size in range(min(index, 2) + 1) for above in combinations(range(index), size)]
        for index in range(count)
    ]
    return (list(way) for way in product(*ways))


def placings(shards: int, records: int) -> Iterator[list[list[int]]]:
    """All ways in which so many records, each of one of the times, lie in the shards."""
    for ends in combinations(range(records + shards - 1), shards - 1):
        marks = (-1, *ends, records + shards - 1)
        sizes = [after - before - 1 for before, after in zip(marks, marks[1:], strict=False)]
        for times in product(TIMES, repeat=records):
            rest = list(times)
            yield [[rest.pop(0) for _ in range(size)] for size in sizes]


def small_worlds(shards: int, records: int) -> Iterator[tuple[World, list[tuple[str, int]]]]:
    """All worlds of this size, and where their pages may be cut."""
    seen = set()
    for above in lineages(shards):
        for names in permutations([f"S{index}" for index in range(shards)]):
            for placing in placings(shards, records):
                world = World(
                    WorldShard(
                        names[index],
                        tuple(names[parent] for parent in above[index]),
                        [Truth(number, created_us) for number, created_us in enumerate(placing[index], 1)],
                        closed_us=ALWAYS,
                    )
                    for index in range(shards)
                )
                same = frozenset((s.id, frozenset(s.parents), tuple(s.records)) for s in world.shards.values())
                if same in seen:
                    continue
                seen.add(same)
                yield world, [(s.id, at) for s in world.shards.values() for at in range(1, len(s.records))]


def all_cases() -> Iterator[tuple[World, set[tuple[str, int]], tuple[int, int]]]:
    sizes = sorted(product(range(1, MOST_SHARDS + 1), range(MOST_RECORDS + 1)), key=lambda size: (sum(size), size))
    for shards, records in sizes:
        for world, places in small_worlds(shards, records):
            for count in range(len(places) + 1):
                for cuts in combinations(places, count):
                    yield world, set(cuts), (shards, records)


def read(world: World, cuts: set[tuple[str, int]], cut: int) -> None:
    """Reads the world up to a record, and on from the token."""
    wanted = expected(world.shards)
    first = Drive(world, checks=False)
    first.pages = CutPages(world, cuts)
    assert_same(first.read(cut), wanted[:cut])
    rest = Drive(world, first.token(), checks=False, now_us=first.now_us)
    rest.pages = CutPages(world, cuts)
    assert_same(rest.read(len(wanted) - cut), wanted[cut:], clock=cut)


def test_every_small_world():
    deadline = time.monotonic() + SECONDS
    cases = 0
    size = (0, 0)
    whole: list[tuple[int, int]] = []
    for world, cuts, now in all_cases():
        if time.monotonic() > deadline:
            break
        if now != size:
            whole.append(size)
            size = now
        try:
            read(world, cuts, cases % (size[1] + 1))
        except AssertionError as error:
            raise AssertionError(
                f"{world}\ncut at {sorted(cuts)}, resumed after {cases % (size[1] + 1)}: {error}"
            ) from error
        cases += 1
    print(f"\n{cases} cases in {SECONDS:.0f} s; all of up to these (shards, records): {whole[1:]}, some of {size}")
    assert cases > 100 * SECONDS / 4
