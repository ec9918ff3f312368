"""Listing: the stream's shards, page by page, as often as the service allows and the reading wishes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from streamiter.clock import SECOND_US
from streamiter.shard import Shard
from streamiter.source.base import ShardPage

# How often a page may fail before its listing begins anew, for its cursor may be at fault. It does not at once, or a stream of
# many pages might never be listed to its end.
MOST_FAILURES = 3
LONGEST_START_US = 2 * SECOND_US  # how long `next` waits for listings
MOST_BROKEN = 2  # listings in a row that may lead in a circle, before the circle is taken for the end


class ListAsk(NamedTuple):
    """A page of the listing is to be asked for."""

    after: str | None  # None: the first page


class Pace:
    """How often the service allows the reader to ask for a page of shards."""

    def __init__(self, pages_per_second: float) -> None:
        # One less than the service allows: a call that was under way for long counts there when it arrives.
        self._asked_us: deque[int] = deque(maxlen=max(1, int(pages_per_second) - 1))

    @property
    def free_us(self) -> int:
        """Before this moment the service would refuse one more page."""
        return self._asked_us[0] + SECOND_US if len(self._asked_us) == self._asked_us.maxlen else 0

    def count(self, now_us: int) -> None:
        """A page is asked for."""
        self._asked_us.append(now_us)


@dataclass(slots=True)
class Pages:
    """One listing: the shards of its pages so far, and whether there are more pages."""

    ticket: int = 0
    rows: list[Shard] = field(default_factory=list)
    after: str | None = None  # what the next page is asked for with
    is_circle: bool = False  # a page led back to one that was seen
    is_whole: bool = False
    failures: int = 0  # of the page that is asked for, in a row
    _seen: set[str] = field(default_factory=set)

    def take(self, page: ShardPage) -> None:
        """The next page of it."""
        self.failures = 0
        self.rows += page.shards
        if page.next is None:
            self.is_whole = True
        elif page.next in self._seen:
            self.is_circle = True
        else:
            self._seen.add(page.next)
            self.after = page.next

    @property
    def is_over(self) -> bool:
        """Whether there is no page to ask for."""
        return self.is_whole or self.is_circle


class Listing:
    """Listings, one after the other, with one page at a time under way."""

    def __init__(self, pace: Pace) -> None:
        self.pages: Pages | None = None  # the listing under way
        self.is_asked = False  # a page is under way
        self._pace = pace
        self._again_us = 0  # not before this moment, after a failure
        self._circles = 0  # listings in a row that led in a circle

    def due_us(self, wanted_us: int | None) -> int | None:
        """When to ask for the next page, if a listing is wanted at `wanted_us` (None: it is not)."""
        if self.is_asked or (self.pages is None and wanted_us is None):
            return None
        first_us = wanted_us if self.pages is None and wanted_us is not None else 0
        return max(first_us, self._again_us, self._pace.free_us)

    def rests_until(self, now_us: int, since_us: int, due_us: int | None) -> int | None:
        """When a reader should look again that has waited since `since_us`, and can open no shard before the next page.

        Pages are paced, and several listings may have to agree. What failed, or is due much later, is not waited for.
        """
        is_soon = due_us is not None and now_us < due_us <= since_us + LONGEST_START_US
        return due_us if is_soon and self._again_us <= now_us else None

    def ask(self, now_us: int, begin: Callable[[int], int]) -> ListAsk:
        """Asks for the next page; `begin` gives the ticket of a listing that begins."""
        if self.pages is None:
            self.pages = Pages(begin(now_us))
        self.is_asked = True
        self._pace.count(now_us)
        return ListAsk(self.pages.after)

    def take(self, page: ShardPage) -> Pages | None:
        """The page came. Returns the listing if it is over; it is complete if `is_whole`."""
        assert self.pages is not None
        self.is_asked = False
        self.pages.take(page)
        if not self.pages.is_over:
            return None
        if self.pages.is_circle and self._circles < MOST_BROKEN:
            self._circles += 1
        else:
            self._circles = 0
            self.pages.is_whole = True  # each listing leads in a circle: that is all there is
        return self.end()

    def fail(self, again_us: int, *, may_pass: bool) -> Pages | None:
        """The page failed, and will be asked for again at `again_us`. Returns the listing if it has to begin anew."""
        assert self.pages is not None
        self.is_asked = False
        self._again_us = again_us
        self.pages.failures += 1
        return None if may_pass and self.pages.failures < MOST_FAILURES else self.end()

    def end(self) -> Pages:
        """The listing is over, whole or not."""
        assert self.pages is not None
        pages, self.pages = self.pages, None
        return pages
