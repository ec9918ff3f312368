"""The lister: listings of the shards page by page, as often as the service allows; pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from streamiter.clock import SECOND_US
from streamiter.shard import Shard
from streamiter.source.base import ShardPage

# How often a page may fail before its listing begins anew, for its cursor may be at fault. It does not at once, or a stream of
# many pages might never be listed to its end.
MOST_FAILURES = 3
MOST_BROKEN = 2  # listings in a row that may lead in a circle, before the circle is taken for the end


class Outcome(Enum):
    """What a page made of its listing."""

    GOES_ON = "goes on"
    WHOLE = "whole"
    BROKEN = "broken"  # it leads in a circle: a cursor came again. Only if each listing does is that all there is


@dataclass(slots=True, eq=False)
class Listing:
    """A listing under way: what its pages told so far."""

    ticket: int
    rows: list[Shard] = field(default_factory=list)
    cursors: set[str] = field(default_factory=set)
    next: str | None = None
    failures: int = 0  # of the page that is asked for, in a row


class Lister:
    """Knows when the next page is due, and whether a listing is whole."""

    def __init__(self, pages_per_second: float) -> None:
        self.listing: Listing | None = None
        self.is_asked = False  # a page is under way
        self.again_us = 0  # not before this moment, after a failure
        self._broken = 0
        # One less than the service allows: a call that was under way for long counts there when it arrives.
        self._asked_us: deque[int] = deque(maxlen=max(1, int(pages_per_second) - 1))

    def clear(self) -> None:
        """Leaves what is under way to itself; the service counts it all the same."""
        self.listing = None
        self.is_asked = False
        self.again_us = 0

    def due_us(self, wanted_us: int | None) -> int | None:
        """When the next page is to be asked for, if a listing is wanted at some moment (None: it is not)."""
        if self.is_asked:
            return None
        due_us = self.again_us
        if self.listing is None:
            if wanted_us is None:
                return None
            due_us = max(due_us, wanted_us)
        return max(due_us, self.free_us)

    @property
    def free_us(self) -> int:
        """Before this moment one page more would be too many."""
        return self._asked_us[0] + SECOND_US if len(self._asked_us) == self._asked_us.maxlen else 0

    def count(self, now_us: int) -> None:
        """A page is asked for."""
        self._asked_us.append(now_us)

    def fail(self) -> bool:
        """The page failed. Gives whether it is to be asked for again."""
        assert self.listing is not None
        self.listing.failures += 1
        return self.listing.failures < MOST_FAILURES

    def take(self, page: ShardPage) -> Outcome:
        """Takes a page of the listing in."""
        listing = self.listing
        assert listing is not None
        listing.failures = 0
        listing.rows += page.shards
        if page.next is not None and page.next not in listing.cursors:
            listing.cursors.add(page.next)
            listing.next = page.next
            return Outcome.GOES_ON
        if page.next is not None and self._broken < MOST_BROKEN:
            self._broken += 1
            return Outcome.BROKEN
        self._broken = 0
        return Outcome.WHOLE

    def end(self) -> Listing:
        """The listing is over, whole or not."""
        assert self.listing is not None
        listing, self.listing = self.listing, None
        return listing
