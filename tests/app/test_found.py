"""What the runtime's simulated worlds found, in small: each stood still, lost something or ended the app."""

from __future__ import annotations

import json

import pytest

from streamiter import InvalidOption
from streamiter.app import Ignore, Quarantine, Retry
from streamiter.errors import PoisonRecord, ProcessorFailed
from streamiter.lease.operator import release
from streamiter.store import Table
from streamiter.testing import FleetOf, GivenRecords
from tests.app.rows import ROWS, SOURCE, Row, ids, make_app


def test_take_gives_what_there_is_at_the_end_of_a_shard():
    app, source = make_app(), GivenRecords(ROWS)

    @app.processor(SOURCE)
    async def work(events):
        while await events.take(7):
            pass

    source.close_shard("shard-0")
    result = app.test(source)
    assert result.checkpoints["work"]["shard-0"] == "SHARD_END"


def test_take_asks_for_no_more_than_may_be_in_flight():
    app, taken = make_app(), []

    @app.processor(SOURCE, size=1, in_flight=4)
    async def work(events):
        while found := await events.take(7, within=600):
            taken.append(len(found))

    assert app.test(ROWS).seconds < 700
    assert taken == [4, 4, 2]


def test_a_record_that_cannot_be_read_fails_alone():
    app, taken = make_app(), []

    def model(row):
        if row["n"] == 2:
            raise ValueError("two")
        return row

    @app.processor(SOURCE, model=model, on_error=Ignore())
    async def work(events):
        while found := await events.take(5, within=1):
            taken.append([record.new["n"] for record in found])

    result = app.test(ROWS)
    assert taken == [[0, 1], [3, 4, 5, 6, 7], [8, 9]]
    assert result.failures == []
    assert not issubclass(PoisonRecord, ValueError)


@pytest.mark.parametrize("order", ["shard", "total"])
def test_what_where_leaves_out_behind_a_batch_belongs_to_it(order):
    app, tokens, tries = make_app(), [], []

    @app.processor(SOURCE, order=order, size=4, on_error=Retry(after=[1]), where=lambda record: record.new["n"] % 4 < 2)
    def work(batch):
        tries.append([record.new["n"] for record in batch])
        tokens.append(batch.token)
        if len(tries) == 1:
            raise ValueError("once")

    result = app.test(ROWS)
    assert tries[:3] == [[0, 1], [0, 1], [4, 5]]
    if order == "shard":
        assert tokens == [f"{number:021d}" for number in (4, 4, 8, 10)]
    else:
        assert tokens[0] == tokens[1] != tokens[2]
        assert json.loads(result.checkpoints["work"]["total"]) == tokens[-1]


def test_a_quarantine_in_total_order_keeps_what_was_processed():
    app, source = make_app(), GivenRecords(ROWS)
    bad = [3]

    @app.processor(SOURCE, order="total", on_error=Quarantine())
    def work(record):
        if record.new["n"] in bad:
            raise ValueError("three")

    with FleetOf(app, source, workers=2) as fleet:
        fleet.run(20)
        assert ids(told.record for told in fleet.deliveries) == ["row-0", "row-1", "row-2", "row-3"]
        bad.clear()
        release(fleet.store, Table("leases", "tried", "work"), "total", by_force=False)
        fleet.run(20)
        fleet.catch_up()
    numbers = [told.record.new["n"] for told in fleet.deliveries]
    assert numbers == [0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9]


def test_a_model_that_changes_its_mind_about_a_batch_that_comes_again_leaves_its_first_part_without_a_place():
    app, found, asked = make_app(), [], []

    def model(row):
        asked.append(row["n"])
        if row["n"] == 2 and asked.count(2) > 1:
            raise ValueError("two")
        return row

    @app.processor(SOURCE, order="total", model=model, on_error=Retry(after=[1], then=Ignore()))
    def work(batch):
        found.append([record.new["n"] for record in batch])
        if len(found) == 1:
            assert asked == list(range(10)), "once"
            raise ValueError("once")
        if len(found) == 2:
            with pytest.raises(InvalidOption, match="cannot be told"):
                _ = batch.token

    app.test(ROWS)
    assert found == [list(range(10)), [0, 1], [3, 4, 5, 6, 7, 8, 9]]


@pytest.mark.parametrize("order", ["shard", "key", "total"])
def test_where_sees_a_record_that_comes_again_as_it_saw_it_first(order):
    app, tries = make_app(), []

    @app.processor(SOURCE, order=order, model=Row, where=lambda record: record.new["n"] == 3, on_error=Retry(after=[1]))
    def work(value):
        tries.append(value)
        if len(tries) == 1:
            value.n = 7
            raise ValueError("once")

    result = app.test(ROWS)
    assert tries == [Row("row-3", 7), Row("row-3", 3)]
    assert [type(failure.error) for failure in result.failures] == [ValueError]


def test_a_record_on_which_where_fails_is_a_matter_for_the_policy_in_an_iterator_too():
    app, found = make_app(), []

    @app.processor(SOURCE, where=lambda record: 1 // record.new["n"] >= 0, on_error=Ignore())
    async def work(events):
        async for record in events.records():
            found.append(record.new["n"])

    app.test(ROWS)
    assert found == list(range(1, 10))


def test_a_batch_that_fails_at_the_tip_of_the_total_order_brings_no_other_again():
    app, tries = make_app(), []

    @app.processor(SOURCE, order="total", size=4, within=0.5)
    def work(batch):
        tries.append([record.new["n"] for record in batch])
        if len(tries) == 3:
            raise ValueError("once")

    with FleetOf(app, ROWS, workers=1, tolerates=ProcessorFailed) as fleet:
        fleet.run(30)
        fleet.join()
        fleet.catch_up()
    assert tries == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], [8, 9]]
