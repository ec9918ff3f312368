"""The laws of order="total": one lease over all shards, whose records come in one order, parents first, and none twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from streamiter.app.virtual.tap import Identity, Tap, identity
from streamiter.record import Record

Mark = tuple[str, Identity]


@dataclass
class Hand:
    """One stretch of the lease in one worker's hands."""

    given: list[Mark] = field(default_factory=list)  # in the order of their first delivery
    done: set[Mark] = field(default_factory=set)
    out: set[Mark] = field(default_factory=set)  # with the function
    failed: set[Mark] = field(default_factory=set)  # they may come again
    last_key: str = ""  # the greatest order key so far


class TotalLaws:
    """Held against what one processor's function gets; `unread` tells how many of a shard's records were never read."""

    def __init__(
        self,
        tap: Tap,
        wrong: Callable[[int, str], None],
        finished: Mapping[str, set[Identity]],
        unread: Callable[[str], int],
    ) -> None:
        self._tap = tap
        self._wrong = wrong
        self._finished = finished
        self._unread = unread
        self._hand = Hand()
        self._doubted: set[Mark] = set()  # whether their commit was done, its caller was not told
        self._kept: set[Mark] = set()  # processed, and let go in good order: they must not come again

    def taken(self) -> None:
        """A worker took the lease. If the last owner did not release it, its records may come again."""
        self._hand = Hand()

    def let_go(self, worker: str) -> None:
        """The worker released the lease."""
        hand = self._hand
        if hand.out:
            self._wrong(15, f"{worker} let the lease go while {len(hand.out)} records were being processed")
        for mark in hand.given:
            if mark not in hand.done:
                break
            self._kept.add(mark)

    def delivered(self, worker: str, records: Sequence[Record]) -> None:
        """The function got these."""
        hand = self._hand
        for record in records:
            mark = _mark(record)
            if (mark in self._kept or mark in hand.done or mark in hand.out) and mark not in self._doubted:
                self._wrong(11, f"{worker} delivered {record!r} again, without need")
            if mark in hand.failed:
                hand.failed.discard(mark)
            else:
                hand.given.append(mark)
                self._check_order(worker, record)
                self._check_whole(worker, record)
            hand.out.add(mark)

    def done(self, records: Sequence[Record]) -> None:
        """The worker is done with these."""
        for record in records:
            self._hand.done.add(_mark(record))
            self._hand.out.discard(_mark(record))

    def failed(self, records: Sequence[Record]) -> None:
        """It failed on these, or gave them back."""
        marks = set(map(_mark, records))
        self._hand.out -= marks
        self._hand.failed |= marks

    def doubted(self, records: Sequence[Record]) -> None:
        """They may come again, to be refused."""
        self._doubted.update(map(_mark, records))

    def _check_whole(self, worker: str, record: Record) -> None:
        """The one before it in its shard is processed or given up, or was handed over here."""
        hand, before = self._hand, self._tap.before(record)
        mark = (record.shard_id, before)
        if before is None or before in self._finished.get(record.shard_id, ()):
            return
        if mark not in hand.done and mark not in hand.out and mark not in hand.failed:
            self._wrong(11, f"{worker} delivered {record!r}, and nobody processed the one before it")

    def _check_order(self, worker: str, record: Record) -> None:
        hand, shard = self._hand, self._tap.shards.get(record.shard_id)
        if not record.late:
            if record.order_key < hand.last_key:
                self._wrong(12, f"{worker} delivered {record!r} behind one that is later than it")
            hand.last_key = record.order_key
        for parent in () if shard is None else shard.parents:
            seen, finished = self._tap.seen.get(parent, {}), self._finished.get(parent, set())
            left = [told for told in seen if told not in finished and (parent, told) not in hand.out]
            if left or self._unread(parent):
                self._wrong(10, f"{worker} delivered {record!r} before all of its parent {parent}")


def _mark(record: Record) -> Mark:
    return record.shard_id, identity(record)
