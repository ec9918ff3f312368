"""FleetOf: a user's app in a simulated fleet: what is done to workers happens, and what breaks a law is told."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import ExitStack, closing

import pytest

from streamiter import InvalidOption
from streamiter.app import App, GapStands, Halt, Retry, Stuck
from streamiter.errors import PositionTrimmed, ProcessorFailed
from streamiter.position import Horizon
from streamiter.store import open_store
from streamiter.store.memory import MemoryStore
from streamiter.testing import FleetOf, FleetWeather, GivenRecords, LawBroken


def make_app(seconds=0.2, **options):
    app = App("shop", store="memory:")

    @app.processor(GivenRecords(), **options)
    async def work(record):
        await asyncio.sleep(seconds)

    return app


def rows(count):
    return [{"id": f"row-{n}"} for n in range(count)]


def owners(fleet):
    return {lease.owner for lease in fleet.leases().values()}


def test_leases_are_shared_out():
    with FleetOf(make_app(), GivenRecords(rows(20), shards=4), workers=2) as fleet:
        fleet.run(30)
        assert sorted(lease.owner for lease in fleet.leases().values()) == ["worker-0"] * 2 + ["worker-1"] * 2
    assert owners(fleet) == {None}


def test_all_is_delivered_once_where_nobody_dies():
    source = GivenRecords(rows(40), shards=2)
    with FleetOf(make_app(), source, seed=1) as fleet:
        fleet.run(3)
        source.split("shard-0")
        fleet.join()
        fleet.run(10)
        fleet.leave(0)
        for row in rows(20):
            source.put(row)
        fleet.catch_up()
    numbers = [delivery.record.sequence_number for delivery in fleet.deliveries]
    assert len(numbers) == 60 and len(set(numbers)) == 60


def test_a_worker_that_is_killed_does_nothing_any_more():
    unwound = []
    app = App("shop", store="memory:")

    @app.processor(GivenRecords())
    async def work(record):
        try:
            await asyncio.sleep(3)
        finally:
            unwound.append(record.key["id"])

    with FleetOf(app, GivenRecords(rows(1)), workers=1) as fleet:
        fleet.run(1)
        fleet.kill(0)
        fleet.run(30)
        assert fleet.workers == [] and unwound == []
        fleet.join()
        fleet.catch_up()
        assert [delivery.worker for delivery in fleet.deliveries] == ["worker-0", "worker-1"]
        assert unwound == ["row-0"]


def test_a_worker_that_stands_still_loses_its_leases_and_finds_that_out():
    source = GivenRecords(rows(100))
    with FleetOf(make_app(), source, workers=2) as fleet:
        fleet.run(5)
        (owner,) = owners(fleet)
        sleeper = int(str(owner)[-1])
        fleet.pause(sleeper, 20)
        fleet.run(14)
        assert owners(fleet) == {f"worker-{1 - sleeper}"}
        fleet.catch_up()
        assert fleet.workers == [0, 1]
    assert {delivery.fence for delivery in fleet.deliveries} == {1, 2}


def test_a_seed_repeats_all_of_it():
    def run(seed):
        weather = FleetWeather(lost_answer=0.05, late=0.02, slow=0.1, throttled=0.05)
        with FleetOf(make_app(), GivenRecords(rows(50), shards=3), seed=seed, weather=weather) as fleet:
            fleet.at(4, lambda: fleet.kill(1))
            fleet.cut(3, 0)
            fleet.run(40)
            fleet.catch_up()
        return [(told.seconds, told.worker, told.record.sequence_number) for told in fleet.deliveries]

    assert run(5) == run(5)
    assert run(5) != run(6)


def test_a_store_that_lies_breaks_the_law_of_one_hand(monkeypatch):
    """A store without compare-and-set: two workers come to hold one lease."""

    class Careless(MemoryStore):
        def write(self, table, row, expected):
            standing = self.read(table, row.key)
            return super().write(table, row, None if standing is None else standing.version)

    monkeypatch.setattr("streamiter.app.virtual.world.MemoryStore", Careless)
    fleet = FleetOf(make_app(), GivenRecords(rows(200), shards=2), workers=3, seed=3)
    try:
        with pytest.raises(LawBroken, match=r"law 9, at \d+\.\d{3} s: work: .* \(seed 3\)") as caught:
            fleet.run(60)
        assert caught.value.law == 9
    finally:
        fleet.close()


def test_what_ends_a_worker_comes_out_unless_it_is_tolerated():
    app = App("shop", store="memory:")

    @app.processor(GivenRecords(), on_error=Halt())
    def work(record):
        raise ValueError("no")

    with pytest.raises(ProcessorFailed), FleetOf(app, rows(1)) as fleet:
        fleet.run(5)
    with FleetOf(app, rows(1), tolerates=ProcessorFailed) as fleet:
        fleet.run(60)
        assert fleet.workers == []
        assert len(fleet.failures) == 3


def test_what_on_event_is_told_is_kept():
    told = []
    app = App("shop", store="memory:", grace=5, on_event=told.append)

    @app.processor(GivenRecords())
    async def work(record):
        await asyncio.sleep(100)

    with FleetOf(app, rows(1), workers=1) as fleet:
        fleet.run(50)
        assert [type(event) for event in fleet.events if isinstance(event, Stuck)] == [Stuck]
        assert told == list(fleet.events)
        fleet.catch_up()


def test_a_fleet_that_cannot_catch_up_says_so():
    with FleetOf(make_app(seconds=10), rows(10), workers=1) as fleet:
        with pytest.raises(AssertionError, match="has not caught up within 30 s"):
            fleet.catch_up(within=30)
        fleet.catch_up()


def test_workers_that_are_not_there_are_refused():
    with FleetOf(make_app(), rows(1), workers=1) as fleet:
        fleet.kill(0)
        for ask in (fleet.kill, fleet.leave, lambda worker: fleet.pause(worker, 1)):
            with pytest.raises(InvalidOption, match="there is no worker 0; there are"):
                ask(0)
    with pytest.raises(InvalidOption, match="0 workers or more"):
        FleetOf(make_app(), workers=-1)


def test_a_timer_runs_on_one_of_the_workers():
    app, runs = App("shop", store="memory:"), []

    @app.timer(10, on_leader=True)
    async def report(lease):
        runs.append((lease.owner, lease.fence))

    with FleetOf(app, workers=3) as fleet:
        fleet.run(105)
        assert len(runs) == 10 and len(set(runs)) == 1
        (owner, _), *_ = runs
        fleet.kill(int(owner[-1]))
        fleet.run(100)
    assert 17 <= len(runs) <= 20
    assert [fence for _, fence in runs] == sorted(fence for _, fence in runs)
    assert len(set(runs)) == 2


@pytest.mark.parametrize("order", ["shard", "key"])
def test_what_is_trimmed_unread_is_a_gap_until_it_is_accepted(order):
    source = GivenRecords(retention=100)
    with FleetOf(make_app(seconds=0, order=order), source, workers=1) as fleet:
        for row in rows(4):
            source.put(row)
        fleet.catch_up()
        fleet.kill(0)
        for row in rows(8)[4:]:
            source.put(row)
        fleet.run(120)
        assert source.trim() == 8
        source.put({"id": "row-8"})
        fleet.join()
        fleet.run(60)
        assert len(fleet.deliveries) == 4
        assert [event.lease for event in fleet.events if isinstance(event, GapStands)] == ["shard-0"]
        fleet.accept_gap("shard-0")
        fleet.catch_up()
    assert [delivery.record.key["id"] for delivery in fleet.deliveries] == [f"row-{n}" for n in (0, 1, 2, 3, 8)]


def fleet_with_a_gap(stack, source, *, order, failover=10.0):
    """A worker that read all of two shards, and died; then, when too much time has passed, another one."""
    app = App("shop", store="memory:", failover=failover)

    @app.processor(source, order=order)
    def work(record): ...

    fleet = stack.enter_context(FleetOf(app, source, workers=1))
    source.put({"id": "old"}, "shard-0")
    fleet.run(1190)
    source.put({"id": "kept"}, "shard-1")
    fleet.run(10)
    fleet.kill(0)
    fleet.run(3500)
    source.trim()
    assert source.shards["shard-0"].trimmed == 1 and not source.shards["shard-1"].trimmed
    source.put({"id": "next"}, "shard-0")
    fleet.join()
    fleet.run(60)
    return fleet


def told(fleet):
    return [delivery.record.key["id"] for delivery in fleet.deliveries]


def test_a_gap_of_the_total_order_that_is_accepted_repeats_nothing_of_the_other_shards():
    with ExitStack() as stack:
        fleet = fleet_with_a_gap(stack, GivenRecords(shards=2, retention=3600), order="total")
        assert told(fleet) == ["old", "kept"]
        fleet.accept_gap("total")
        fleet.catch_up()
        assert told(fleet) == ["old", "kept", "next"]
        assert "gap" not in fleet.leases()["total"].progress


def test_what_an_operator_accepted_of_the_total_order_is_not_accepted_again_later():
    with ExitStack() as stack:
        source = GivenRecords(shards=2, retention=3600)
        fleet = fleet_with_a_gap(stack, source, order="total")
        fleet.accept_gap("total")
        fleet.catch_up()
        (worker,) = fleet.workers
        fleet.kill(worker)
        source.put({"id": "lost"}, "shard-0")
        fleet.run(7200)
        source.trim()
        fleet.join()
        fleet.run(60)
        assert "gap" in fleet.leases()["total"].progress


def test_a_reset_does_not_lose_sight_of_what_is_trimmed_before_anybody_reads_it():
    source = GivenRecords(retention=3600)
    app = App("shop", store="memory:")

    @app.processor(source)
    def work(record): ...

    with FleetOf(app, source, workers=1) as fleet:
        source.put({"id": "read"})
        fleet.run(5)
        fleet.kill(0)
        source.put({"id": "lost"})
        fleet.reset(*fleet.leases())
        fleet.run(7200)
        source.trim()
        fleet.join()
        fleet.run(60)
        assert ["gap" in lease.progress for lease in fleet.leases().values()] == [True]
        fleet.accept_gap(*fleet.leases())
        source.put({"id": "next"})
        fleet.catch_up()
        assert told(fleet) == ["read", "next"]


def test_what_is_trimmed_before_anything_was_read_is_no_gap():
    source = GivenRecords(rows(3), retention=100)
    with FleetOf(make_app(seconds=0), source, workers=0) as fleet:
        fleet.run(10)
        assert source.trim() == 3
        source.put({"id": "row-3"})
        fleet.join()
        fleet.catch_up()
    assert [delivery.record.key["id"] for delivery in fleet.deliveries] == ["row-3"]


class Silent(GivenRecords):
    """A source that does not say what it lost."""

    retention_us = 86_400_000_000

    def open_iterator(self, shard_id, position):
        try:
            return super().open_iterator(shard_id, position)
        except PositionTrimmed:
            return super().open_iterator(shard_id, Horizon())


def test_what_is_lost_in_silence_breaks_a_law():
    source = Silent(retention=100)
    lost = pytest.raises(LawBroken, match=r"law 12.*delivered record 3 of shard-0 before record 2 was done")
    with lost, FleetOf(make_app(seconds=0), source, workers=1) as fleet:
        source.put({"id": "row-0"})
        fleet.run(5)  # its checkpoint is written
        fleet.kill(0)
        source.put({"id": "row-1"})
        fleet.run(120)
        assert source.trim() == 2
        source.put({"id": "row-2"})
        fleet.join()
        fleet.catch_up()


def test_a_processor_that_commits_runs_in_a_fleet_over_the_test_s_own_store(tmp_path):
    """A function that fails once its transaction is committed is not a record that is lost, nor one that comes twice."""
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE entries (id TEXT PRIMARY KEY)")
    app, fails = App("shop", store="memory:"), [True, False, False] * 20

    @app.processor(GivenRecords(), size=3, on_error=Retry(after=[1] * 9))
    def book(batch):
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO entries VALUES (?)", [(record.key["id"],) for record in batch])
            if fails.pop():
                raise ValueError("before the commit")
            batch.commit(db)
            db.execute("COMMIT")
            if fails.pop():
                raise ValueError("behind the commit")

    with (
        open_store(f"sqlite:///{file}") as store,
        FleetOf(app, GivenRecords(rows(30)), workers=2, store=store) as fleet,
    ):
        fleet.run(3)
        fleet.kill(0)
        fleet.catch_up()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM entries").fetchone() == (30,)
    assert fleet.failures


def test_a_stream_that_was_quiet_for_longer_than_it_holds_records_has_no_gap_in_the_total_order():
    """The lease's token follows the shards' tips while nothing comes: it is not that of the last record for ever."""
    source = GivenRecords(shards=2, retention=3600)
    app = App("shop", store="memory:")

    @app.processor(source, order="total")
    def work(record): ...

    with FleetOf(app, source, workers=1) as fleet:
        source.put({"id": "first"}, "shard-0")
        fleet.run(4000)
        fleet.kill(0)
        source.trim()
        fleet.join()
        fleet.run(60)
        source.put({"id": "next"}, "shard-0")
        fleet.catch_up()
        assert told(fleet) == ["first", "next"]
