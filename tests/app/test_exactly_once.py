"""Law 18: an effect and the checkpoint behind it stand together or not at all, whatever happens, and wherever."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamiter import App, Halt, InvalidOption, Retry
from streamiter.errors import LeaseLost, ProcessorFailed
from tests.app.effects import Ledger, Stage

RECORDS = 7
FORMS, ORDERS = ("function", "class"), ("shard", "total")


def nothing(_: str) -> Any:
    return asyncio.sleep(0)


def make_app(path: Path, ledger: Ledger, step: Any = nothing, *, form: str = "function", **options: Any) -> App:
    app = App("shop", store=f"sqlite:///{path}", failover=2)
    options = {"size": 3, "within": 0.0, "name": "book", "on_error": Retry(after=[1] * 50)} | options
    if form == "class":

        @app.processor("dynamodb://orders", **options)
        class Book:
            def initialize(self, lease: Any) -> None:
                self.lease = lease

            async def process(self, batch: Any) -> None:
                assert batch.lease is self.lease
                await ledger.write(batch, step)
    else:

        @app.processor("dynamodb://orders", **options)
        async def book(batch: Any) -> None:
            await ledger.write(batch, step)

    return app


@pytest.fixture(autouse=True)
def stages() -> Iterator[None]:
    """A test that fails leaves nothing open that another would be blamed for."""
    yield
    while Stage.opened:
        Stage.opened[-1].close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def steps_of_a_run(tmp_path: Path, order: str) -> int:
    """How many steps the processor makes in all where nothing happens."""
    path, count = tmp_path / "count.db", 0
    ledger = Ledger(path)

    async def step(_: str) -> None:
        nonlocal count
        count += 1

    stage = Stage(make_app(path, ledger, step, order=order), path, records=RECORDS)
    stage.finish(ledger)
    stage.assert_each_once(ledger)
    stage.close()
    return count


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("form", FORMS)
def test_killed_at_any_step_it_leaves_each_effect_once(tmp_path, form, order):
    steps = steps_of_a_run(tmp_path, order)
    assert steps > 15
    for fatal in range(1, steps + 1):
        path = tmp_path / f"{fatal}.db"
        ledger, taken = Ledger(path), 0

        stages: list[Stage] = []

        async def step(_: str, fatal=fatal, stages=stages) -> None:
            nonlocal taken
            taken += 1
            if taken == fatal:
                await stages[0].die()

        stages.append(stage := Stage(make_app(path, ledger, step, form=form, order=order), path, records=RECORDS))
        stage.finish(ledger)
        stage.assert_each_once(ledger)
        stage.close()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("form", FORMS)
def test_failed_at_any_step_it_leaves_each_effect_once(tmp_path, form, order):
    steps = steps_of_a_run(tmp_path, order)
    for fatal in range(1, steps + 1):
        path = tmp_path / f"{fatal}.db"
        ledger, taken = Ledger(path), 0

        async def step(_: str, fatal=fatal) -> None:
            nonlocal taken
            taken += 1
            if taken == fatal:
                raise ValueError("it fails here")

        stage = Stage(make_app(path, ledger, step, form=form, order=order), path, records=RECORDS)
        stage.finish(ledger)
        stage.assert_each_once(ledger)
        stage.close()


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_worlds_in_which_workers_die_fail_and_take_their_time(tmp_path_factory, seed):
    chance = Random(seed)
    path = tmp_path_factory.mktemp("world") / "shop.db"
    ledger = Ledger(path)
    troubles = chance.randrange(12)

    async def step(_: str) -> None:
        nonlocal troubles
        roll = chance.random()
        if troubles and roll < 0.1:
            troubles -= 1
            await stage.die()
        if troubles and roll < 0.2:
            troubles -= 1
            raise ValueError("it fails here")
        if roll < 0.4:
            await asyncio.sleep(chance.choice([0.01, 0.5, 1.0, 3.0]))  # longer than a renewal, and than a failover

    app = make_app(
        path,
        ledger,
        step,
        form=chance.choice(FORMS),
        order=chance.choice(ORDERS),
        size=chance.randint(1, 6),
        within=chance.choice([0.0, 0.3]),
    )
    stage = Stage(app, path, records=chance.randint(1, 25), shards=chance.randint(1, 3))
    stage.finish(ledger)
    stage.assert_each_once(ledger)
    stage.close()


def test_a_worker_that_stood_still_finds_its_lease_lost_and_rolls_back(path):
    ledger = Ledger(path)
    lost: list[Exception] = []
    is_first = True

    async def step(place: str) -> None:
        nonlocal is_first
        if place == "before all" and is_first:
            is_first = False
            await asyncio.sleep(60)

    app = App("shop", store=f"sqlite:///{path}")

    @app.processor("dynamodb://orders", name="book", size=3, within=0.0)
    async def book(batch: Any) -> None:
        try:
            await ledger.write(batch, step)
        except LeaseLost as error:
            lost.append(error)
            raise
        except asyncio.CancelledError:
            # A coroutine of a lost lease is cancelled; a thread would go on to here.
            with ledger.connected() as db:
                db.execute("INSERT INTO effects VALUES ('late', 'late')")
                with pytest.raises(LeaseLost):
                    batch.commit(db)
            raise

    stage = Stage(app, path, records=RECORDS)
    first = stage.start()
    stage.world.run(5)
    first.pause()
    second = stage.start()
    stage.world.run(30)
    assert len(ledger.effects()) == RECORDS
    first.go_on()
    stage.world.run(60)
    stage.assert_each_once(ledger)
    assert first.error is None and not first.is_dead, "a lost lease is no failure"
    second.leave()
    first.leave()
    stage.world.run(60, lambda: first.is_dead and second.is_dead)
    stage.close()


def test_a_function_that_does_not_commit_its_transaction_has_failed(path):
    """What it wrote is rolled back when its connection goes: the records must not count as processed."""
    ledger = Ledger(path)
    app = App("shop", store=f"sqlite:///{path}")
    forgets = True

    @app.processor("dynamodb://orders", name="book", size=3, within=0.0, on_error=Retry(after=[1]))
    async def book(batch: Any) -> None:
        with ledger.connected() as db:
            for record in batch:
                db.execute("INSERT INTO effects VALUES (?, ?)", (batch.lease.key, record.key["id"]))
            batch.commit(db)
            if not forgets:
                db.commit()

    stage = Stage(app, path, records=RECORDS)
    process = stage.start()
    stage.world.run(100, lambda: process.is_dead)
    assert isinstance(process.error, ProcessorFailed)
    assert "was not committed when the function returned" in str(process.error.__cause__)
    assert ledger.effects() == []
    forgets = False
    stage.finish(ledger)
    stage.assert_each_once(ledger)
    stage.close()


def test_a_transaction_that_ends_late_is_not_done_again(path):
    """The function fails while its transaction is still under way, as where the answer to a COMMIT is lost."""
    ledger = Ledger(path)
    app = App("shop", store=f"sqlite:///{path}")
    under_way: list[sqlite3.Connection] = []
    sizes: list[int] = []
    refused: list[Exception] = []

    @app.processor("dynamodb://orders", name="book", size=5, within=0.0, on_error=Retry(after=[1] * 100))
    async def book(batch: Any) -> None:
        sizes.append(len(batch))
        if len(sizes) == 1:
            db = sqlite3.connect(path, timeout=0)
            under_way.append(db)
            for record in batch:
                db.execute("INSERT INTO effects VALUES (?, ?)", (batch.lease.key, record.key["id"]))
            batch.commit(db)
            asyncio.get_running_loop().call_later(3.5, db.commit)
            raise ConnectionError("nobody knows")
        try:
            await ledger.write(batch, nothing)
        except LeaseLost as error:
            refused.append(error)
            raise

    stage = Stage(app, path, records=2)
    process = stage.start()
    stage.world.run(4)
    for number in range(2, 9):  # the batch that comes again is another one
        stage.given.put({"id": f"r{number}"})
    stage.world.run(60)
    stage.assert_each_once(ledger)
    assert process.error is None
    process.leave()
    stage.world.run(60, lambda: process.is_dead)
    assert process.error is None
    under_way[0].close()
    stage.close()


@pytest.mark.parametrize("order", ORDERS)
def test_a_batch_whose_first_transaction_was_rolled_back_is_committed_by_the_next(path, order, caplog):
    """The checkpoint that both put is the same; nothing of that looks like a lost lease."""
    caplog.set_level("INFO", "streamiter.app")
    ledger, failed = Ledger(path), set()

    async def step(place: str) -> None:
        if place == "before the commit" and len(ledger.effects()) not in failed:
            failed.add(len(ledger.effects()))
            raise ValueError("it fails here")

    stage = Stage(make_app(path, ledger, step, order=order), path, records=RECORDS)
    stage.finish(ledger)
    stage.assert_each_once(ledger)
    assert len(failed) >= 2
    assert "is lost" not in caplog.text
    stage.close()


def test_a_batch_cannot_be_committed_once_its_function_is_over(path):
    ledger = Ledger(path)
    app = App("shop", store=f"sqlite:///{path}")
    batches: list[Any] = []

    @app.processor("dynamodb://orders", name="book", size=3, within=0.0)
    async def book(batch: Any) -> None:
        batches.append(batch)
        await ledger.write(batch, nothing)

    stage = Stage(app, path, records=RECORDS)
    process = stage.start()
    stage.world.run(10)
    assert len(batches) == 3
    for batch in batches:
        with ledger.connected() as db, pytest.raises(InvalidOption, match="the function that got it is over"):
            batch.commit(db)
    process.leave()
    stage.world.run(60, lambda: process.is_dead)
    with ledger.connected() as db, pytest.raises(LeaseLost):
        batches[0].commit(db)
    stage.assert_each_once(ledger)
    stage.close()


def test_commits_are_as_good_as_renewals_and_none_is_refused_for_them(path):
    """A row that the processor moves all the time: its lease goes on, and the store sees no write of ours in vain."""
    ledger = Ledger(path)

    async def step(place: str) -> None:
        if place == "before all":
            await asyncio.sleep(0.1)

    stage = Stage(make_app(path, ledger, step, size=1, on_error=Halt()), path, records=300)
    writes: list[Any] = []
    stage.world.on_write = lambda name, table, before, after: writes.append(table.kind)
    stage.finish(ledger)
    stage.assert_each_once(ledger)
    renewals = writes.count("leases") - 300
    assert renewals < 20, "300 commits over 30 s"
    stage.close()
