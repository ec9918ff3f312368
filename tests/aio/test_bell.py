"""The bell: what a task waits for may be there before it waits, and is brought by any thread."""

from __future__ import annotations

import asyncio
import threading

from streamiter.aio.loop import Bell
from tests.aio.virtual import run


def test_what_is_there_already_is_not_waited_for():
    async def main() -> float:
        await Bell().wait(100.0, lambda: True)
        return asyncio.get_running_loop().time()

    assert run(main()) == 0.0


def test_a_thread_wakes_the_task():
    bell = Bell()

    async def main() -> None:
        threading.Thread(target=bell.ring).start()  # before it waits or after: it looks once more
        rung = threading.Event()
        ringing = threading.Thread(target=lambda: (rung.wait(60), bell.ring()))
        ringing.start()
        asyncio.get_running_loop().call_later(0.01, rung.set)
        await asyncio.wait_for(bell.wait(3600.0, lambda: False), 60)
        ringing.join()

    asyncio.run(main())


def test_it_waits_no_longer_than_it_is_told():
    async def main() -> float:
        await Bell().wait(100.0, lambda: False)
        return asyncio.get_running_loop().time()

    assert run(main()) == 100.0


def test_a_bell_that_nobody_waits_for_may_ring():
    bell = Bell()
    bell.ring()

    async def main() -> None:
        waiting = asyncio.create_task(bell.wait(1.0, lambda: False))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        bell.ring()

    asyncio.run(main())
    bell.ring()  # its loop is closed
