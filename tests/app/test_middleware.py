"""Middleware: what stands around a processor's function, in order."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter import App, Ignore, InvalidOption
from streamiter.app.virtual.given import GivenRecords
from streamiter.errors import ProcessorFailed

ROWS = [{"id": f"r{number}", "n": number} for number in range(4)]


def run(*middleware: Any, form: str = "record", **options: Any) -> tuple[Any, list[Any]]:
    app = App("shop", store="memory:")
    got: list[Any] = []
    options = {"middleware": middleware, "name": "bill"} | options

    if form == "record":

        @app.processor("dynamodb://orders", **options)
        async def by_record(record: Any) -> None:
            got.append(record.key["id"])
    elif form == "plain":

        @app.processor("dynamodb://orders", **options)
        def by_plain(record: Any, lease: Any) -> None:
            got.append((record.key["id"], lease.key))
    elif form == "value":

        @app.processor("dynamodb://orders", model=dict, **options)
        async def by_value(value: Any) -> None:
            got.append(value["id"])
    elif form == "class":

        @app.processor("dynamodb://orders", size=4, **options)
        class Bill:
            async def process(self, batch: Any) -> None:
                got.append([record.key["id"] for record in batch])
    else:

        @app.processor("dynamodb://orders", size=4, **options)
        async def by_batch(batch: Any) -> None:
            got.append([record.key["id"] for record in batch])

    return app.test(GivenRecords(ROWS)), got


def noting(name: str, notes: list[str]) -> Any:
    async def middleware(record: Any, call_next: Any) -> None:
        notes.append(f"{name} before")
        await call_next(record)
        notes.append(f"{name} after")

    return middleware


def test_the_first_is_the_outermost():
    notes: list[str] = []
    _, got = run(noting("one", notes), noting("two", notes))
    assert notes == ["one before", "two before", "two after", "one after"] * 4
    assert got == ["r0", "r1", "r2", "r3"]


def test_what_is_not_handed_on_is_not_processed_and_counts_as_processed():
    async def odd_alone(record: Any, call_next: Any) -> None:
        if record.new["n"] % 2:
            await call_next(record)

    for options in ({}, {"order": "key", "concurrency": 4}):
        trial, got = run(odd_alone, **options)
        assert sorted(got) == ["r1", "r3"]
        (checkpoint,) = trial.checkpoints["bill"].values()
        assert int(checkpoint) >= int(trial.delivered[-1].sequence_number)


def test_what_is_handed_on_may_be_something_else():
    class Renamed:
        def __init__(self, record: Any) -> None:
            self.key = {"id": f"{record.key['id']}!"}

    async def rename(record: Any, call_next: Any) -> None:
        await call_next(Renamed(record))

    assert run(rename)[1] == ["r0!", "r1!", "r2!", "r3!"]


def test_an_error_in_it_is_for_the_policy():
    async def broken(record: Any, call_next: Any) -> None:
        if record.new["n"] == 1:
            raise ValueError("no")
        await call_next(record)

    with pytest.raises(ProcessorFailed):
        run(broken)
    assert run(broken, on_error=Ignore())[1] == ["r0", "r2", "r3"]


def test_it_may_catch_what_the_function_raises():
    caught: list[str] = []

    async def catching(record: Any, call_next: Any) -> None:
        try:
            await call_next(record)
        except ValueError as error:
            caught.append(str(error))

    app = App("shop", store="memory:")

    @app.processor("dynamodb://orders", middleware=[catching])
    async def bill(record: Any) -> None:
        raise ValueError(record.key["id"])

    app.test(GivenRecords(ROWS))
    assert caught == ["r0", "r1", "r2", "r3"]


def test_it_goes_with_plain_functions_values_batches_and_classes():
    notes: list[str] = []
    assert run(noting("m", notes), form="plain")[1] == [(f"r{number}", "shard-0") for number in range(4)]
    assert run(noting("m", notes), form="value")[1] == ["r0", "r1", "r2", "r3"]
    assert len(notes) == 16
    for form in ("batch", "class"):
        notes.clear()
        assert [key for batch in run(noting("m", notes), form=form)[1] for key in batch] == ["r0", "r1", "r2", "r3"]
        assert notes[:2] == ["m before", "m after"]


def test_what_is_no_middleware_is_refused():
    def plain(record: Any, call_next: Any) -> None: ...

    for wrong in (plain, "log", None):
        with pytest.raises(InvalidOption, match="middleware is written"):
            run(wrong)


def test_events_have_none():
    async def passing(record: Any, call_next: Any) -> None:
        await call_next(record)

    app = App("shop", store="memory:")
    with pytest.raises(InvalidOption, match="events are asked for by the function"):

        @app.processor("dynamodb://orders", middleware=[passing])
        async def bill(events: Any) -> None: ...
