"""Publishing: how far a processor has come, told to its source, where that shows it to people with tools of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from streamiter.app.threads import Calls
from streamiter.errors import SourceError
from streamiter.lease import Lease
from streamiter.lease.wishes import WriteLease, WriteWorker
from streamiter.source.base import Source

logger = logging.getLogger("streamiter.app")

FINISH_SECONDS = 1.0


class Publishing:
    """The newest checkpoint of each shard, told one after the other. Nothing depends on it."""

    def __init__(
        self,
        source: Source[Any] | None,
        group: str,
        calls: Calls,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._source = source if source is not None and source.publishes else None
        self._group = group
        self._calls = calls
        self._spawn = spawn
        self._told: dict[str, int] = {}
        self._waiting: dict[str, int] = {}
        self._is_telling = False
        self._telling: asyncio.Task[None] | None = None

    def wrote(self, wish: WriteLease | WriteWorker) -> None:
        """A row was written; its checkpoint may have moved."""
        if self._source is None or not isinstance(wish, WriteLease):
            return
        number = _number_of(wish.lease)
        if number is not None and self._told.get(wish.lease.key) != number:
            self._told[wish.lease.key] = self._waiting[wish.lease.key] = number
            if not self._is_telling:
                self._is_telling = True
                self._telling = self._spawn(self._tell(self._source))

    async def finish(self) -> None:
        """Waits until all is told; not for long, where the source does not answer."""
        if self._telling is not None:
            await asyncio.wait([self._telling], timeout=FINISH_SECONDS)

    async def _tell(self, source: Source[Any]) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, {}
                await self._calls.call(partial(source.publish, self._group, waiting))
        except SourceError as error:
            self._told.clear()
            logger.info("the source is not told how far %s came: %s", self._group, error)
        finally:
            self._is_telling = False


def _number_of(lease: Lease) -> int | None:
    """The number of the last record that is processed, where the checkpoint is one."""
    number = lease.checkpoint.partition("/")[0]
    return int(number) if number.isdigit() else None
