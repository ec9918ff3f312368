"""The holdings: the leases in this worker's hands: taken, renewed, read, completed, let go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamiter.lease.floors import begun
from streamiter.lease.hold import RENEWED, Attempt, Hold, Stage, Work
from streamiter.lease.lease import CHILDREN, END, GAP, ORDER, PROMISED, QUARANTINE, RELEASE, SINCE, START, TIP, Lease
from streamiter.lease.ledger import Ledger
from streamiter.lease.timers import Timer
from streamiter.lease.ways import Order
from streamiter.lease.wishes import Begin, Came, Deliver, Drain, Fetch, Given, Stop, WriteLease
from streamiter.shard import Shard


class Holdings:
    """Every hold of this worker. One write of a row is under way at a time; what it does next follows from the answer."""

    def __init__(
        self,
        ledger: Ledger,
        order: Order,
        *,
        on_end: Callable[[Hold, int], None],
        on_free: Callable[[Hold, str | None, int], None],
    ) -> None:
        self._ledger = ledger
        self._order = order
        self._on_end = on_end  # called when every record of a shard is acked
        self._on_free = on_free  # called when what hung is done; with the worker that had asked for the lease
        self.holds: dict[str, Hold] = {}
        self.shunned_us: dict[str, int] = {}  # until when we leave a lease alone that an operator asked us to let go
        self.is_leaving = False

    # -- questions

    @property
    def stuck(self) -> set[str]:
        """Leases that could not be handed over: a record hangs."""
        return {key for key, hold in self.holds.items() if hold.hung is not None}

    def may_deliver(self, key: str, fence: int, now_us: int, number: int | None = None) -> bool:
        """Whether records of this lease, or this one, may be handed over at this very moment (law 9)."""
        hold = self.at(key, fence)
        return hold is not None and hold.may_deliver(number) and hold.is_valid(now_us, self._ledger.pace)

    def deadline_us(self, key: str, fence: int) -> int:
        """Until when no other worker can have the lease; 0 where it is ours no more."""
        hold = self.at(key, fence)
        return 0 if hold is None or hold.valid_from_us is None else hold.valid_from_us + self._ledger.pace.valid_us

    # -- taking and renewing

    def take(self, key: str, now_us: int) -> None:
        """Tries to take a lease: the fence rises."""
        lease = begun(self._ledger.leases[key], self._ledger.leases)
        hold = self.holds[key] = Hold(lease, self._order)
        taken = lease.at_rest(**{PROMISED: None, RELEASE: None, SINCE: self._ledger.wall_seconds(now_us)})
        self._send(hold, taken._replace(owner=self._ledger.me, fence=lease.fence + 1), now_us)

    def renew_all(self, now_us: int) -> None:
        """A round of renewals; each carries the checkpoint as it is by now."""
        for hold in self.holds.values():
            since_us = -self._ledger.pace.failover_us if hold.valid_from_us is None else hold.valid_from_us
            if hold.stage in RENEWED and hold.attempt is None and now_us - since_us >= self._ledger.pace.young_us:
                self._send(hold, hold.as_it_is, now_us)

    def retry(self, key: str, now_us: int) -> None:
        """Sends a write once more whose outcome is not known: the same, so that it is recognised if it had happened."""
        hold = self.holds.get(key)
        if hold is not None and hold.attempt is not None:
            attempt = hold.attempt
            wish = self._ledger.wish_write(attempt.wish.lease, attempt.wish.expected)
            hold.attempt = Attempt(wish, now_us, attempt.first_us, attempt.tries + 1)

    # -- answers

    def is_answer(self, wish: WriteLease) -> bool:
        """Whether this is the write that a hold waits for."""
        hold = self.holds.get(wish.lease.key)
        return hold is not None and hold.attempt is not None and hold.attempt.wish.ticket == wish.ticket

    def written(self, key: str, lease: Lease, now_us: int) -> None:
        """The write was done: it is valid from the moment before it was sent."""
        hold = self.holds[key]
        assert hold.attempt is not None
        self._confirm(hold, lease, hold.attempt.sent_us, now_us)

    def refused(self, key: str, standing: Lease | None, now_us: int) -> None:
        """Another row stands. If it is ours, an answer was lost, or an operator wrote to it; else the lease is."""
        hold = self.holds[key]
        attempt = hold.attempt
        assert attempt is not None
        # Where the processor writes the row, too, this may be its write, from before ours was sent: it is older.
        is_certain = not hold.pipeline.was_promised
        if standing is not None and standing.says_same(attempt.wish.lease) and is_certain:
            self._confirm(hold, standing, attempt.first_us, now_us)
        elif hold.is_mine(standing, self._ledger.me):
            assert standing is not None
            hold.attempt = None
            self._adopt(hold, standing)
            self._ledger.timers.cancel(Timer.RETRY, key)
            self._go_on_writing(hold, attempt.wish.lease, now_us)
        else:
            self._drop(hold, "lost")

    def failed(self, key: str, now_us: int) -> None:
        """Nobody knows whether the write was done: it is tried again, a little later each time."""
        attempt = self.holds[key].attempt
        assert attempt is not None
        self._ledger.timers.set(Timer.RETRY, now_us + self._ledger.pace.retry_us * min(attempt.tries, 4), key)

    def seen(self, lease: Lease, now_us: int, since_us: int | None = None) -> None:
        """A scan shows this row, of a lease in our hands, as it stands. Its processor wrote it, if told, from `since_us` on."""
        hold = self.holds.get(lease.key)
        if hold is None or lease.version <= hold.lease.version:
            return
        if not hold.is_mine(lease, self._ledger.me):
            if hold.stage in RENEWED:  # the other writes are answered for themselves
                self._drop(hold, "lost")
            return
        if since_us is not None and hold.valid_from_us is not None:
            hold.valid_from_us = max(hold.valid_from_us, since_us)  # as good as a renewal
        if hold.attempt is not None:
            hold.pipeline.adopt(lease.checkpoint, lease.progress.get(ORDER))
        else:
            self._adopt(hold, lease)
            self._heed_operator(hold, now_us)

    # -- records

    def paged(self, key: str, fence: int, came: Came, now_us: int) -> None:
        """A page came; the next one is asked for when there is room, but not before that moment."""
        hold = self.at(key, fence)
        if hold is not None:
            if came.start is not None and hold.pipeline.begin(came.start):
                self.checkpoint(key, now_us)
            hold.pipeline.push(came.records, now_us, came.tip_us)
            if came.again_us is None:
                hold.pipeline.is_fetching = False
            else:
                self._ledger.timers.set(Timer.FETCH, came.again_us, key)
            self.pump(hold, now_us)

    def ended(self, key: str, fence: int, records: Given, children: tuple[Shard, ...], now_us: int) -> None:
        """The last page came, and what it says of the shard's children."""
        hold = self.at(key, fence)
        if hold is not None:
            hold.pipeline.push(records, now_us)
            hold.pipeline.is_fetching, hold.pipeline.is_ended = False, True
            hold.told_children = children
            self.pump(hold, now_us)

    def fetch_at(self, key: str, fence: int, again_us: int) -> None:
        """The lease rests: its next page is asked for at that moment."""
        if self.at(key, fence) is not None:
            self._ledger.timers.set(Timer.FETCH, again_us, key)

    def found_gap(self, key: str, fence: int, why: str, now_us: int) -> None:
        """Given behind the checkpoint may be lost: the lease says so, and nothing more of it is delivered (law 11)."""
        hold = self.at(key, fence)
        if hold is not None:
            hold.pipeline.is_fetching, hold.pipeline.gap = False, why
            if hold.attempt is None and hold.stage in RENEWED:
                self._send(hold, hold.as_it_is, now_us)

    def accept_gap(self, key: str, now_us: int) -> None:
        """What may be lost is given up: the lease is read on from what the service still holds."""
        hold = self.holds.get(key)
        if hold is not None and hold.pipeline.gap is not None:
            hold.pipeline.gap, hold.pipeline.fetched = None, START
            self.go_on(hold, now_us)

    def fetch_again(self, key: str, now_us: int) -> None:
        """The pause after a page is over."""
        hold = self.holds.get(key)
        if hold is not None:
            hold.pipeline.is_fetching = False
            self.pump(hold, now_us)

    def acked(self, key: str, fence: int, numbers: Sequence[int], now_us: int) -> None:
        """The processor is done with these records."""
        hold = self.at(key, fence)
        if hold is not None:
            hold.pipeline.ack_all(numbers)
            self.go_on(hold, now_us)
            self._plan_checkpoint(hold, now_us)

    def promised(self, key: str, fence: int, number: int, checkpoint: str) -> None:
        """The row's checkpoint may come to be this record's by a write that is not ours, but the processor's."""
        hold = self.at(key, fence)
        if hold is not None:
            hold.pipeline.promise(number, checkpoint)

    def describe(self, key: str, fence: int, work: Work) -> None:
        """What the work is like; it stands in the row from its next write on."""
        hold = self.at(key, fence)
        if hold is not None:
            hold.told = work(hold.pipeline.done, hold.pipeline.oldest)

    def promises(self, key: str, fence: int) -> tuple[str, ...]:
        """The checkpoints that the processor may have put."""
        hold = self.at(key, fence)
        return () if hold is None else hold.pipeline.promises

    def checkpoint(self, key: str, now_us: int) -> None:
        """Writes a checkpoint that moved; one write is under way at a time."""
        hold = self.holds.get(key)
        if hold is not None and hold.attempt is None and hold.stage in RENEWED and self._has_moved(hold):
            self._send(hold, hold.as_it_is, now_us)

    def quarantine(self, key: str, fence: int, why: str, now_us: int) -> None:
        """A record cannot be processed: the lease says so, and nothing more of it is delivered."""
        hold = self.at(key, fence)
        if hold is not None:
            hold.pipeline.quarantine = why
            if hold.attempt is None and hold.stage in RENEWED:
                self._send(hold, hold.as_it_is, now_us)

    def given_back(self, key: str, fence: int, numbers: list[int], again_us: int | None, now_us: int) -> None:
        """The processor did not take these records: they wait in their places, until that moment if one is given."""
        hold = self.at(key, fence)
        if hold is not None:
            for number in numbers:
                hold.pipeline.give_back(number, again_us)
            if again_us is not None:
                self._ledger.timers.set(Timer.AGAIN, again_us, key)
            self.go_on(hold, now_us)

    def pump_again(self, key: str, now_us: int) -> None:
        """A pause is over: what failed is delivered again."""
        hold = self.holds.get(key)
        if hold is not None:
            self.go_on(hold, now_us)

    def pump(self, hold: Hold, now_us: int) -> None:
        """Delivers what may be delivered, and asks for more."""
        if hold.stage not in (Stage.HELD, Stage.DRAINING):
            return
        if hold.is_valid(now_us, self._ledger.pace) and (entries := hold.pipeline.take(now_us)):
            self._ledger.wishes.append(Deliver(hold.key, hold.lease.fence, entries))
        if hold.stage is Stage.HELD and hold.pipeline.wants_page:
            self._fetch(hold)
        if hold.stage is Stage.HELD and hold.pipeline.is_done:
            hold.move(Stage.ENDING)
            self._on_end(hold, now_us)
        elif (again_us := hold.pipeline.again_us(now_us)) is not None:
            self._ledger.timers.set(Timer.AGAIN, again_us, hold.key)

    # -- letting go

    def drain(self, key: str, taker: str | None, now_us: int) -> None:
        """Lets a lease go: what is out may finish, then it is released, to the worker that asked for it."""
        hold = self.holds[key]
        if hold.stage in (Stage.HELD, Stage.ENDING):
            hold.move(Stage.DRAINING)
            hold.pipeline.let_go(now_us + self._ledger.pace.filling_us)
            self._ledger.wishes.append(Drain(key, hold.lease.fence))
            hold.promised = taker
            self._ledger.timers.set(Timer.GRACE, now_us + self._ledger.pace.grace_us, key)
            self.go_on(hold, now_us)

    def leave(self, now_us: int) -> None:
        """Lets everything go (law 15)."""
        self.is_leaving = True
        for key, hold in list(self.holds.items()):
            hold.promised = None
            self._ledger.timers.set(Timer.GRACE, now_us + self._ledger.pace.grace_us, key)
            self.drain(key, None, now_us)

    def give_up_waiting(self, key: str, now_us: int) -> None:
        """What is out had time enough. When we leave, it comes again elsewhere; else we keep the lease."""
        hold = self.holds.get(key)
        if hold is None or hold.stage is not Stage.DRAINING:
            return
        is_by_hand = hold.pipeline.is_by_hand
        if self.is_leaving or (is_by_hand and not hold.pipeline.out):
            hold.pipeline.abandon()
        elif is_by_hand:  # once its processor is through with what it has, it parts with the lease
            self._ledger.timers.set(Timer.GRACE, now_us + self._ledger.pace.grace_us, key)
        elif not hold.pipeline.is_idle:  # else it waits for the store alone
            hold.hang()
        self.go_on(hold, now_us)

    def complete(self, key: str, children: list[str], now_us: int) -> None:
        """Its children's leases stand: now the shard is done (law 10)."""
        hold = self.holds[key]
        if hold.attempt is None:
            hold.move(Stage.COMPLETING)
            told = {**hold.told, ORDER: hold.pipeline.order_us}
            done = hold.lease.noting(**told).at_rest(**{CHILDREN: children or None})
            self._send(hold, done._replace(owner=None, completed=True, checkpoint=END), now_us)

    # -- inside

    def at(self, key: str, fence: int) -> Hold | None:
        """The hold that an event belongs to: a later one of the same lease has another fence."""
        hold = self.holds.get(key)
        is_same = hold is not None and hold.lease.fence == fence and hold.stage is not Stage.TAKING
        return hold if is_same else None

    def _send(self, hold: Hold, lease: Lease, now_us: int) -> None:
        wish = self._ledger.wish_write(lease, hold.lease.version)
        hold.pipeline.sent()
        hold.attempt = Attempt(wish, now_us, now_us)

    def _adopt(self, hold: Hold, standing: Lease) -> None:
        """The row is ours, but others wrote to it: an operator, or the processor in a transaction of its own."""
        hold.lease = standing
        hold.pipeline.adopt(standing.checkpoint, standing.progress.get(ORDER))

    def _has_moved(self, hold: Hold) -> bool:
        return hold.pipeline.checkpoint != hold.lease.checkpoint

    def _plan_checkpoint(self, hold: Hold, now_us: int) -> None:
        if hold.key not in self.holds or hold.stage not in RENEWED or hold.valid_from_us is None:
            return
        if hold.pipeline.is_by_hand or hold.pipeline.unwritten >= self._ledger.pace.checkpoint_records:
            self.checkpoint(hold.key, now_us)
        if hold.pipeline.unwritten:
            due_us = max(now_us, hold.valid_from_us + self._ledger.pace.checkpoint_us)
            self._ledger.timers.set(Timer.CHECKPOINT, due_us, hold.key)

    def _confirm(self, hold: Hold, lease: Lease, sent_us: int, now_us: int) -> None:
        self._ledger.timers.cancel(Timer.RETRY, hold.key)
        hold.attempt, hold.lease, hold.valid_from_us = None, lease, sent_us
        if hold.stage is Stage.TAKING:
            self._begin(hold, now_us)
        elif hold.stage is Stage.RELEASING:
            self._drop(hold, "released")
        elif hold.stage is Stage.COMPLETING:
            self._drop(hold, "completed")
        else:
            self._heed_operator(hold, now_us)
            self.go_on(hold, now_us)
            self._plan_checkpoint(hold, now_us)

    def _begin(self, hold: Hold, now_us: int) -> None:
        hold.move(Stage.HELD)
        if self.is_leaving:
            hold.pipeline.abandon()  # its processor is not told of it
            self.drain(hold.key, None, now_us)
            return
        progress = hold.lease.progress
        hold.pipeline.gap, hold.pipeline.quarantine = progress.get(GAP), progress.get(QUARANTINE)
        hold.pipeline.tip_us = progress.get(TIP)
        self._ledger.wishes.append(Begin(hold.lease))
        hold.is_begun = True
        if hold.pipeline.wants_page:
            self._fetch(hold)

    def _fetch(self, hold: Hold) -> None:
        hold.pipeline.is_fetching = True
        self._ledger.wishes.append(Fetch(hold.key, hold.lease.fence, hold.pipeline.fetched))

    def go_on(self, hold: Hold, now_us: int) -> None:
        """What a hold does once a write is answered, or a record is acked."""
        if hold.hung is not None and hold.pipeline.is_past(hold.hung.last):
            taker, hold.hung = hold.hung.taker, None
            self._on_free(hold, taker, now_us)
        if hold.stage is Stage.HELD:
            self.pump(hold, now_us)
        elif hold.stage is Stage.ENDING:
            self._on_end(hold, now_us)
        elif hold.stage is Stage.DRAINING:
            self.pump(hold, now_us)  # it may have holes to fill
            if not hold.pipeline.is_idle or hold.attempt is not None:
                return
            hold.move(Stage.RELEASING)
            self._send(hold, hold.as_it_is.at_rest(**{PROMISED: hold.promised})._replace(owner=None), now_us)

    def _go_on_writing(self, hold: Hold, wanted: Lease, now_us: int) -> None:
        """The row is ours, at a version that we did not know: the write follows that one."""
        if hold.stage in RENEWED:
            self._heed_operator(hold, now_us)
            if hold.attempt is None and hold.stage in RENEWED:
                self._send(hold, hold.as_it_is, now_us)
        elif hold.stage is Stage.TAKING:
            self._send(hold, hold.lease, now_us)
        else:
            place = END if wanted.completed else hold.pipeline.checkpoint
            wanted = wanted.noting(**{ORDER: hold.pipeline.order_us})
            self._send(hold, wanted._replace(checkpoint=place), now_us)

    def _heed_operator(self, hold: Hold, now_us: int) -> None:
        if hold.lease.progress.get(RELEASE) and hold.stage is Stage.HELD:
            self.shunned_us[hold.key] = now_us + self._ledger.pace.failover_us
            hold.pipeline.quarantine = None
            self.drain(hold.key, None, now_us)

    def _drop(self, hold: Hold, why: str) -> None:
        del self.holds[hold.key]
        for timer in (Timer.RETRY, Timer.GRACE, Timer.FETCH, Timer.AGAIN, Timer.CHECKPOINT):
            self._ledger.timers.cancel(timer, hold.key)
        if hold.is_begun:
            self._ledger.wishes.append(Stop(hold.key, hold.lease.fence, why))
