"""Caught up: whether the reader has returned all records that the service held at a moment; then an iteration ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.merge.lane import BEHIND_US
from streamiter.reading.asking import Asking
from streamiter.reading.book import Book, Stage

# Beyond `lateness`, how far creation times may run ahead of the service's clock: as far as a lane may be that is not behind,
# and what they are floored to, a second at most. Clocks that are further ahead tell nothing.
AHEAD_US = BEHIND_US + SECOND_US


@dataclass(slots=True)
class Mark:
    """A moment, and how far reading has come since."""

    serial: int  # how many calls had been made
    ticket: int  # the newest listing that had begun
    service_us: int | None = None  # a moment after it, by the service's clock
    goals: dict[str, int] | None = None  # how many records each lane is to have given, once that is known
    missing: list[str] = field(default_factory=list)  # lanes that had not come as far when they were last looked at

    def is_before(self, lane: Lane, lateness_us: int) -> bool:
        """Whether the lane's newest fetched record was written after the mark.

        A busy shard may never have an empty page. Then only creation times tell; but one that is far ahead of the service's
        clock says nothing about how far the lane has come.
        """
        ahead_us = AHEAD_US + lateness_us
        newest_us = lane.newest_us
        return newest_us is not None and (self.service_us or 0) + ahead_us < newest_us <= lane.service_us + ahead_us

    def is_met(self, lanes: Mapping[str, Lane]) -> bool:
        """Whether each lane has returned all the records that it held when every lane was beyond the mark."""
        found = ((lanes.get(shard_id), goal) for shard_id, goal in (self.goals or {}).items())
        return all(lane is None or lane.given >= goal for lane, goal in found)


def begin(book: Book, asking: Asking, now_us: int) -> Mark:
    """Marks this moment: every lane is asked, the shards are listed."""
    asking.schedule.hasten(now_us)
    book.discovery.request()
    return Mark(asking.serial, book.discovery.begun)


def is_past(book: Book, asking: Asking, mark: Mark) -> bool:
    """Whether everything that the service held at the mark was returned."""
    if mark.goals is None:
        if not _is_fetched(book, asking, mark):
            return False
        mark.goals = {lane.shard_id: lane.given + len(lane) for lane in book.lanes.values() if len(lane)}
    return mark.is_met(book.lanes)


def _is_fetched(book: Book, asking: Asking, mark: Mark) -> bool:
    """Whether each lane has come to its tip or its end, and the shards were listed, since the mark was set."""
    discovery = book.discovery
    if book.merge.is_blocked or book.has_any(Stage.WAITING) or not discovery.has_heard_since(mark.ticket):
        return False
    if mark.service_us is None:
        mark.service_us = book.service_us
    return not discovery.is_searching and _are_beyond(book, asking, mark)


def _are_beyond(book: Book, asking: Asking, mark: Mark) -> bool:
    """Whether all lanes are beyond the mark. This is asked all the time, and looks at most lanes only once."""
    while mark.missing:
        lane = book.lanes.get(mark.missing[-1])
        if lane is not None and not _is_beyond(book, asking, lane, mark):
            return False
        mark.missing.pop()
    mark.missing = [shard_id for shard_id, lane in book.lanes.items() if not _is_beyond(book, asking, lane, mark)]
    return not mark.missing


def _is_beyond(book: Book, asking: Asking, lane: Lane, mark: Mark) -> bool:
    """Whether the lane has fetched all that the service held at the mark: it reached its tip, its end, or a newer record."""
    if lane.ended:
        return True
    if lane.is_at_tip and asking.schedule.was_answered_since(lane.shard_id, mark.serial):
        return True
    return mark.is_before(lane, book.lateness_us)
