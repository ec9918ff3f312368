"""What the tests of Stream share: reading by a hand-turned clock, and the oracle over a simulator's own history."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from streamiter import ChangeRecord, Record, RecordsExpired, Stream
from streamiter.testing import ManualClock, Simulator, Table, WrittenRecord
from tests.oracle import expected

Identity = tuple[str, str]  # shard id and sequence number: what makes a record that one


@dataclass
class Shard:
    """A shard of a simulator as the oracle takes it."""

    parents: tuple[str, ...]
    records: list[WrittenRecord] = field(default_factory=list)


def in_order(
    table: Table,
    history: Sequence[WrittenRecord] | None = None,
    *,
    since: float | None = None,
    absent: Iterable[str] = (),
) -> list[WrittenRecord]:
    """What was written, as laws 3 and 4 sort it. `since`: from this order time on. `absent`: shards that count as trimmed."""
    written = table.history if history is None else history
    shards = _shards(table, written)
    start_us = None if since is None else int(since) * 1_000_000
    gone = [table.shard_id(name) for name in absent]
    return [shards[place.shard].records[place.index] for place in expected(shards, start_us=start_us, read=gone)]


def _shards(table: Table, written: Iterable[WrittenRecord]) -> dict[str, Shard]:
    shards: dict[str, Shard] = {}
    for record in written:
        shard_id: str | None = record.shard_id
        while shard_id is not None and shard_id not in shards:
            try:
                parent = table.shard(shard_id).parent_id
            except LookupError:
                break  # A parent that was never there.
            shards[shard_id] = Shard(() if parent is None else (parent,))
            shard_id = parent
        shards[record.shard_id].records.append(record)
    return shards


def identities(records: Iterable[Record | WrittenRecord]) -> list[Identity]:
    """Which records these are, wherever they came from."""
    return [(record.shard_id, record.sequence_number) for record in records]


def drain(stream: Stream, clock: ManualClock, *, quiet: float = 45, step: float | None = None) -> list[ChangeRecord]:
    """Reads on, turning the clock wherever nothing is due, until nothing came for so many of its seconds.

    Without `step` the clock is turned by a second at a time at first, then, as nothing comes, by five.
    """
    records: list[ChangeRecord] = []
    since = clock.monotonic()
    while (silence := clock.monotonic() - since) < quiet:
        record = next(stream)
        if record is None:
            clock.advance(step or (1 if silence < 4 else max(0.01, min(5, quiet - silence))))
        else:
            records.append(record)
            since = clock.monotonic()
    return records


def drain_over_gaps(stream: Stream, clock: ManualClock) -> tuple[list[ChangeRecord], list[RecordsExpired]]:
    """As `drain`, but accepting each gap: the records, and the gaps."""
    records: list[ChangeRecord] = []
    gaps: list[RecordsExpired] = []
    while True:
        came, error = until_raises(RecordsExpired, stream, clock, quiet=45)
        records += came
        if error is None:
            return records, gaps
        gaps.append(error)
        stream.skip()


def take(
    stream: Stream, clock: ManualClock, count: int, *, within: float = 300, step: float = 0.25
) -> list[ChangeRecord]:
    """The next so many records; the clock is turned until they come, but not for ever."""
    records: list[ChangeRecord] = []
    until = clock.monotonic() + within
    while len(records) < count:
        record = next(stream)
        if record is not None:
            records.append(record)
            continue
        assert clock.monotonic() < until, f"{len(records)} of {count} records came; waits for {stream.stats.held_by}"
        clock.advance(step)
    return records


def take_all(stream: Stream, clock: ManualClock, count: int) -> list[ChangeRecord]:
    """So many records, however long bad weather holds them up by the clock; then whatever comes beyond them."""
    return [*take(stream, clock, count, within=7200, step=1), *drain(stream, clock, quiet=60)]


def idle(stream: Stream, clock: ManualClock, seconds: float) -> None:
    """Nothing comes for so long."""
    assert drain(stream, clock, quiet=seconds) == []


def until_raises(
    kind: type[BaseException],
    stream: Stream,
    clock: ManualClock,
    *,
    within: float = 600,
    step: float = 0.5,
    quiet: float | None = None,
) -> tuple[list[ChangeRecord], Any]:
    """Reads on until an error comes: the records before it, and the error (None, if it may stay `quiet` so long)."""
    records: list[ChangeRecord] = []
    until = clock.monotonic() + (within if quiet is None else quiet)
    while clock.monotonic() < until:
        try:
            record = next(stream)
        except kind as error:
            return records, error
        if record is None:
            clock.advance(step)
        else:
            records.append(record)
            if quiet is not None:
                until = clock.monotonic() + quiet
    assert quiet is not None, f"no {kind.__name__} came; {len(records)} records did"
    return records, None


def soon(holds: Callable[[], bool], seconds: float = 60) -> None:
    """It comes to hold before long, by the real clock: what depends on threads."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it does not come to hold"
        time.sleep(0.002)


def slowness() -> float:
    """How many times as long as on an idle machine things take just now: 1 on an idle one."""
    began, worked = time.monotonic(), time.thread_time()
    while time.thread_time() - worked < 0.1:
        pass
    return max(1.0, (time.monotonic() - began) / 0.1)


def assert_came(records: Sequence[ChangeRecord], wanted: Sequence[WrittenRecord], *, clock: int = 0) -> None:
    """These records are those, in that order, none late, numbered on, with order keys that sort as they came."""
    assert identities(records) == identities(wanted)
    assert [record.clock for record in records] == list(range(clock + 1, clock + 1 + len(records)))
    assert not [record for record in records if record.late]
    keys = [record.order_key for record in records]
    assert keys == sorted(set(keys))
    assert [record.new for record in records] == [None if w.new is None else dict(w.new) for w in wanted]


def assert_all_came(records: Sequence[ChangeRecord], table: Table, **options: Any) -> None:
    """All that was ever written came out once, as law 4 sorts it."""
    assert_came(records, in_order(table, **options))


def assert_none_lost(records: Sequence[ChangeRecord], written: Sequence[WrittenRecord]) -> None:
    """Each came once, each shard in its own order; for histories with records that come late."""
    assert sorted(identities(records)) == sorted(identities(written)), "lost, or twice"
    for shard_id in {record.shard_id for record in written}:
        mine = [record.sequence_number for record in records if record.shard_id == shard_id]
        assert mine == [record.sequence_number for record in written if record.shard_id == shard_id]


def write(sim: Simulator, *shards: str, rounds: int = 3, every: float = 1) -> None:
    """A few records for each of these shards in turn, the clock moving on between the rounds."""
    for _ in range(rounds):
        for shard in shards:
            sim.put(shard)
        sim.clock.advance(every)


def calls_during(sim: Simulator, action: Callable[[], Any]) -> int:
    """How many calls an action costs."""
    before = len(sim.calls)
    action()
    return len(sim.calls) - before


def reachable(root: object, *, but: object) -> Iterator[Any]:
    """Everything that an object holds on to, but for one thing: not classes, modules and functions."""
    seen = {id(but)}
    pending = [root]
    while pending:
        found = pending.pop()
        if id(found) in seen or isinstance(found, type | ModuleType | FunctionType):
            continue
        seen.add(id(found))
        yield found
        pending += gc.get_referents(found)


def entries(stream: Stream) -> int:
    """How many entries all containers of a stream have, of any kind, wherever they hang; the source's aside."""
    things = reachable(stream.__dict__, but=stream._source)
    return sum(len(found) for found in things if isinstance(found, dict | list | set | tuple))
