"""The pipeline of one lease: records fetched, delivered, acked; and the checkpoint that follows from what was acked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from streamiter.lease.ways import Done, InOrder, Order, SideBySide
from streamiter.lease.wishes import Entries, Entry, Given, Rows


class Pipeline:
    """Records in the order in which the source gave them. Nothing is delivered twice, but what was given back."""

    def __init__(self, checkpoint: str, order: Order) -> None:
        self.fetched = checkpoint  # the place of the last record that was fetched
        self.gap: str | None = None  # why nothing is delivered: records may be lost
        self.quarantine: str | None = None  # ... or a record cannot be processed
        self.is_fetching = False
        self.is_ended = False  # the shard's last page came
        # The shard's tip as of this moment, in service time, is what all acked records come to.
        self.tip_us: int | None = None
        self.is_let_go = False  # nothing more of it is delivered here, but to fill holes
        self.done = 0  # so many records are in the acked prefix
        self._sent = 0  # ... and were, when the checkpoint was last sent
        self._ways = SideBySide(order) if order.by_key else InOrder(order)
        self._buffer = order.buffer
        self.is_by_hand = order.by_hand
        self.is_through = self._has_parted = not order.by_hand  # with the shard, with the lease: the processor says so
        self._acked = checkpoint  # the place of the last record of the acked prefix
        self._known = checkpoint
        self.order_us: int | None = None  # the order time of the record before the checkpoint
        # Tells the place of the last record of the acked prefix.
        self._latest: Callable[[bool], str | None] | None = None
        self._next = 0
        self._tips: deque[tuple[int, int]] = deque()  # so many records before the tip, and its moment
        self.was_promised = False  # whether writes of the processor's own may be among those of this row
        self._promised: list[tuple[int, str]] = []  # records, and the checkpoints behind them that it may put itself
        self._committed: int | None = None  # the last record to which it did

    # -- what comes in

    def begin(self, checkpoint: str) -> bool:
        """What follows begins at this place, as its source says; gives whether all before it is processed."""
        is_start = not self._ways.held
        if is_start:
            self.fetched = self._known = checkpoint
            self._latest = None
        return is_start

    def push(self, records: Given, now_us: int = 0, tip_us: int | None = None) -> None:
        """A page: for each record its checkpoint, its group, and itself; it came to the shard's tip at `tip_us`."""
        rows = records if isinstance(records, Rows) else Rows.of(records)
        if rows.records:
            self._ways.add(Entries(self._next, rows.places, rows.records), rows.groups, now_us)
            self._next += len(rows.records)
            last = rows.places[-1]
            self.fetched = last if isinstance(last, str) else ""
        if tip_us is not None:
            self._tips.append((self._next, tip_us))
            self._pass_tips()

    def ack(self, *numbers: int) -> None:
        """These records are done. The checkpoint moves only when all before them are."""
        self.ack_all(numbers)

    def ack_all(self, numbers: Sequence[int]) -> None:
        """The same of many."""
        self._move(self._ways.ack(numbers))

    def put(self, checkpoint: str, order_us: int | None) -> None:
        """The processor keeps the checkpoint by hand, and says that it stands here."""
        self._known, self.order_us, self.tip_us = checkpoint, order_us, None

    def give_back(self, number: int, again_us: int | None = None) -> None:
        """This record was not processed: it waits in its old place, until that moment; unless its effects are committed."""
        if self._committed is not None and number <= self._committed:
            self.ack(number)
        else:
            self._ways.give_back(number, again_us)

    def let_go(self, until_us: int) -> None:
        """The lease is to be released: no more is delivered, but what fills holes in the acked records until that moment."""
        self.is_let_go = True
        self._ways.let_go(until_us)

    def keep(self) -> None:
        """The lease is kept after all."""
        self.is_let_go = False
        self._ways.let_go(None)

    def abandon(self) -> None:
        """No more is waited for: what is out counts as not processed."""
        self._has_parted = True
        self._ways.abandon()

    def promise(self, number: int, checkpoint: str) -> None:
        """The processor may move the row to this checkpoint, behind that record, in a transaction of its own.

        Any thread may call it, before it does.
        """
        self.was_promised = True
        self._promised.append((number, checkpoint))

    @property
    def promises(self) -> tuple[str, ...]:
        """The checkpoints that the processor may have put, and that are not known to stand."""
        return tuple(checkpoint for _, checkpoint in self._promised)

    def adopt(self, checkpoint: str, order_us: int | None = None) -> None:
        """The row says this, and it is not this pipeline that wrote it: what the processor committed is done."""
        for number, promised in list(self._promised):
            if promised == checkpoint:
                self._committed, self._known, self._latest = number, checkpoint, None
                self.order_us = order_us

    # -- what goes out

    def take(self, now_us: int) -> Sequence[Entry]:
        """The records that are to be delivered now; from here on they are out."""
        if self.gap is not None or self.quarantine is not None:
            return ()
        if self.is_let_go:
            return self._ways.take_holes(now_us)
        return self._ways.take(now_us, is_last=self.is_ended)

    def is_hole(self, number: int) -> bool:
        """Whether this record may be delivered though the lease is let go: others behind it are acked. Any thread may ask."""
        return self._ways.is_hole(number)

    @property
    def _has_holes(self) -> bool:
        return self.gap is None and self.quarantine is None and self._ways.has_holes

    @property
    def checkpoint(self) -> str:
        """The place of the last record of the acked prefix, or of what the processor committed beyond it (law 11)."""
        if self._latest is not None:
            self._known = self._latest(self.is_let_go and self.is_idle) or self._known
        return self._known

    @property
    def oldest(self) -> Any:
        """The first record that is not acked; None where there is none."""
        return self._ways.oldest

    @property
    def unwritten(self) -> int:
        """How many records were acked since the checkpoint was last sent."""
        return self.done - self._sent

    def sent(self) -> None:
        """The checkpoint, as it is, is on its way to the store."""
        self._sent = self.done

    @property
    def wants_page(self) -> bool:
        """Whether a page is to be fetched."""
        return not (self.is_fetching or self.is_ended or self.gap or self.quarantine) and self._ways.held < self._buffer

    @property
    def out(self) -> int:
        """How many records the processor has."""
        return self._ways.out

    @property
    def last_out(self) -> int:
        """The number of the last record that the processor has; -1 where it has none."""
        return self._ways.last_out

    def is_past(self, number: int) -> bool:
        """Whether the processor has no record up to this number."""
        return self._ways.is_past(number)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is out, or has to go out first; the processor has ended, too, where it is to say so."""
        return self._ways.out == 0 and self._has_parted and not self._has_holes

    @property
    def is_read(self) -> bool:
        """Whether the shard was read to its end, and every record acked."""
        return self.is_ended and not self._ways.held and self.gap is None and self.quarantine is None

    @property
    def is_done(self) -> bool:
        """Whether all is done that there is to do with the shard."""
        return self.is_read and self.is_through

    def again_us(self, now_us: int) -> int | None:
        """When more can be delivered, though nothing happens until then."""
        return self._ways.again_us(now_us)

    # -- inside

    def _move(self, done: Done) -> None:
        last = done.last
        if last is None:
            return
        self.done += done.number
        if self._promised:
            self._promised = [promise for promise in self._promised if promise[0] > last.number]
        if self._committed is not None and self._committed > last.number:
            return  # what is committed lies beyond it
        self._committed = None
        self.tip_us = None  # it lies before these records
        if self._latest is not None:  # the new place may be one that cannot be told: then this one still stands
            self._known = self._latest(False) or self._known
        if self.is_by_hand:
            assert isinstance(last.place, str)
            self._acked = last.place
        elif isinstance(last.place, str):
            self._known, self._latest = last.place, None
            self.order_us = last.order_us
        else:
            self._latest = last.place
        self._pass_tips()

    def _pass_tips(self) -> None:
        while self._tips and self._tips[0][0] <= self.done:
            tip_us = self._tips.popleft()[1]
            if not self.is_by_hand or self._acked == self._known:
                self.tip_us = tip_us
