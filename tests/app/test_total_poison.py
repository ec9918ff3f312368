"""A record that cannot be read, in the total order: what comes before it is a batch of its own, with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamiter import App, Halt, Ignore, Quarantine, Retry, Stream
from streamiter.app import Policy
from streamiter.app.policies import Pass
from streamiter.errors import ProcessorFailed
from streamiter.record import SpoiledRecord
from streamiter.source import Source
from streamiter.testing import FleetOf, GivenRecords, ManualClock
from tests.app.effects import Ledger, Stage
from tests.app.rows import ROWS, SOURCE, make_app

NOW = 1_750_000_000


def refusing(*bad: int) -> Any:
    def model(row: Any) -> Any:
        if row["n"] in bad:
            raise ValueError("it is bad")
        return row

    return model


def numbers(batch: Any) -> list[int]:
    return [record.new["n"] for record in batch]


def rest_of(token: Any) -> list[int]:
    """What a Stream reads behind a token."""
    source: Source[Any] = GivenRecords()
    source.use_clock(lambda: NOW * 1_000_000)  # type: ignore[attr-defined]
    for row in ROWS:
        source.put(row)  # type: ignore[attr-defined]
    with Stream(source, token, clock=ManualClock(NOW)) as stream:
        return [record.new["n"] for batch in stream.batches(100, until="caught_up") for record in batch]


@pytest.mark.parametrize("within", [0.0, 1.0])
def test_the_token_of_a_batch_is_the_place_before_the_record_that_cannot_be_read(within):
    app, found = make_app(), []

    @app.processor(SOURCE, order="total", model=refusing(2, 3, 7), on_error=Ignore(), within=within)
    def work(batch):
        found.append((numbers(batch), rest_of(batch.token)))

    app.test(ROWS)
    assert [number for told, _ in found for number in told] == [0, 1, 4, 5, 6, 8, 9]
    for told, rest in found:
        assert rest == list(range(int(told[-1]) + 1, 10))
    assert not within or [told for told, _ in found] == [[0, 1], [4, 5, 6], [8, 9]]


def test_what_was_processed_before_a_batch_that_begins_with_a_record_left_out_does_not_come_again():
    """The place behind the record that is left out cannot be told, and the one before it was not written yet."""
    app, found, source = App("shop", store="memory:", checkpoint_every=1000.0), [], GivenRecords()

    @app.processor(SOURCE, order="total", on_error=Halt(), where=lambda record: record.new["n"] != 4)
    def work(batch):
        if 5 in numbers(batch) and not is_mended:
            raise ValueError("it is bad")
        found.extend(numbers(batch))

    is_mended = False
    with FleetOf(app, source, workers=1, tolerates=ProcessorFailed) as fleet:
        fleet.run(2)
        for rows in (ROWS[:4], ROWS[4:]):
            for row in rows:
                source.put(row)
            fleet.run(3)
        assert found == [0, 1, 2, 3] and not fleet.workers
        is_mended = True
        fleet.join()
        fleet.catch_up()
    assert found == [0, 1, 2, 3, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("within", [0.0, 1.0])
@pytest.mark.parametrize("options", [{"model": refusing(4)}, {"where": lambda record: 1 // (record.new["n"] - 4) < 9}])
def test_after_a_halt_no_good_record_comes_again(options, within):
    app, found = make_app(), []

    @app.processor(SOURCE, order="total", on_error=Halt(), within=within, **options)
    def work(batch):
        found.extend(numbers(batch))

    with FleetOf(app, ROWS, workers=1, tolerates=ProcessorFailed) as fleet:
        fleet.run(30)
        assert found == [0, 1, 2, 3] and not fleet.workers
        fleet.join()
        fleet.run(30)
        assert found == [0, 1, 2, 3] and not fleet.workers
        assert rest_of(json.loads(fleet.leases()["total"].checkpoint)) == [4, 5, 6, 7, 8, 9]


def test_a_quarantine_stands_right_before_it():
    app, found = make_app(), []

    @app.processor(SOURCE, order="total", model=refusing(3), on_error=Quarantine())
    def work(batch):
        found.append(numbers(batch))

    result = app.test(ROWS, until=20)
    assert found == [[0, 1, 2]]
    assert rest_of(json.loads(result.checkpoints["work"]["total"])) == [3, 4, 5, 6, 7, 8, 9]


def test_a_record_that_can_be_read_the_second_time_is_a_batch_by_itself():
    app, found, tries = make_app(), [], []

    def model(row):
        if row["n"] == 2 and len(tries) < 3:
            tries.append(row)
            raise ValueError("not yet")
        return row

    @app.processor(SOURCE, order="total", model=model, on_error=Retry(after=[1] * 9))
    def work(batch):
        found.append((numbers(batch), rest_of(batch.token)[:1]))

    app.test(ROWS)
    assert found == [([0, 1], [2]), ([2], [3]), ([3, 4, 5, 6, 7, 8, 9], [])]


class Letters(Policy):
    """Keeps where the records stood that it passes over."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def decide(self, failure, chance):
        self.keys += [record.order_key for record in failure.records]
        return Pass()


@pytest.mark.parametrize("order", ["shard", "total"])
def test_a_record_that_cannot_be_decoded_has_its_order_key(order):
    source, letters, found = GivenRecords(ROWS[:3]), Letters(), []
    told = source.shards["shard-0"].records[1]
    source.shards["shard-0"].records[1] = SpoiledRecord("shard-0", told.sequence_number, None, reason="torn")
    app = make_app()

    @app.processor(SOURCE, order=order, on_error=letters)
    def work(batch):
        found.append((numbers(batch), [record.order_key for record in batch]))

    app.test(source)
    assert [told for told, _ in found] == [[0], [2]]
    assert found[0][1] < letters.keys < found[1][1] and len(letters.keys) == 1


@settings(max_examples=12, deadline=None)
@given(
    bad=st.sets(st.integers(0, 19)),
    flaky=st.sets(st.integers(0, 19)),
    deadly=st.sets(st.integers(0, 30), max_size=8),
    size=st.integers(1, 8),
    within=st.sampled_from([0.0, 0.5]),
)
def test_effects_stand_once_whatever_cannot_be_read_and_whoever_dies(
    tmp_path_factory, bad, flaky, deadly, size, within
):
    """Exactly once: the good records of a batch that was cut are committed, and never come again."""
    path: Path = tmp_path_factory.mktemp("poison") / "shop.db"
    ledger, steps, refused = Ledger(path), 0, set()

    def model(row: Any) -> Any:
        number = int(row["id"][1:])
        if number in bad or (number in flaky and number not in refused):
            refused.add(number)
            raise ValueError("it is bad")
        return row

    async def step(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps in deadly:
            await stage.die()

    app = App("shop", store=f"sqlite:///{path}", failover=2)
    options: Any = {"size": size, "within": within, "model": model, "on_error": Retry(after=[1], then=Ignore())}

    @app.processor("dynamodb://orders", name="book", order="total", **options)
    async def book(batch: Any) -> None:
        await ledger.write(batch, step)

    stage = Stage(app, path, records=20, shards=2)
    for _ in range(12):
        ledger.break_off()
        process = stage.start()
        stage.world.run(120)
        if not process.is_dead:
            break
    process.leave()
    stage.world.run(60, lambda: process.is_dead)
    stage.close()
    assert process.error is None
    effects = [key for _, key in ledger.effects()]
    assert sorted(effects) == sorted(f"r{number}" for number in range(20) if number not in bad)
