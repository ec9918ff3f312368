"""Publishing: tells a source how far a processor has come, if the source can show it in tools of its own."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from streamiter.app.reader import Reader
from streamiter.app.threads import Calls
from streamiter.errors import SourceError
from streamiter.lease import Lease
from streamiter.lease.lease import TOTAL
from streamiter.lease.wishes import WriteLease, WriteWorker
from streamiter.source.base import Source
from streamiter.token import load_token

logger = logging.getLogger("streamiter.app")

FINISH_SECONDS = 3.0


class Publishing:
    """Tells the source the newest checkpoint of each shard, one after the other. Nothing depends on it."""

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
        self._token = ""  # of order="total": the last one that was looked into

    def wrote(self, wish: WriteLease | WriteWorker) -> None:
        """A row was written; its checkpoint may have moved."""
        if self._source is None or not isinstance(wish, WriteLease):
            return
        for shard_id, number in self._numbers_of(wish.lease):
            if self._told.get(shard_id) != number:
                self._told[shard_id] = self._waiting[shard_id] = number
        if self._waiting and not self._is_telling:
            self._is_telling = True
            self._telling = self._spawn(self._tell(self._source))

    async def finish(self) -> None:
        """Waits until all is told, but not for long if the source does not answer."""
        if self._telling is not None:
            await asyncio.wait([self._telling], timeout=FINISH_SECONDS)

    async def close(self, reader: Reader) -> None:
        """Closes a reader once all is told: one of order="total" closes the source, too."""
        await self.finish()
        await reader.close()

    async def _tell(self, source: Source[Any]) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, {}
                await self._calls.call(partial(source.publish, self._group, waiting))
        except SourceError as error:
            self._told.clear()
            self._token = ""
            logger.info("the source is not told how far %s came: %s", self._group, error)
        finally:
            self._is_telling = False

    def _numbers_of(self, lease: Lease) -> list[tuple[str, int]]:
        """For each shard whose checkpoint tells it: the number of its last processed record."""
        checkpoint = lease.checkpoint
        if lease.key != TOTAL:
            number = checkpoint.partition("/")[0]
            return [(lease.key, int(number))] if number.isdigit() else []
        if checkpoint == self._token or not checkpoint.startswith("{"):
            return []
        self._token = checkpoint
        lanes = load_token(json.loads(checkpoint)).lanes
        return [(lane.shard, int(lane.place[0])) for lane in lanes if lane.place is not None]
