"""A made-up source for the runtime: shards that are listed late, and now and then not at all; iterators that die."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from streamiter.errors import IteratorExpired
from streamiter.source.base import Page, ShardPage
from tests.fleet.runtime_kit import Kit

LAG_US = 500_000
KEYS = ("a", "b", "c", "d", "e")
# How calls to stores and sources fare.
SKIES = (
    {},
    {"lost_request": 0.02, "lost_answer": 0.02, "late": 0.01, "slow": 0.05, "throttled": 0.02},
    {"lost_request": 0.06, "lost_answer": 0.06, "late": 0.03, "slow": 0.1, "throttled": 0.05},
)


def unsteady_source(kit: Kit, chance: Random, now_us: Callable[[], int], retention: float | None) -> Any:
    """Records given to the worlds of this runtime. `retention`: after so many seconds it holds them no more; None: for long."""

    class Unsteady(kit.given.GivenRecords):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__(shards=chance.randint(1, 4), retention=retention or 86_400.0)
            self.page_limit = chance.choice((3, 10, 1000))
            self.is_calm = False
            self.seconds = retention  # for which it holds records
            self.tells_children = chance.random() < 0.5
            self._listed_from: dict[str, int] = {}
            self._count = 0

        def write(self, most: int) -> None:
            for shard in self.open_shards:
                for _ in range(chance.randint(0, most)):
                    self._count += 1
                    self.put({"id": chance.choice(KEYS), "n": self._count}, shard)

        def reshard(self) -> str:
            shards = self.open_shards
            shard = chance.choice(shards)
            others = [other for other in shards if other != shard]
            if others and chance.random() < 0.3:
                self.merge(shard, chance.choice(others))
            elif len(shards) < 6 and chance.random() < 0.5:
                self.split(shard)
            else:
                self.roll(shard)
            return str(shard)

        def trim(self) -> int:
            return 0 if retention is None else int(super().trim())

        def list_shards(self, after: str | None) -> ShardPage:
            page = super().list_shards(after)
            if self.is_calm:
                return page
            return page._replace(shards=tuple(shard for shard in page.shards if self._is_shown(shard.id)))

        def _is_shown(self, shard: str) -> bool:
            from_us = self._listed_from.setdefault(shard, now_us() + (chance.randrange(LAG_US) if now_us() else 0))
            return from_us <= now_us() and not self._flickers(shard)

        def _flickers(self, shard: str) -> bool:
            # For half a second in 16, and 10 s apart: listings that a worker makes in between show the row, so they do not
            # agree that it is gone.
            window, phase = divmod(now_us(), 2_000_000)
            block, place = divmod(window, 8)
            return phase < 500_000 and place == Random(f"{shard} {block}").randrange(4)

        def open_iterator(self, shard_id: str, position: Any) -> Any:
            self.trim()
            return super().open_iterator(shard_id, position)

        def fetch(self, iterator: Any, limit: int) -> Page[Any]:
            self.trim()
            if not self.is_calm and chance.random() < 0.02:
                raise IteratorExpired("the iterator is too old")
            page = super().fetch(iterator, limit)
            return page if self.tells_children else page._replace(children=())

    return Unsteady()
