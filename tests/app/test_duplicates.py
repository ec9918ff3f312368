"""Records that a producer sent twice: a source that drops them does so in apps, too, lease by lease."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from streamiter import KinesisStreams, Retry
from streamiter.app.pages import ShardPages
from streamiter.app.repeats import MOST
from streamiter.lease import Lease
from streamiter.record import Record
from streamiter.testing import FleetOf, GivenRecords, Simulator, change_payload
from tests.app.rows import SOURCE, make_app


class Twice(GivenRecords):
    """Rows are known by their number `n`."""

    drops_duplicates = True

    def identify(self, record: Record) -> object | None:
        number = record.new["n"]  # type: ignore[attr-defined]
        return None if number < 0 else number


def rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": f"row-{place}", "n": number} for place, number in enumerate(numbers)]


@pytest.mark.parametrize("options", [{}, {"order": "key"}, {"order": "key", "concurrency": 9}])
def test_what_was_there_before_is_left_out(options):
    app, found = make_app(), []

    @app.processor(SOURCE, **options)
    def work(record):
        found.append(record.key["id"])

    result = app.test(Twice(rows(1, 2, 1, -1, -1, 3, 2, 2, 4)))
    assert sorted(found) == ["row-0", "row-1", "row-3", "row-4", "row-5", "row-8"]
    assert result.checkpoints["work"]["shard-0"] == f"{9:021d}"


@pytest.mark.parametrize("form", ["batch", "events", "class"])
def test_in_every_form(form):
    app, found = make_app(), []
    if form == "batch":

        @app.processor(SOURCE, size=3)
        def work(batch):
            found.extend(int(record.new["n"]) for record in batch)
    elif form == "events":

        @app.processor(SOURCE, name="work")
        async def iterate(events):
            async for record in events.records():
                found.append(int(record.new["n"]))
    else:

        @app.processor(SOURCE, name="work")
        class Work:
            def process(self, batch):
                found.extend(int(record.new["n"]) for record in batch)

    result = app.test(Twice(rows(1, 1, 2, 1, 3, 3, 3, 3, 2)))
    assert found == [1, 2, 3]
    assert result.checkpoints["work"]["shard-0"] == f"{9:021d}", "what is left out counts as processed"


def test_a_record_that_comes_again_is_no_duplicate_of_itself():
    app, tries = make_app(), []

    @app.processor(SOURCE, on_error=Retry(after=[1, 1]))
    def work(record):
        tries.append(int(record.new["n"]))
        if tries.count(2) == 1:
            raise ValueError("once")

    app.test(Twice(rows(1, 2, 2, 3)))
    assert tries == [1, 2, 2, 3]


def test_after_a_graceful_stop_nothing_that_was_left_out_comes():
    app, found = make_app(), []

    @app.processor(SOURCE)
    async def work(record):
        found.append(record.key["id"])

    source = Twice(rows(1, 1, 2, 1))
    with FleetOf(app, source, workers=1) as fleet:
        fleet.catch_up()
        fleet.leave(0)
        fleet.run(10)
        fleet.join()
        fleet.run(30)
        assert found == ["row-0", "row-2"]
        source.put({"id": "late", "n": 2})  # its like was read by another worker: nobody here remembers
        fleet.catch_up()
    assert found == ["row-0", "row-2", "late"]


def test_a_lease_remembers_so_many():
    source = Twice(rows(*range(MOST + 1), 1, 0))
    pages, kinds = ShardPages(source, Lease("shard-0"), 10**6), Counter()
    for _ in range(40):
        kinds.update(type(record).__name__ for record in pages.turn(0).records)
    assert kinds == {"ChangeRecord": MOST + 2, "Repeat": 1}


def test_changes_that_dynamodb_writes_to_kinesis_twice():
    with Simulator("S0") as sim:
        changes = sim.create_stream("changes", "S0")
        created_us = int(sim.clock.now() * 1_000_000)
        for number in (0, 1, 1, 2, 0):
            payload = change_payload({"id": "ann"}, {"id": "ann", "n": number}, created_us=created_us, event_id=number)
            changes.put("S0", payload)
        source = KinesisStreams("changes", client=sim.client("kinesis"), records="dynamodb", duplicates="drop")
        app, found = make_app(), []

        @app.processor(source)
        def work(record):
            found.append(int(record.new["n"]))

        app.test(source, clock=sim.clock)
        assert found == [0, 1, 2]
