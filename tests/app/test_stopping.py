"""An app that is stopped before it has begun: its services may not answer for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from streamiter import Page, ShardIterator, ShardPage, Source, TransientError
from streamiter.app import App
from streamiter.position import Position
from streamiter.store.memory import MemoryStore


class Silent(Source):
    """A source whose stream cannot be looked up."""

    def __init__(self, on_ask: Callable[[], object]) -> None:
        self._on_ask = on_ask

    @property
    def name(self) -> str:
        self._on_ask()
        raise TransientError("no answer")

    def list_shards(self, after: str | None) -> ShardPage:
        raise AssertionError("it has no name yet")

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        raise AssertionError("it has no name yet")

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        raise AssertionError("it has no name yet")


def test_a_service_that_does_not_answer_holds_up_no_stop():
    async def main() -> None:
        asked, loop = asyncio.Event(), asyncio.get_running_loop()
        app = App("shop", store=MemoryStore())

        @app.processor(Silent(lambda: loop.call_soon_threadsafe(asked.set)))
        async def work(record):
            raise AssertionError(record)

        async with asyncio.timeout(50):  # less than the patience that it has with the service
            serving = asyncio.create_task(app.serve())
            await asked.wait()
            app.stop()
            await serving

    asyncio.run(main())
