"""Fetches: the calls for the lanes' pages, as far as the budget goes, and what their answers are to a reading."""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial

from streamiter.clock import Clock, microseconds
from streamiter.errors import IteratorExpired, PositionTrimmed, ShardGone, TimeUnsupported, TransientError
from streamiter.position import Position
from streamiter.source.base import Page, Source
from streamiter.source.cursor import Cursor
from streamiter.stream.budget import Budget
from streamiter.stream.callers import Answer, Callers
from streamiter.stream.faults import Faults
from streamiter.stream.fetch import Asked, Fetched, fetch
from streamiter.stream.reading import Reading

logger = logging.getLogger("streamiter.stream")


class Fetches:
    """Holds the iterators, and knows what is under way. One page of each lane at a time is."""

    def __init__(
        self, source: Source, clock: Clock, faults: Faults, calls: Counter[str], *, prefetch_bytes: int
    ) -> None:
        self.pages = 0
        self._source = source
        self._clock = clock
        self._faults = faults
        self._calls = calls
        self._budget = Budget(prefetch_bytes)
        self._cursors: dict[str, Cursor] = {}
        self._asked: dict[str, Asked] = {}

    def clear(self) -> None:
        """What is under way, and where, is nothing to the reading that follows."""
        self._cursors.clear()
        self._asked.clear()

    @property
    def under_way(self) -> set[str]:
        """The shards that are asked."""
        return set(self._asked)

    @property
    def is_asked(self) -> bool:
        """Whether any shard is."""
        return bool(self._asked)

    # -- asking

    def ask(self, reading: Reading, callers: Callers, now_us: int) -> None:
        """Asks for what is due and has room."""
        room, budget = callers.room, self._left_bytes(reading)
        merge = reading.merge
        is_held = merge.peek() is None
        if room <= 0 or (budget <= 0 and not is_held):
            return
        # The lane that everything waits for is fetched whatever the budget says, and what brings no records that wait;
        # the others as far as it goes.
        least = merge.least_bound if is_held else None
        for shard_id in reading.wishes(now_us, room):
            is_needed = (least is not None and least[1] == shard_id) or not reading.holds_records(shard_id)
            if is_needed or (budget > 0 and reading.lane(shard_id).waiting_bytes < self._share_bytes(reading)):
                budget -= self._ask_lane(shard_id, reading, callers)

    def renew(self, reading: Reading, callers: Callers, now_us: int) -> set[str]:
        """Asks where an iterator is near its end, and nowhere else; gives for which shards."""
        near = [
            shard_id
            for shard_id, cursor in self._cursors.items()
            if shard_id not in self._asked and cursor.is_near_expiry(now_us, self._source.iterator_us)
        ]
        budget = self._left_bytes(reading)
        for shard_id in near:
            if budget > 0:  # else it opens anew at its place, when there is room for its records
                budget -= self._ask_lane(shard_id, reading, callers)
        return self.under_way.intersection(near)

    def _ask_lane(self, shard_id: str, reading: Reading, callers: Callers) -> float:
        """Asks for the lane's next page; gives about how many bytes it may bring."""
        cursor = self._cursors.get(shard_id)
        position: Position | None = None
        if cursor is None:
            position = reading.opening(shard_id)
            if position is None:
                return 0.0
            logger.debug("shard %s: opened at %s", shard_id, position)
        limit = 1
        if not reading.is_probe(shard_id):
            limit = self._budget.limit(self._share_bytes(reading), self._source.page_limit)
        reading.asked(shard_id)
        asked = Asked(shard_id, reading, self._budget.estimate_bytes(limit), reading.schedule.serial)
        self._asked[shard_id] = asked
        callers.submit(asked, partial(fetch, self._source, shard_id, cursor, position, limit, self._now_us))
        return asked.estimate_bytes

    def _share_bytes(self, reading: Reading) -> float:
        """How many bytes each lane may hold."""
        return self._budget.share_bytes(len(reading.schedule) + len(self._asked))

    def _left_bytes(self, reading: Reading) -> float:
        """How many bytes more may be fetched ahead."""
        under_way = sum(asked.estimate_bytes for asked in self._asked.values())
        return self._budget.left_bytes(reading.waiting_bytes, under_way)

    # -- answers

    def take(self, asked: Asked, answer: Answer) -> BaseException | None:
        """Takes an answer in; gives a refusal that is not to be waited out."""
        del self._asked[asked.shard_id]
        if answer.error is not None:
            return self._take_error(asked, answer.error)
        fetched: Fetched = answer.result
        self._calls.update(fetched.calls)
        if fetched.cursor is not None:
            self._cursors[asked.shard_id] = fetched.cursor
        if fetched.error is not None:
            return self._take_error(asked, fetched.error)
        if fetched.page is not None:
            self._take_page(asked, fetched.page, opened=fetched.is_opened)
        return None

    def _take_page(self, asked: Asked, page: Page, *, opened: bool) -> None:
        shard_id = asked.shard_id
        self.pages += 1
        self._faults.recover(shard_id, self._now_us)
        self._budget.learn(page)
        ended = page.next is None
        fetched = len(page.records)
        page = self._cursors[shard_id].take(page, self._now_us)
        skipped = fetched - len(page.records)
        if ended:
            logger.debug("shard %s: read to its end", shard_id)
            del self._cursors[shard_id]
        goes_on = asked.reading.push(
            shard_id,
            page.records,
            microseconds(self._clock.now()) if page.service_us is None else page.service_us,
            self._now_us,
            ended=ended,
            caught_up=page.caught_up,
            size_bytes=page.size_bytes,
            skipped=skipped,
            opened=opened,
            children=page.children,
            rest_us=page.rest_us,
        )
        if not goes_on:
            self._cursors.pop(shard_id, None)

    def _take_error(self, asked: Asked, error: BaseException) -> BaseException | None:
        shard_id, reading = asked.shard_id, asked.reading
        if isinstance(error, IteratorExpired):
            self._cursors.pop(shard_id, None)
            reading.expired(shard_id, self._now_us)
        elif isinstance(error, TimeUnsupported):
            reading.refuse_time(shard_id, self._now_us)
        elif isinstance(error, ShardGone):
            self._cursors.pop(shard_id, None)
            reading.unreachable(shard_id, self._now_us)
        elif isinstance(error, PositionTrimmed):
            self._cursors.pop(shard_id, None)
            if reading.trimmed(shard_id, self._now_us):
                self._postpone(asked, error)
        else:
            self._postpone(asked, error)
            return None if isinstance(error, TransientError) else error
        return None

    def _postpone(self, asked: Asked, error: BaseException) -> None:
        due_us = self._faults.note(asked.shard_id, error, self._now_us)
        if not asked.reading.lane(asked.shard_id).ended:
            asked.reading.failed(asked.shard_id, due_us)

    @property
    def _now_us(self) -> int:
        return microseconds(self._clock.monotonic())
