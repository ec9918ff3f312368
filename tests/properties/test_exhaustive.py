"""Small worlds: all there are of up to 3 shards and 3 records; of larger ones a seeded sample."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from random import Random
from typing import NamedTuple

from streamiter.source.base import Page, ShardIterator
from tests.drawn import LONG_AGO
from tests.oracle import assert_same, expected
from tests.worlds import ALWAYS, SECOND, Drive, Pages, Tape, Truth, World, WorldShard

TIMES = (LONG_AGO, LONG_AGO + SECOND, LONG_AGO + 2 * SECOND)
# All of it: every lineage of so many closed shards, every placing of so many records in them, every order of the times of these
# records, every way to cut the pages, every number of records after which it is resumed.
SCOPE = [*product((1, 2), range(4)), *product((3,), range(3))]
CASES = 4_451  # so many these are: fewer would mean that the generators lost some
# Every world of so many shards and records, too, with one way each to cut its pages and to resume; all ways are 32,500 cases.
WIDEST = (3, 3)
WORLDS = 3_250
SAMPLE = 500  # seeded, of worlds of up to so many shards and records:
MOST_SHARDS, MOST_RECORDS = 4, 5


class CutPages(Pages):
    """Pages cut at given records, one of them after a run of empty pages."""

    def __init__(self, world: World, cuts: set[tuple[str, int]]) -> None:
        super().__init__(world, Tape(), 0)
        self.cuts = cuts

    def fetch(self, shard_id: str, at: int, service_us: int) -> tuple[Page, int]:
        records = self.world.shards[shard_id].records
        if (shard_id, at) in self.cuts and self._empties[shard_id] < 2:
            self._empties[shard_id] += 1
            return Page([], ShardIterator(shard_id, at), service_us), at
        end = next((end for end in range(at + 1, len(records)) if (shard_id, end) in self.cuts), len(records))
        self._empties[shard_id] = 0
        page, _ = super().fetch(shard_id, at, service_us)
        following = page.next if end == len(records) else ShardIterator(shard_id, end)
        return Page(page.records[: end - at], following, service_us, None, 100 * (end - at)), end


def lineages(count: int) -> Iterator[list[tuple[int, ...]]]:
    """All ways in which so many shards descend from those before them, each of none, one or two."""
    ways = [
        [above for size in range(min(index, 2) + 1) for above in combinations(range(index), size)]
        for index in range(count)
    ]
    return (list(way) for way in product(*ways))


def time_orders(records: int) -> list[tuple[int, ...]]:
    """All ways in which the times of so many records can follow each other or be equal: no other times could show more."""
    return [times for times in product(TIMES, repeat=records) if sorted(set(times)) == list(TIMES[: len(set(times))])]


def placings(shards: int, records: int) -> Iterator[list[list[int]]]:
    """All ways in which so many records lie in the shards, and their times follow each other."""
    for ends in combinations(range(records + shards - 1), shards - 1):
        marks = (-1, *ends, records + shards - 1)
        sizes = [after - before - 1 for before, after in zip(marks, marks[1:], strict=False)]
        for times in time_orders(records):
            rest = list(times)
            yield [[rest.pop(0) for _ in range(size)] for size in sizes]


def _world(names: Sequence[str], parents: Sequence[tuple[str, ...]], placing: Sequence[list[int]]) -> World:
    return World(
        WorldShard(name, above, [Truth(number, us) for number, us in enumerate(times, 1)], closed_us=ALWAYS)
        for name, above, times in zip(names, parents, placing, strict=True)
    )


def small_worlds(shards: int, records: int) -> Iterator[tuple[World, list[tuple[str, int]]]]:
    """All worlds of this size, and where their pages may be cut."""
    seen = set()
    for above in lineages(shards):
        for names in permutations([f"S{index}" for index in range(shards)]):
            for placing in placings(shards, records):
                parents = [tuple(names[parent] for parent in above[index]) for index in range(shards)]
                world = _world(names, parents, placing)
                same = frozenset((s.id, frozenset(s.parents), tuple(s.records)) for s in world.shards.values())
                if same in seen:
                    continue
                seen.add(same)
                yield world, [(s.id, at) for s in world.shards.values() for at in range(1, len(s.records))]


class Case(NamedTuple):
    world: World
    cuts: set[tuple[str, int]]  # where its pages end before the shard does
    resumed: int  # after so many records

    def read(self) -> None:
        """Reads the world up to a record, and on from the token."""
        world, cuts, cut = self
        wanted = expected(world.shards)
        first = Drive(world, checks=False)
        first.pages = CutPages(world, cuts)
        rest = None
        try:
            assert_same(first.read(cut), wanted[:cut])
            rest = Drive(world, first.token(), checks=False, now_us=first.now_us)
            rest.pages = CutPages(world, cuts)
            assert_same(rest.read(len(wanted) - cut), wanted[cut:], clock=cut)
        except AssertionError as error:
            raise AssertionError(f"{world}\ncut at {sorted(cuts)}, resumed after {cut}: {error}") from error


def all_of(shards: int, records: int) -> Iterator[Case]:
    """All cases of this size."""
    for world, places in small_worlds(shards, records):
        for count in range(len(places) + 1):
            for cuts in combinations(places, count):
                for resumed in range(records + 1):
                    yield Case(world, set(cuts), resumed)


def one_of_each(shards: int, records: int, dice: Random) -> Iterator[Case]:
    """Of each world of this size one case, as the dice have it."""
    for world, places in small_worlds(shards, records):
        yield Case(world, {place for place in places if dice.random() < 0.5}, dice.randint(0, records))


def drawn(dice: Random) -> Case:
    """A case of up to MOST_SHARDS and MOST_RECORDS, as the dice have it."""
    shards, records = dice.randint(1, MOST_SHARDS), dice.randint(0, MOST_RECORDS)
    names = [f"S{index}" for index in range(shards)]
    dice.shuffle(names)
    parents = [dice.sample(names[:index], dice.randint(0, min(index, 2))) for index in range(shards)]
    placed: list[list[int]] = [[] for _ in names]
    for _ in range(records):
        dice.choice(placed).append(dice.choice(TIMES))
    world = _world(names, [tuple(above) for above in parents], placed)
    places = [(s.id, at) for s in world.shards.values() for at in range(1, len(s.records))]
    cuts = {place for place in places if dice.random() < 0.5}
    return Case(world, cuts, dice.randint(0, records))


def test_every_case_of_up_to_2_shards_and_3_records_or_3_shards_and_2_records():
    cases = 0
    for size in SCOPE:
        for case in all_of(*size):
            case.read()
            cases += 1
    assert cases == CASES


def test_every_world_of_3_shards_and_3_records():
    worlds = 0
    for case in one_of_each(*WIDEST, Random(20260115)):
        case.read()
        worlds += 1
    assert worlds == WORLDS


def test_a_sample_of_the_cases_of_up_to_4_shards_and_5_records():
    dice = Random(20260115)
    sizes = set()
    for _ in range(SAMPLE):
        case = drawn(dice)
        sizes.add((len(case.world.shards), case.world.size))
        case.read()
    assert (MOST_SHARDS, MOST_RECORDS) in sizes


if os.environ.get("STREAMITER_HYPOTHESIS") == "deep":

    def test_as_many_of_the_larger_cases_as_the_time_allows():
        """A search, not a proof: smallest first, then what is left of the time; it says how far it came."""
        seconds = float(os.environ.get("STREAMITER_EXHAUSTIVE_SECONDS", "600"))
        deadline = time.monotonic() + seconds
        sizes = sorted(product(range(1, MOST_SHARDS + 1), range(MOST_RECORDS + 1)), key=lambda size: (sum(size), size))
        whole: list[tuple[int, int]] = []
        cases = 0
        for size in [size for size in sizes if size not in SCOPE]:
            for case in all_of(*size):
                if time.monotonic() > deadline:
                    print(
                        f"\n{cases} cases in {seconds:.0f} s; all of these (shards, records): {whole}, some of {size}"
                    )
                    return
                case.read()
                cases += 1
            whole.append(size)
