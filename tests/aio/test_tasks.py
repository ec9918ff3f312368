"""Tasks: one at a time reads an AsyncStream, and another one may close it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from streamiter import (
    AsyncStream,
    Record,
    StreamiterError,
)
from tests.aio.uses import ALL, USES, Unsteady, awaited, quiet, until_quiet
from tests.aio.virtual import run
from tests.stream.family import Shelf, family, numbers
from tests.stream.helpers import soon

# -- one at a time


@pytest.mark.parametrize("use", USES)
def test_a_second_task_is_refused_by_name_while_the_first_waits(use: str):
    async def main() -> None:
        async with AsyncStream(quiet(), inline=True) as stream:
            assert await until_quiet(stream) == ALL

            async def wait() -> None:
                async for _ in stream:
                    raise AssertionError("nothing is to come")

            first = asyncio.create_task(wait(), name="first")
            await asyncio.sleep(0)
            second = asyncio.ensure_future(awaited(USES[use], stream))
            second.set_name("second")
            with pytest.raises(StreamiterError) as refusal:
                await second
            assert f"task 'second' called {use}()" in str(refusal.value)
            assert "task 'first' is in its anext()" in str(refusal.value)
            assert "one task at a time" in str(refusal.value)
            assert not first.done()
            assert stream.token["clock"] == stream.stats.records == 12  # to look is free
            first.cancel()

    run(main())


def test_a_second_task_does_not_end_an_iteration_of_the_first():
    async def main() -> None:
        async with AsyncStream(family(), inline=True) as stream:
            batches = stream.batches(12)
            assert numbers(await anext(batches)) == ALL[:11]  # the last one waits until listings agree
            first = asyncio.ensure_future(_next(batches))
            await asyncio.sleep(0)
            assert not first.done()
            with pytest.raises(StreamiterError, match="one task at a time"):
                await anext(batches)
            assert numbers(await first) == ALL[11:]
            assert [batch async for batch in batches] == []

    run(main())


async def _next(batches: Any) -> Any:
    return await anext(batches)


def test_tasks_may_take_turns():
    async def main() -> None:
        async with AsyncStream(family(), inline=True) as stream:
            came = []
            for _ in range(6):
                came += await asyncio.create_task(stream.take(2, 60.0))
            assert numbers(came) == ALL

    run(main())


def test_a_second_task_is_refused_while_the_first_opens_it():
    async def main() -> None:
        stream = AsyncStream(Unsteady({"S0": ()}, {"S0": []}), inline=True)
        first = asyncio.create_task(stream.next())
        await asyncio.sleep(0)
        with pytest.raises(StreamiterError, match="one task at a time"):
            await stream.next()
        assert await first is None
        await stream.aclose()

    run(main())


# -- closing


@pytest.mark.parametrize("inline", [True, False])
def test_closing_ends_a_loop_that_waits(inline: bool):
    async def main() -> None:
        stream = AsyncStream(quiet(), inline=inline)
        came: list[Record] = []

        async def read_on() -> None:
            async for record in stream:
                came.append(record)

        reading = asyncio.create_task(read_on())
        while len(came) < 12:
            await asyncio.sleep(0.001)
        await stream.aclose()
        await asyncio.wait_for(reading, 10)
        await stream.aclose()
        assert numbers(came) == ALL
        assert stream.token["clock"] == 12
        assert repr(stream) == "<AsyncStream shelf, closed>"
        for use in ("next", "take", "follow", "batches"):
            with pytest.raises(StreamiterError, match="this stream is closed"):
                await awaited(USES[use], stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        await stream.heartbeat()

    asyncio.run(main())


def test_closing_ends_a_take_which_gives_what_it_has():
    async def main() -> None:
        stream = AsyncStream(quiet(), inline=True)
        taking = asyncio.create_task(stream.take(100, 1000.0))
        await asyncio.sleep(5)
        assert not taking.done()
        await stream.aclose()
        assert numbers(await taking) == ALL
        assert stream.token["clock"] == 12

    run(main())


def test_what_was_closed_before_it_was_opened_stays_so():
    async def main() -> None:
        stream = AsyncStream(quiet(), inline=True)
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        with pytest.raises(StreamiterError, match="this stream is closed"):
            await stream.open()

    run(main())


def test_closing_ends_the_opening():
    async def main() -> None:
        hangs, ends = threading.Event(), threading.Event()

        class Hanging(Shelf):
            @property
            def name(self) -> str:  # type: ignore[override]
                hangs.set()
                ends.wait(60)
                return "shelf"

        stream = AsyncStream(Hanging({"S0": ()}, {"S0": []}))
        opening = asyncio.create_task(stream.open())
        while not hangs.is_set():
            await asyncio.sleep(0.001)
        await stream.aclose()
        with pytest.raises(StreamiterError, match="closed"):
            await opening
        ends.set()

    asyncio.run(main())


def test_no_thread_is_left():
    before = set(threading.enumerate())

    async def main() -> None:
        async with AsyncStream(quiet()) as stream:
            assert await until_quiet(stream) == ALL
            assert set(threading.enumerate()) - before

    asyncio.run(main())
    soon(lambda: not set(threading.enumerate()) - before)
