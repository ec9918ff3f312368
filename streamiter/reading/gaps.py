"""Gaps: places in a shard where records may be lost; a gap stands until the caller accepts it (law 5).

While a gap stands, its lane is not asked. The gap comes after the lane's waiting records, and before all that sorts after them.
"""

from __future__ import annotations

from collections.abc import Callable

from streamiter.merge import Lane
from streamiter.position import AtTime, Horizon, Position
from streamiter.reading.asking import Asking
from streamiter.reading.book import Book

TOO_OLD = "its start is older than what the service holds"
TRIMMED = "the service has trimmed what comes next"
REMOVED = "the service has removed the shard"
MADE_ANEW = "the log was deleted and made again: what was read is of the one before"
CHILDREN_MISSED = "no child of it was listed in all the time that the service holds records"


def was_read(lane: Lane) -> bool:
    """Whether a record of the shard or of an ancestor was read: only then is it a gap that the service removed the shard."""
    return lane.last_us is not None or lane.place is not None


def way_on(lane: Lane, service_us: int | None, is_stale: Callable[[Position], bool]) -> Position | None:
    """Where a lane goes on after the service has trimmed its place, if nothing can be lost; None: what comes next may be.

    `is_stale` tells whether records that were held when a position was chosen may be gone by now.
    """
    position = lane.fetch_position
    if isinstance(position, Horizon | AtTime) and not is_stale(position):
        return position  # Nothing was read of it yet, and its start is held still: the horizon only moved on.
    if len(lane) or lane.read_up_to_us is None or is_stale(AtTime(lane.read_up_to_us)):
        return None
    if lane.emitted_us is not None and lane.emitted_us >= lane.read_up_to_us:
        return None
    # All up to its tip was read, minutes ago at most; only the last record is old.
    return AtTime(lane.read_up_to_us, service_us)


def stand(book: Book, asking: Asking, lane: Lane, reason: str) -> None:
    """Records of the lane that come next may be lost."""
    lane.gap = reason
    book.gaps.add(lane.shard_id)
    asking.schedule.wait(lane.shard_id)
    book[lane.shard_id].is_open = False  # what the iterator gives is behind the gap


def stand_if_stale(book: Book, asking: Asking, lane: Lane) -> bool:
    """A gap stands if opening the lane would hide one; returns whether it does."""
    is_stale = book.is_stale(lane.fetch_position)
    if is_stale:
        stand(book, asking, lane, TOO_OLD)
    return is_stale


def stand_if_trimmed(book: Book, asking: Asking, lane: Lane) -> bool:
    """The service trimmed the lane's place: a gap stands, unless no record can be lost. Returns whether one stands."""
    again = way_on(lane, book.service_us, book.is_stale)
    if again is None:
        stand(book, asking, lane, TRIMMED)
    elif again == lane.fetch_position:
        lane.reopen()
    else:
        lane.restart(again)
        book.merge.update(lane)
    return again is None


def next_gap(book: Book) -> Lane | None:
    """The lane whose gap stands before everything that could come out next; None where records come first."""
    if not book.gaps:
        return None
    standing = [lane for shard_id in sorted(book.gaps) if not len(lane := book.lanes[shard_id])]
    if not standing or book.merge.is_blocked:
        return None
    if not book.holds:
        return next((lane for lane in standing if _is_first_below(book, lane.shard_id)), None)
    least = book.merge.least_bound
    if least is None or book.merge.peek() is not None:
        return None
    return next((lane for lane in standing if lane.shard_id == least[1]), None)


def _is_first_below(book: Book, shard_id: str) -> bool:
    """Whether all its ancestors were returned whole."""
    above = (book.lanes.get(ancestor) for ancestor in book.lineage.ancestors(shard_id))
    return all(lane is None or lane.is_drained for lane in above)
