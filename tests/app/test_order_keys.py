"""A record's order key is the same whenever it is read, and whoever reads it: whatever stops, dies or takes over in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streamiter import Retry, Stream
from streamiter.app import App
from streamiter.app.pages import ShardPages
from streamiter.lease import Lease, operator
from streamiter.lease.tokens import from_token, to_token
from streamiter.record import Record
from streamiter.source import Source
from streamiter.store import Table
from streamiter.store.memory import MemoryStore
from streamiter.testing import FleetOf, GivenRecords, ManualClock
from tests.app.effects import Ledger, Stage
from tests.app.rows import make_app

SECOND = 1_000_000
NOW = 1_750_000_000
LINEAGE = {"S5": (), "S1": ("S5",), "S9": ("S5",), "S3": ("S1", "S9"), "S4": ("S3",)}

Times = dict[str, list[int | None]]
times = st.fixed_dictionaries(
    {name: st.lists(st.none() | st.integers(0, 30), max_size=5) for name in LINEAGE}  # seconds ago, in any order
)


def source_of(ages: Times) -> GivenRecords:
    source = GivenRecords(shards=LINEAGE)
    source.use_clock(lambda: NOW * SECOND)
    number = 0
    for shard, told in ages.items():
        source.shards[shard].parents = LINEAGE[shard]
        for age in told:
            number += 1
            source.put(Record(shard, f"{number:021d}", None if age is None else (NOW - age) * SECOND))
        source.shards[shard].is_closed = True
    return source


def keys_of_a_stream(ages: Times) -> dict[str, str]:
    source: Source[Any] = source_of(ages)
    with Stream(source, "trim_horizon", clock=ManualClock(NOW)) as stream:
        return {
            record.sequence_number: record.order_key
            for batch in stream.batches(1000, until="caught_up")
            for record in batch
        }


def app_with(order: str, found: list[Record]) -> App:
    app = make_app(failover=2, checkpoint_every=(0.5, 1))

    @app.processor(GivenRecords(), order=order)
    async def work(record: Record) -> None:
        found.append(record)

    return app


def assert_all_alike(found: list[Record], ages: Times) -> None:
    wanted = keys_of_a_stream(ages)
    assert {record.sequence_number for record in found} == set(wanted)
    for record in found:
        assert record.order_key == wanted[record.sequence_number], f"{record.shard_id} {record.sequence_number}"


@settings(deadline=None, max_examples=30)
@given(ages=times, data=st.data(), order=st.sampled_from(["shard", "key", "total"]))
def test_order_keys_are_those_of_a_stream_whoever_reads_and_however_often(ages, data, order):
    found: list[Record] = []
    with FleetOf(app_with(order, found), source_of(ages), workers=2) as fleet:
        for _ in range(data.draw(st.integers(0, 5))):
            fleet.run(data.draw(st.floats(0.01, 6)))
            alive = fleet.workers
            if not alive or data.draw(st.booleans()):
                fleet.join()
            else:
                end = fleet.kill if data.draw(st.booleans()) else fleet.leave
                end(data.draw(st.sampled_from(alive)))
        fleet.join()
        fleet.catch_up()
    assert_all_alike(found, ages)


def test_a_child_knows_how_far_its_parents_came_when_their_leases_are_gone():
    """A worker of another day: the service lists the parents no more, and their leases were removed."""
    ages: Times = {"S5": [5, 9], "S1": [8, 7], "S9": [], "S3": [6, 1, 4], "S4": []}
    found: list[Record] = []
    source = source_of(ages)
    with FleetOf(app_with("shard", found), source, workers=1) as fleet:
        while not any(told.lease == "S3" for told in fleet.deliveries):
            fleet.run(0.01)
        fleet.kill(0)
        for gone in ("S5", "S1", "S9"):
            del source.shards[gone]
            row = fleet.store.read(Table("leases", "tried", "work"), gone)
            assert row is not None and row.fields["completed"]
            fleet.store.delete(Table("leases", "tried", "work"), gone, row.version)
        fleet.join()
        fleet.run(20)
    assert_all_alike(found, ages)


@settings(deadline=None, max_examples=25)
@given(ages=times, deadly=st.sets(st.integers(0, 8)), size=st.integers(1, 4), bare=st.sets(st.integers(0, 25)))
def test_a_checkpoint_that_the_processor_moves_itself_takes_the_order_time_along(
    tmp_path_factory, ages, deadly, size, bare
):
    """Workers are killed right after a commit; `where` leaves records out, also behind the last one of a batch."""
    path: Path = tmp_path_factory.mktemp("keys") / "shop.db"
    ledger, found = Ledger(path), []
    app = App("shop", store=f"sqlite:///{path}", failover=2)
    commits = 0

    @app.processor(
        "dynamodb://orders",
        name="book",
        size=size,
        within=0.0,
        on_error=Retry([1] * 9),
        where=lambda record: record.number not in bare,
    )
    async def book(batch: Any) -> None:
        nonlocal commits
        found.extend(batch)
        with ledger.connected() as db:
            db.execute("BEGIN IMMEDIATE")
            batch.commit(db)
            db.commit()
        commits += 1
        if commits in deadly:
            await stage.die()

    stage = Stage(app, path, records=0)
    stage.world.accounts["book"].tap.source.shards = source_of(ages).shards
    for _ in range(10):
        ledger.break_off()
        process = stage.start()
        stage.world.run(60)
        if not process.is_dead:
            break
    process.leave()
    stage.world.run(60, lambda: process.is_dead)
    stage.close()
    wanted = keys_of_a_stream(ages)
    assert {record.number for record in found} == {int(number) for number in wanted} - bare
    assert {record.sequence_number: record.order_key for record in found}.items() <= wanted.items()


class Held:
    """One lease of a shard whose times run backwards, in a store, and what is read from there."""

    def __init__(self, **progress: Any) -> None:
        self.table, self.store = Table("leases", "shop", "work"), MemoryStore()
        self.source = source_of({"S5": [9, 3, 7, 2, 8]})
        self.store.write(self.table, Lease("S5", owner="me", checkpoint="3", fence=2, progress=progress).row, None)

    def orders(self, lease: Lease) -> list[int]:
        """Order times, as seconds ago."""
        return [NOW - record.order_us // SECOND for record in ShardPages(self.source, lease, 10).turn(0).records]

    def reset(self, checkpoint: str) -> Lease:
        return operator.reset(self.store, self.table, "S5", checkpoint, NOW * SECOND)


def test_a_row_of_an_older_version_is_read_as_well_as_it_can_be():
    held = Held()
    row = held.store.read(held.table, "S5")
    assert row is not None
    assert held.orders(Lease.of(row)) == [2, 2]
    assert held.orders(Lease("S5", checkpoint="1")) == [3, 3, 2, 2]


def test_a_reset_gives_records_that_come_again_the_order_that_they_had():
    held = Held(order=(NOW - 1) * SECOND)
    assert held.orders(held.reset("TRIM_HORIZON")) == [9, 3, 3, 2, 2]


def test_a_gap_that_a_reset_accepts_does_not_turn_the_order_back():
    held = Held(order=(NOW - 3) * SECOND, gap="it was trimmed")
    held.source.shards["S5"].records = held.source.shards["S5"].records[2:]
    assert held.orders(held.reset("TRIM_HORIZON")) == [3, 2, 2]


def test_a_token_takes_the_order_along_into_leases_and_back():
    ages: Times = {"S5": [5, 9], "S1": [8, 7, 2], "S9": [6], "S3": [3]}
    source: Source[Any] = source_of(ages)
    wanted = keys_of_a_stream(ages)
    with Stream(source, "trim_horizon", clock=ManualClock(NOW)) as stream:
        for _ in range(4):
            next(stream)
        _, leases = from_token(stream.token)
    read = [
        record for lease in leases if not lease.completed for record in ShardPages(source, lease, 10).turn(0).records
    ]
    assert read and all(record.order_key == wanted[record.sequence_number] for record in read)
    with Stream(source, to_token(source.name, leases, NOW * SECOND), clock=ManualClock(NOW)) as stream:
        rest = [record for batch in stream.batches(9, until="caught_up") for record in batch]
    assert rest and all(record.order_key == wanted[record.sequence_number] for record in rest)
