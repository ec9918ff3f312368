"""Probes: without AT_TIMESTAMP, whole shards are passed over when the first record of a child shows that they are old.

A shard's records were written before its child existed. So if the child's first record is older than the time that the caller
asked for, by more than clocks can disagree, the parent holds nothing that the caller wants, and is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from streamiter.clock import SECOND_US
from streamiter.merge import NEVER, Lane
from streamiter.position import AtTime, Horizon, Position, openable
from streamiter.reading.asking import Asking
from streamiter.reading.book import Book, Entry, Stage
from streamiter.record import Record

SKEW_US = 3600 * SECOND_US  # how far creation times may disagree between a shard and its child, far above what is seen
MOST_EMPTIES = 16  # empty pages of a child before its parent is read after all


class Verdict(NamedTuple):
    """What a probe showed."""

    parents: Sequence[str]
    are_old: bool


def open_at(book: Book, asking: Asking, lane: Lane) -> Position | None:
    """Where to open the lane, in a way that the service knows; None if the lane waits for a probe."""
    position = lane.fetch_position
    if book.refuses_time and isinstance(position, AtTime) and _begin(book, asking, lane):
        return None
    return openable(position, book.service_us, refuses_time=book.refuses_time)


def judge(
    book: Book, asking: Asking, entry: Entry, records: Sequence[Record], now_us: int, *, ended: bool
) -> Verdict | None:
    """The verdict that a page of a probe gives; None if it takes more pages."""
    lane = entry.read
    if not records and not ended and lane.empties < MOST_EMPTIES:
        lane.push(records, lane.service_us)
        asking.schedule.due_at(entry.shard_id, now_us)
        return None
    parents, entry.probed_for, entry.errand = entry.probed_for, (), None
    entry.is_open = False
    asking.schedule.wait(entry.shard_id)
    for parent in parents:
        book[parent].is_judged = True
    created_us, start_us = records[0].created_us if records else None, book.token.start
    return Verdict(parents, created_us is not None and start_us is not None and created_us < start_us - SKEW_US)


def _begin(book: Book, asking: Asking, lane: Lane) -> bool:
    """Whether a child of the lane is probed now, so that the lane has to wait."""
    if book[lane.shard_id].lane is not lane:
        return False  # An errand reads the whole shard: it looks for order times, and those of old records count, too.
    children = book.lineage.children(lane.shard_id)
    if not (lane.closed and children) or lane.skip_before_us is None or lane.last_us is not None:
        return False
    if book[lane.shard_id].is_judged or any(book.stage(child) is not Stage.UNREAD for child in children):
        return False
    probe = book[children[0]]
    asking.schedule.wait(lane.shard_id)
    probe.probed_for = (*probe.probed_for, lane.shard_id)
    if probe.errand is None:
        probe.errand = Lane(probe.shard_id, book.lineage.rank(probe.shard_id), Horizon(), closed=True)
        asking.schedule.due_at(probe.shard_id, NEVER)  # at once
    return True
