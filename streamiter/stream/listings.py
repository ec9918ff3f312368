"""Listings: the calls that list the shards, page by page, and what their answers are to a reading."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import TransientError
from streamiter.shard import Shard
from streamiter.source.base import ShardPage, Source
from streamiter.stream.callers import Answer, Callers
from streamiter.stream.faults import LISTING, Faults
from streamiter.stream.lister import Lister, Listing, Outcome
from streamiter.stream.reading import Reading

logger = logging.getLogger("streamiter.stream")

Call = Callable[[Callable[[], Any]], Any]


class Listings:
    """Asks as often as the service allows, and no sooner than the reading wishes. One page at a time is under way."""

    def __init__(self, source: Source, clock: Clock, faults: Faults, calls: Counter[str]) -> None:
        self.is_final = False  # the stream is disabled
        self._source = source
        self._clock = clock
        self._faults = faults
        self._calls = calls
        self._lister = Lister(source.listings_per_second)

    def clear(self) -> None:
        """What is under way is nothing to the reading that follows."""
        self._lister.clear()

    @property
    def is_asked(self) -> bool:
        """Whether a page is under way."""
        return self._lister.is_asked

    def due_us(self, reading: Reading) -> int | None:
        """When the next page is to be asked for."""
        return self._lister.due_us(reading.listing_due_us)

    def ask(self, reading: Reading, callers: Callers, now_us: int) -> None:
        """Asks for the next page if it is due."""
        due_us = self.due_us(reading)
        if due_us is None or due_us > now_us or callers.room <= 0:
            return
        lister = self._lister
        if lister.listing is None:
            lister.listing = Listing(reading.discovery.begin(now_us))
        lister.is_asked = True
        lister.count(now_us)
        callers.submit(lister.listing, partial(self._source.list_shards, lister.listing.next))

    def take(self, answer: Answer, reading: Reading) -> BaseException | None:
        """Takes an answer in; gives a refusal that is not to be waited out."""
        if answer.job is not self._lister.listing:
            return None  # of before a move_to
        self._lister.is_asked = False
        self._calls["list_shards"] += 1
        if answer.error is not None:
            self._lister.again_us = self._faults.note(LISTING, answer.error, self._now_us)
            is_passing = isinstance(answer.error, TransientError)
            if not (is_passing and self._lister.fail()):
                self._break(reading)
            return None if is_passing else answer.error
        self._faults.recover(LISTING, self._now_us)
        outcome = self._lister.take(answer.result)
        if outcome is Outcome.BROKEN:
            self._break(reading)
        elif outcome is Outcome.WHOLE:
            self._end(answer.result, reading)
        return None

    def list_now(self, call: Call) -> tuple[list[Shard], int]:
        """Lists the shards at once and waits for it: rows, and when it began."""
        rows: list[Shard] = []
        cursors: set[str | None] = set()
        following: str | None = None
        began_us: int | None = None
        while following not in cursors:
            cursors.add(following)
            page = self._page_now(call, following)
            rows += page.shards
            began_us = began_us or self._service_us(page)
            self.is_final = page.is_final
            if page.next is None:
                break
            following = page.next
        assert began_us is not None
        return rows, began_us

    # -- inside

    @property
    def _now_us(self) -> int:
        return microseconds(self._clock.monotonic())

    def _service_us(self, page: ShardPage) -> int:
        return microseconds(self._clock.now()) if page.service_us is None else page.service_us

    def _end(self, page: ShardPage, reading: Reading) -> None:
        listing = self._lister.end()
        self.is_final = page.is_final
        logger.debug("listed %d shards", len(listing.rows))
        reading.retain(self._source.retention_us)
        reading.listed(listing.ticket, listing.rows, self._service_us(page), self._now_us, is_final=page.is_final)

    def _break(self, reading: Reading) -> None:
        """It cannot be completed; what it told is true."""
        reading.see(self._lister.end().rows)
        reading.discovery.fail()

    def _page_now(self, call: Call, after: str | None) -> ShardPage:
        """One page, with the patience that all else has."""
        since_us = self._now_us
        while True:
            self._clock.sleep(max(0, self._lister.free_us - self._now_us) / SECOND_US)
            self._lister.count(self._now_us)
            try:
                page: ShardPage = call(partial(self._source.list_shards, after))
            except TransientError as error:
                again_us = self._faults.note(LISTING, error, self._now_us)
                if self._now_us - since_us >= self._faults.patience_us:
                    self._faults.forget(LISTING)
                    raise
                self._clock.sleep((again_us - self._now_us) / SECOND_US)
            else:
                self._calls["list_shards"] += 1
                self._faults.recover(LISTING, self._now_us)
                return page
