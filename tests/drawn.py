"""Strategies: worlds that hypothesis draws, and listings that lag in the ways that real ones do."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.worlds import ALWAYS, HOUR, NOW, SECOND, Lag, Tape, Truth, World, WorldShard

tapes = st.binary(min_size=40, max_size=300).map(Tape)
live_tapes = st.binary(min_size=100, max_size=100).map(Tape)

LONG_AGO = NOW - 7 * HOUR


@st.composite
def families(draw, *, most: int = 6, merges: bool = True) -> list[tuple[str, tuple[str, ...]]]:
    """Shards with their parents: roots, rolls, splits, merges; ids that tell nothing of their order."""
    count = draw(st.integers(1, most))
    names = draw(st.permutations([f"S{index}" for index in range(count)]))
    rows: list[tuple[str, tuple[str, ...]]] = []
    for index, name in enumerate(names):
        most_parents = min(index, 2 if merges else 1)
        parents = draw(st.lists(st.sampled_from(names[:index]), unique=True, max_size=most_parents)) if index else []
        rows.append((name, tuple(parents)))
    return rows


# Ties, steps backwards, sub-seconds, none at all; and some that are still ahead of the service's clock.
long_ago = st.sampled_from([None, *(LONG_AGO + tick * SECOND // 2 for tick in range(7))])
times = long_ago | st.integers(7, 20).map(lambda seconds: NOW + seconds * SECOND)


@st.composite
def truths(draw, *, most: int, created=times, numbers: str = "any") -> list[Truth]:
    """A shard's records: their numbers rise, or run backwards and collide, as no service should let them."""
    count = draw(st.integers(0, most))
    if numbers == "rising" or draw(st.booleans()):
        drawn = list(range(1, count + 1))
    else:
        drawn = draw(st.lists(st.integers(1, 5), min_size=count, max_size=count, unique=numbers == "distinct"))
    return [Truth(number, draw(created)) for number in drawn]


@st.composite
def worlds(
    draw, *, most_shards: int = 6, most_records: int = 5, created=times, merges: bool = True, numbers: str = "any",
    absent: bool = True,
) -> World:  # fmt: skip
    """Worlds in which all has been written already, so that they come out exactly, whatever the pages and listings do."""
    rows = draw(families(most=most_shards, merges=merges))
    with_children = {parent for _, parents in rows for parent in parents}
    shards = []
    for shard_id, parents in rows:
        if absent and not parents and draw(st.integers(0, 7)) == 7:
            parents = ("S-trimmed",)  # Its parent was trimmed long ago: no listing shows it.
        is_open = shard_id not in with_children and draw(st.booleans())
        records = draw(truths(most=most_records, created=created, numbers=numbers))
        shards.append(WorldShard(shard_id, parents, records, closed_us=None if is_open else ALWAYS))
    return World(shards, knows_tip=draw(st.integers(0, 2)) == 2, digits=draw(st.sampled_from([0, 30])))


def live_world(tape: Tape, *, lateness_us: int = SECOND, honest: bool = True) -> World:
    """A world in which shards split, roll and merge, and records are written, from 20 s before NOW to some 30 s after it.

    Honest: a record comes to be readable within `lateness_us`, its creation time is that of its writing, floored to the
    second, and siblings turn up in the same listing. Then law 7 makes the merge exact at the tip, too.
    """
    spare = [f"S{(index * 7 + tape.draw(3)) % 10}{index}" for index in range(12)]
    shards = [WorldShard(spare.pop()) for _ in range(1 + tape.draw(3))]
    visible_us: dict[str, int] = {}
    at_us = NOW - 20 * SECOND
    number = 0
    for _ in range(24):
        at_us += tape.draw(10) * SECOND // 4
        living = [shard for shard in shards if shard.closed_us is None]
        shard = living[tape.draw(len(living))]
        step = tape.draw(8)
        if step < 5:
            number += 1
            created_us: int | None = at_us - at_us % SECOND
            delay_us = tape.draw(5) * lateness_us // 4
            if not honest:
                created_us = [created_us, created_us + 3 * SECOND, created_us - 9 * SECOND, None][tape.draw(4)]
                delay_us *= 1 + tape.draw(9)
            visible_us[shard.id] = max(visible_us.get(shard.id, ALWAYS), at_us + delay_us)
            shard.records.append(Truth(number, created_us, visible_us[shard.id]))
            continue
        ending = [shard]
        if step == 7 and len(living) > 1:
            ending.append(next(other for other in living if other is not shard))
        if len(spare) < 2:
            continue
        listed_us = max(at_us + tape.draw(5) * SECOND, *(above.born_us for above in ending), ALWAYS)
        for above in ending:
            above.closed_us = at_us
        for _ in range(2 if step == 6 else 1):
            if not honest:
                listed_us += tape.draw(5) * SECOND
            shards.append(WorldShard(spare.pop(), tuple(s.id for s in ending), born_us=listed_us))
    return World(shards, knows_tip=tape.once_in(4), digits=21 * tape.draw(2))


class DrawnLag(Lag):
    """Listings that lack rows, in ways from which a reader can still tell what it lacks.

    A row may be missing from two listings in a row, an empty list be shown, and whole subtrees turn up as late as in the
    tenth listing. But siblings turn up together, and a root is missing only where a child of it is shown: else nothing
    tells that there is more to come, and its records are late, as law 7 lets them be.
    """

    def __init__(self, world: World, tape: Tape) -> None:
        self.world = world
        self.tape = tape
        self.lossy = 0
        self.slow: dict[str, int] = {}  # subtrees that turn up with this listing
        seeds = [s for s in world.shards if self._parents(s) and tape.once_in(6)]
        for seed in seeds:
            until = 1 + tape.draw(9)
            for shard_id in self._downwards({seed}):
                self.slow[shard_id] = max(until, self.slow.get(shard_id, 0))
        # A subtree may be drawn into a slower one: what is below or beside turns up no sooner.
        for shard_id, until in list(self.slow.items()):
            for below in self._downwards({shard_id}):
                self.slow[below] = max(until, self.slow.get(below, 0))

    def hidden(self, world: World, call: int, service_us: int) -> set[str]:
        slow = {shard_id for shard_id, until in self.slow.items() if call < until}
        kind = self.tape.draw(4) if self.lossy < 2 else 0
        self.lossy = self.lossy + 1 if kind in (2, 3) else 0
        if kind == 3 and self.tape.once_in(2):
            return set(world.shards)
        if kind in (2, 3):
            lost = {shard_id for shard_id in world.shards if self.tape.once_in(3)}
            return slow | self._excused(self._beside(lost), slow, service_us)
        return slow

    def _parents(self, shard_id: str) -> list[str]:
        return [parent for parent in self.world.shards[shard_id].parents if parent in self.world.shards]

    def _siblings(self, shard_id: str) -> set[str]:
        return {child for parent in self._parents(shard_id) for child in self.world.children(parent)}

    def _beside(self, shard_ids: set[str]) -> set[str]:
        found = set(shard_ids)
        pending = list(found)
        while pending:
            for other in self._siblings(pending.pop()) - found:
                found.add(other)
                pending.append(other)
        return found

    def _downwards(self, shard_ids: set[str]) -> set[str]:
        found = self._beside(shard_ids)
        while True:
            wider = self._beside(found | {child for shard_id in found for child in self.world.children(shard_id)})
            if wider == found:
                return found
            found = wider

    def _excused(self, lost: set[str], slow: set[str], service_us: int) -> set[str]:
        """Without the roots of which nothing shown tells."""
        shown = {s.id for s in self.world.shards.values() if s.born_us <= service_us} - lost - slow
        return {s for s in lost if self._parents(s) or any(child in shown for child in self.world.children(s))}
