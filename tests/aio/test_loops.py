"""Event loops: AsyncStream leaves them free, outlives them, and stops with them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from streamiter import (
    AsyncStream,
    Event,
    Progress,
    StreamiterError,
)
from streamiter.testing import ManualClock
from tests.aio.uses import ALL, quiet
from tests.aio.virtual import run
from tests.stream.family import family, numbers

# -- loops


def test_another_loop_may_go_on_with_it():
    stream = AsyncStream(family(page_size=1, stays_open=True))
    came = numbers(asyncio.run(stream.take(5, 30.0)))

    async def rest() -> list[int]:
        found = numbers(await stream.take(7, 60.0))
        await stream.aclose()
        return found

    assert came + asyncio.run(rest()) == ALL


def test_a_loop_that_was_closed_under_a_waiting_task_holds_nobody_up():
    stream = AsyncStream(quiet())

    async def wait() -> None:
        async for _ in stream:
            pass

    loop = asyncio.new_event_loop()
    task = loop.create_task(wait())
    loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()

    async def rest() -> int:
        taken = await stream.take(12, 0.2)
        await stream.aclose()
        return len(taken) and int(stream.token["clock"])

    asyncio.run(rest())
    assert stream.token["clock"] == 12
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_the_loop_goes_on_while_a_call_hangs():
    source = quiet()
    hangs, ends = threading.Event(), threading.Event()

    def hang() -> None:
        hangs.set()
        ends.wait(60)

    source.on_fetch = hang

    async def main() -> None:
        async with AsyncStream(source) as stream:
            reading = asyncio.create_task(stream.take(12, 60.0))
            while not hangs.is_set():
                await asyncio.sleep(0)  # this loop turns
            ends.set()
            assert numbers(await reading) == ALL

    asyncio.run(main())


def test_other_tasks_have_their_turn_while_records_are_ready():
    turns = []

    async def count() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    async def main() -> None:
        counting = asyncio.create_task(count())
        async with AsyncStream(family(each=10_000, page_size=5_000), inline=True) as stream:
            await anext(stream)
            before, came = len(turns), 1
            async for _ in stream:
                came += 1
                if came == 25_000:
                    break
            assert len(turns) > before
        counting.cancel()

    asyncio.run(main())


def test_what_is_ready_is_taken_without_an_await():
    async def main() -> None:
        async with AsyncStream(family(each=1000, page_size=1000), inline=True) as stream:
            await stream.take(1, 60.0)
            for _ in range(9):
                taking = stream.take(100, 60.0)
                with pytest.raises(StopIteration) as done:
                    taking.send(None)
                assert len(done.value.value) == 100

    run(main())


def test_events_are_told_on_the_thread_of_the_loop():
    told: list[tuple[threading.Thread, Event]] = []

    async def main() -> None:
        stream = AsyncStream(
            family(), clock=ManualClock(), on_event=lambda event: told.append((threading.current_thread(), event))
        )
        async with stream:
            assert numbers([record async for record in stream]) == ALL

    asyncio.run(main())
    assert {thread for thread, _ in told} == {threading.main_thread()}
    assert isinstance(told[-1][1], Progress)


def test_on_event_may_not_read():
    refusals = []

    async def main() -> None:
        def on_event(event: Event) -> None:
            reading = stream.next()
            try:
                reading.send(None)
            except StreamiterError as error:
                refusals.append(str(error))

        async with AsyncStream(family(), clock=ManualClock(), on_event=on_event) as stream:
            assert numbers([record async for record in stream]) == ALL

    asyncio.run(main())
    assert refusals
    assert "on_event= may look at the stream" in refusals[0]


CTRL_C = """
import asyncio, json, signal, os
from streamiter import AsyncStream
from tests.stream.family import family, numbers

came = []
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background have it ignored

async def main():
    stream = AsyncStream(family(stays_open=True))
    try:
        async for record in stream:
            came.append(record)
            if len(came) == 12:
                asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
    finally:
        print(json.dumps([numbers(came), stream.token.get("clock")]))
        await stream.aclose()
        print("closed", flush=True)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_loop_that_waits():
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C], capture_output=True, text=True, timeout=120, cwd=root, check=False
    )
    assert done.stdout.splitlines() == [f"[{ALL}, 12]", "closed", "interrupted"], done.stderr
