"""What waits for a thread is asked for again once it has one: nothing is handed over in between (laws 9 and 15)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from streamiter.app.call import Call, Withheld
from tests.app.rows import SOURCE, make_app
from tests.fleet.runtime_world import RuntimeWorld


class BusyThreads:
    """Until one of them is free, the lease is gone."""

    def __init__(self) -> None:
        self.is_held = True

    async def call(self, function: Callable[[], Any]) -> Any:
        self.is_held = False
        return function()

    def close(self) -> None:
        """Nothing was opened."""


@pytest.mark.parametrize("swallows", [False, True])
def test_a_plain_function_is_not_called_once_the_lease_is_gone(swallows):
    app, got, threads = make_app(), [], BusyThreads()

    async def around(record, call_next):
        try:
            await call_next(record)
        except Withheld:
            if not swallows:
                raise

    @app.processor(SOURCE, order="key", middleware=[around])
    def work(record):
        got.append(record)

    call = Call(work, app.processors["work"], threads, lambda: threads.is_held)

    async def run() -> None:
        if swallows:
            await call("record")
        else:
            with pytest.raises(Withheld):
                await call("record")

    asyncio.run(run())
    assert got == [] and call.is_withheld


def test_a_worker_that_one_processor_ends_hands_over_nothing_of_another():
    assert not RuntimeWorld(100115).run()
