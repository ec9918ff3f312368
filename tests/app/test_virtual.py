"""App.test: processors of each form over given records, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from streamiter import DynamoDBStreams, InvalidOption
from streamiter.app import Completed, Ignore, Quarantine, Retry
from streamiter.errors import ProcessorFailed
from streamiter.testing import GivenRecords
from tests.app.rows import ROWS, SOURCE, Row, ids, make_app
from tests.indoors import IndoorSimulator


def test_what_is_awaited_takes_virtual_time():
    app = make_app()

    @app.processor(SOURCE)
    async def work(record):
        await asyncio.sleep(60)

    result = app.test(ROWS)
    assert ids(result.delivered) == [row["id"] for row in ROWS]
    assert result.seconds == pytest.approx(600, abs=1)
    assert result.deliveries[-1].seconds == pytest.approx(540, abs=1)


def forms(app, got, **options):
    @app.processor(SOURCE, name="plain-record", **options)
    def plain(record):
        got["plain-record"].append(record.new["id"])

    @app.processor(SOURCE, name="value", model=Row, **options)
    def value(value, lease):
        got["value"].append(value.id)

    @app.processor(SOURCE, name="value-by-key", model=Row, order="key", concurrency=4, **options)
    async def value_by_key(value):
        got["value-by-key"].append(value.id)

    @app.processor(SOURCE, name="batch", size=4, **options)
    def batch(batch, lease):
        assert batch.lease is lease
        got["batch"] += [record.new["id"] for record in batch]

    @app.processor(SOURCE, name="class", size=4, **options)
    class Work:
        def initialize(self, lease):
            self.key = lease.key

        async def process(self, batch):
            assert batch.lease.key == self.key
            got["class"] += [record.new["id"] for record in batch]

    if not options:

        @app.processor(SOURCE, name="events")
        async def events(events, lease):
            async for record in events.records():
                got["events"].append(record.new["id"])

        @app.processor(SOURCE, name="takes")
        async def takes(events):
            while found := await events.take(3, within=0.1):
                got["takes"] += [record.new["id"] for record in found]


async def pass_on(told, call_next):
    await call_next(told)


@pytest.mark.parametrize("options", [{}, {"middleware": [pass_on]}], ids=["bare", "through-middleware"])
def test_each_form_is_watched_and_goes_on_as_it_is(options):
    app, got = make_app(), {}
    for name in ("plain-record", "value", "value-by-key", "batch", "class", "events", "takes"):
        got[name] = []
    forms(app, got, **options)
    result = app.test(ROWS)
    wanted = [row["id"] for row in ROWS]
    assert {name: got[name] for name in app.processors} == dict.fromkeys(app.processors, wanted)
    for name in app.processors:
        told = [delivery for delivery in result.deliveries if delivery.processor == name]
        assert ids(delivery.record for delivery in told) == wanted, name
        assert {(delivery.lease, delivery.fence) for delivery in told} == {("shard-0", 1)}
        assert result.checkpoints[name] == {"shard-0": f"{10:021d}"}


def test_what_fails_is_told():
    app = make_app()

    @app.processor(SOURCE, on_error=Retry(after=[5], then=Ignore()))
    def work(record):
        if record.new["n"] == 3:
            raise ValueError("three")

    result = app.test(ROWS)
    assert ids(result.failed) == ["row-3", "row-3"]
    assert [str(failure.error) for failure in result.failures] == ["three", "three"]
    assert len(result.delivered) == len(ROWS) + 1


def test_what_halts_an_app_comes_out():
    app = make_app()

    @app.processor(SOURCE)
    def work(record):
        raise ValueError("no")

    with pytest.raises(ProcessorFailed, match="ValueError"):
        app.test(ROWS)


def test_a_total_order_in_quarantine_has_come_as_far_as_it_can():
    app = make_app()

    @app.processor(SOURCE, order="total", on_error=Quarantine())
    def work(record):
        if record.new["id"] == ROWS[3]["id"]:
            raise ValueError

    result = app.test(ROWS)
    assert ids(result.delivered) == [row["id"] for row in ROWS[:4]]
    assert result.seconds < 60


def test_a_lease_in_quarantine_holds_up_no_other():
    app = make_app()

    @app.processor(SOURCE, on_error=Quarantine())
    def work(record):
        if record.new["n"] == 4:
            raise ValueError("four")

    source = GivenRecords(shards=3)
    for row in ROWS:
        source.put(row, f"shard-{row['n'] % 3}")
    source.split("shard-1")
    result = app.test(source)
    assert set(ids(result.delivered)) == {
        "row-0",
        "row-3",
        "row-6",
        "row-9",
        "row-1",
        "row-4",
        "row-2",
        "row-5",
        "row-8",
    }


def test_where_and_middleware_may_leave_records_out():
    app = make_app()

    async def drop(record, call_next):
        if record.new["n"] > 5:
            await call_next(record)

    @app.processor(SOURCE, where=lambda record: record.new["n"] % 2 == 0, middleware=[drop])
    async def work(record):
        pass

    result = app.test(ROWS)
    assert ids(result.delivered) == ["row-6", "row-8"]
    assert result.checkpoints["work"] == {"shard-0": f"{10:021d}"}


def test_shards_are_read_parents_first_and_completed():
    app, source = make_app(), GivenRecords(ROWS)

    @app.processor(SOURCE)
    async def work(record):
        await asyncio.sleep(1)

    for child in source.split("shard-0"):
        source.put({"id": f"in {child}"}, child)
    result = app.test(source)
    assert ids(result.delivered)[:10] == [row["id"] for row in ROWS]
    assert result.checkpoints["work"]["shard-0"] == "SHARD_END"
    assert Completed("work", "shard-0", 1) in result.events


def test_a_simulator_is_read_and_its_clock_goes_along():
    app = make_app()

    @app.processor("dynamodb://users")
    async def work(record):
        await asyncio.sleep(10)

    sim = IndoorSimulator("S0 => {S1, S2}")
    for shard in ("S0", "S1", "S2"):
        sim.put(shard, key=f"in {shard}")
    begun = sim.clock.now()
    result = app.test(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock)
    assert ids(result.delivered)[0] == "in S0"
    assert sorted(ids(result.delivered)) == ["in S0", "in S1", "in S2"]
    assert sim.clock.now() - begun == pytest.approx(result.seconds)
    assert result.seconds > 20


def test_each_processor_may_be_given_its_own():
    app = make_app()

    @app.processor(SOURCE)
    def one(record):
        pass

    @app.processor("kinesis://numbers")
    def other(record):
        assert isinstance(record.payload, bytes)

    result = app.test({"one": ROWS[:2], "other": [b"1", b"2", b"3"]})
    assert [delivery.processor for delivery in result.deliveries].count("other") == 3
    assert len(result.deliveries) == 5


def test_it_runs_for_so_many_seconds_where_that_is_said():
    app = make_app()

    @app.processor(SOURCE)
    async def work(record):
        await asyncio.sleep(10)

    assert app.test(ROWS, until=25).seconds == 25


def test_it_runs_inside_a_test_that_is_a_coroutine_itself():
    app = make_app()

    @app.processor(SOURCE)
    async def work(record):
        await asyncio.to_thread(lambda: None)

    async def test():
        loop = asyncio.get_running_loop()
        assert len(app.test(ROWS).delivered) == 10
        assert asyncio.get_running_loop() is loop

    asyncio.run(test())


def test_a_plain_function_may_run_a_loop_of_its_own():
    app, found = make_app(), []

    @app.processor(SOURCE)
    def work(record):
        found.append(asyncio.run(asyncio.sleep(0, result=1)))

    app.test(ROWS)
    assert found == [1] * 10


def test_a_circle_in_which_no_time_passes_is_told():
    app = make_app()

    @app.processor(SOURCE)
    async def work(record):
        while True:
            await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="does not let time pass"):
        app.test(ROWS)


def test_what_is_no_records_is_refused():
    app = make_app()
    with pytest.raises(InvalidOption, match="nothing to do"):
        app.test(ROWS)

    @app.processor(SOURCE)
    def work(record):
        pass

    for given, wrong in [
        (5, "not on a int"),
        ([5], "not as a int"),
        ([{"n": 1}], "known by its 'id'"),
        ({"works": []}, "no processor 'works'"),
    ]:
        with pytest.raises(InvalidOption, match=wrong):
            app.test(given)
    for until in ("later", 0, True):
        with pytest.raises(InvalidOption, match="until="):
            app.test(ROWS, until=until)
