"""The engine: what one worker does next, purely: events in, wishes out, time handed in.

The runtime takes the wishes, does them, and says what came of each, with the time of its clock when the answer came. It calls
`tick` when `due_us` has come. Nothing here calls, waits, or looks at a clock; docs/leases.md tells why it is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamiter.lease.byhand import ByHand
from streamiter.lease.dealing import Dealing
from streamiter.lease.hold import Hold, Stage, Work
from streamiter.lease.holdings import Holdings
from streamiter.lease.lease import START, TOTAL, Lease, Worker
from streamiter.lease.ledger import Ledger
from streamiter.lease.members import Members
from streamiter.lease.pace import Pace
from streamiter.lease.shards import Shards
from streamiter.lease.timers import Timer
from streamiter.lease.ways import Order
from streamiter.lease.wishes import Came, Given, Leave, ListShards, Look, Wish, WriteLease, WriteWorker
from streamiter.shard import Shard


class Engine:
    """One worker of one processor. `shards` is None for order="total": then there is one lease, and nothing is listed."""

    def __init__(
        self,
        worker_id: str,
        now_us: int,
        *,
        shards: Shards | None,
        start: str = START,
        pace: Pace | None = None,
        order: Order | None = None,
        wall_us: int | None = None,
    ) -> None:
        """`now_us` is the worker's own clock, which never stops; `wall_us` the same moment since 1970, for people to read."""
        self._ledger = Ledger(worker_id, pace or Pace(), None if wall_us is None else wall_us - now_us)
        self._members = Members(self._ledger)
        self._shards = shards
        self._start = start  # of the one lease of order="total"; other leases start as `shards` says
        self._holdings = Holdings(
            self._ledger, order or Order(), on_end=self._shard_ended, on_free=self._no_longer_hangs
        )
        self._dealing = Dealing(self._ledger, self._members, self._holdings)
        self.by_hand = ByHand(self._holdings, self._ledger)
        self._creating: set[str] = set()
        self._look_begun_us: int | None = None
        self._is_listing = self._has_left = False
        self._members.beat(now_us)
        self._ledger.timers.set(Timer.RENEW, now_us + self._ledger.pace.renew_us)
        self._look(now_us)

    # -- what the runtime asks

    def take_wishes(self) -> list[Wish]:
        """What is to be done, in this order; each wish is given once."""
        wishes, self._ledger.wishes = self._ledger.wishes, []
        return wishes

    @property
    def due_us(self) -> int | None:
        """When `tick` is to be called next."""
        return self._ledger.timers.next_us

    def may_deliver(self, key: str, fence: int, now_us: int, number: int | None = None) -> bool:
        """Whether records of this lease, or the one of this number, may be handed over now: asked right before (law 9)."""
        return self._holdings.may_deliver(key, fence, now_us, number)

    @property
    def held(self) -> dict[str, Lease]:
        """The leases in this worker's hands."""
        return {key: hold.lease for key, hold in self._holdings.holds.items()}

    def owned(self, key: str, now_us: int) -> Lease | None:
        """A lease as it was last told, if a worker has it that renews it."""
        return self._ledger.owned(key, now_us)

    # -- leases and workers

    def looked(self, leases: Iterable[Lease], workers: Iterable[Worker], now_us: int) -> None:
        """All leases and workers, as `Look` wished."""
        assert self._look_begun_us is not None
        begun_us, self._look_begun_us = self._look_begun_us, None
        self._ledger.see_all(leases, begun_us, now_us)
        self._members.see_all(workers, now_us)
        for key in [key for key in self._holdings.holds if key in self._ledger.leases]:
            self._holdings.seen(self._ledger.leases[key], now_us)
        self._create_total(now_us)
        if self._members.is_first:
            self._create(now_us)
        self._rebalance(now_us)
        self._plan_listing(now_us)
        self._check_left()

    def look_failed(self, now_us: int) -> None:
        """They could not be had: it is looked again soon."""
        self._look_begun_us = None
        self._ledger.timers.set(Timer.LOOK, now_us + self._ledger.pace.retry_us)

    def written(self, wish: WriteLease | WriteWorker, version: int, now_us: int) -> None:
        """A write was done, and left this version."""
        if isinstance(wish, WriteWorker):
            was_known = self._members.is_known
            self._members.written(wish, version, now_us)
            if not was_known:
                self._rebalance(now_us)
            self._check_left()
            return
        lease = wish.lease._replace(version=version)
        self._tell(lease.key, lease, now_us)
        if self._holdings.is_answer(wish):
            self._holdings.written(lease.key, lease, now_us)
        self._written_or_not(wish, now_us)

    def refused(self, wish: WriteLease | WriteWorker, standing: Lease | Worker | None, now_us: int) -> None:
        """A write was refused, since this row stands (None: there is none)."""
        if isinstance(wish, WriteWorker):
            assert standing is None or isinstance(standing, Worker)
            self._members.refused(wish, standing, now_us)
            return
        assert standing is None or isinstance(standing, Lease)
        self._tell(wish.lease.key, standing, now_us)
        if self._holdings.is_answer(wish):
            self._holdings.refused(wish.lease.key, standing, now_us)
        self._written_or_not(wish, now_us)

    def failed(self, wish: WriteLease | WriteWorker, now_us: int) -> None:
        """Nobody knows what became of a write: no answer came, or the store asked for a pause."""
        if isinstance(wish, WriteWorker):
            self._members.failed(wish, now_us)
        elif self._holdings.is_answer(wish):
            self._holdings.failed(wish.lease.key, now_us)
        elif wish.expected is None:
            self._creating.discard(wish.lease.key)
            self._ledger.timers.set(Timer.LOOK, now_us + self._ledger.pace.retry_us)  # what still lacks is seen then

    # -- shards

    def shards_listed(self, shards: Iterable[Shard], service_us: int, now_us: int) -> None:
        """All shards of the stream, as `ListShards` wished; `service_us` is the service's time, by which it hints at ages."""
        assert self._shards is not None
        self._is_listing = False
        known, forgotten = self._shards.heard(shards, self._ledger.leases, service_us, now_us)
        for key in self._holdings.holds.keys() & set(known):
            self._holdings.holds[key].knows_children = True
        if self._members.is_first and self._ledger.is_whole:
            self._ledger.wish_removal(self._shards.removable(self._ledger.leases, forgotten))
        self._create(now_us)
        self._end_all(now_us)
        self._plan_listing(now_us)

    def listing_failed(self, now_us: int) -> None:
        """The shards could not be listed: it is tried again soon."""
        assert self._shards is not None
        self._is_listing = False
        self._shards.discovery.fail()
        self._ledger.timers.set(Timer.LIST, now_us + self._ledger.pace.retry_us)

    # -- records

    def paged(
        self,
        key: str,
        fence: int,
        records: Given,
        now_us: int,
        *,
        again_us: int | None = None,
        tip_us: int | None = None,
        start: str | None = None,
    ) -> None:
        """A page, as `Fetch` wished: for each record its checkpoint, its group, itself. `again_us`: rest until then.

        `tip_us`: it came to the shard's tip of this moment of the service's; `start`: the place before the records, said anew.
        """
        self._holdings.paged(key, fence, Came(records, again_us, tip_us, start), now_us)

    def ended(
        self, key: str, fence: int, now_us: int, *, records: Given = (), children: tuple[Shard, ...] = ()
    ) -> None:
        """The shard's last page, with its records, and its children where the service tells: nothing is fetched any more."""
        self._holdings.ended(key, fence, records, children, now_us)

    def fetch_at(self, key: str, fence: int, again_us: int) -> None:
        """The lease rests: its next page is asked for at that moment."""
        self._holdings.fetch_at(key, fence, again_us)

    def found_gap(self, key: str, fence: int, why: str, now_us: int) -> None:
        """The service no longer holds what follows: nothing is delivered until the gap is accepted."""
        self._holdings.found_gap(key, fence, why, now_us)

    def accept_gap(self, key: str, now_us: int) -> None:
        """Goes on behind a gap."""
        self._holdings.accept_gap(key, now_us)

    def acked(self, key: str, fence: int, numbers: Sequence[int], now_us: int) -> None:
        """The processor is done with these records."""
        self._holdings.acked(key, fence, numbers, now_us)

    def nacked(self, key: str, fence: int, numbers: Iterable[int], again_us: int, now_us: int) -> None:
        """The processor failed on these records: they are delivered again at that moment."""
        self._holdings.given_back(key, fence, list(numbers), again_us, now_us)

    def returned(self, key: str, fence: int, numbers: Iterable[int], now_us: int) -> None:
        """These were not handed over, for `may_deliver` said no."""
        self._holdings.given_back(key, fence, list(numbers), None, now_us)

    def told(self, lease: Lease, now_us: int, *, since_us: int | None = None) -> None:
        """The row of a lease in our hands, as it was just read. `since_us`: when our processor began the write that stands."""
        self._tell(lease.key, lease, now_us)
        self._holdings.seen(lease, now_us, since_us)

    def describe(self, key: str, fence: int, work: Work) -> None:
        """What the work on a lease is like, for people who read its row: it stands there from the next write on."""
        self._holdings.describe(key, fence, work)

    def deadline_us(self, key: str, fence: int) -> int:
        """Until when records of this lease may be handed over, as it stands; the past where it is ours no more."""
        return self._holdings.deadline_us(key, fence)

    def promised(self, key: str, fence: int, number: int, checkpoint: str) -> None:
        """The processor may move the checkpoint behind this record itself, in a transaction of its own (law 18)."""
        self._holdings.promised(key, fence, number, checkpoint)

    def promises(self, key: str, fence: int) -> tuple[str, ...]:
        """The checkpoints that the processor may have put itself, and that are not known to stand."""
        return self._holdings.promises(key, fence)

    def quarantine(self, key: str, fence: int, why: str, now_us: int) -> None:
        """A record cannot be processed: nothing more of this lease is delivered until an operator releases it."""
        self._holdings.quarantine(key, fence, why, now_us)

    # -- time

    def tick(self, now_us: int) -> None:
        """Does all that is due by now."""
        while (due := self._ledger.timers.pop(now_us)) is not None:
            self._do(*due, now_us)

    def look_now(self, now_us: int, *, beats: bool = False) -> None:
        """Another worker announced something: looks at once. `beats`: it is new, and is to see our row move."""
        self._look(now_us)
        if beats:
            self._members.beat(now_us)

    def leave(self, now_us: int) -> None:
        """This worker is to stop: no new deliveries; what is out may finish; then all is released (law 15)."""
        if not self._holdings.is_leaving:
            self._members.leave(now_us)
            self._holdings.leave(now_us)
            self._ledger.timers.set(Timer.GRACE, now_us + self._ledger.pace.leaving_us)
            self._check_left()

    def _do(self, timer: Timer, key: str, now_us: int) -> None:
        match timer:
            case Timer.LOOK:
                self._look(now_us)
            case Timer.RENEW:
                self._ledger.timers.set(Timer.RENEW, now_us + self._ledger.pace.renew_us)
                self._holdings.renew_all(now_us)
            case Timer.BEAT:
                self._members.beat(now_us)
            case Timer.LIST if not self._holdings.is_leaving:
                self._list(now_us)
            case Timer.STOOD_STILL if self._ledger.is_fresh(now_us):
                self._rebalance(now_us)
            case Timer.STOOD_STILL:
                self._look(now_us)
            case Timer.RETRY:
                self._holdings.retry(key, now_us)
            case Timer.FETCH:
                self._holdings.fetch_again(key, now_us)
            case Timer.AGAIN:
                self._holdings.pump_again(key, now_us)
            case Timer.CHECKPOINT:
                self._holdings.checkpoint(key, now_us)
            case Timer.GRACE if key:
                self._holdings.give_up_waiting(key, now_us)
                self._members.tell(now_us, stuck=self._holdings.stuck)
            case Timer.GRACE:
                self._go()  # the store does not answer: the others wait our leases out

    # -- inside: leases

    def _look(self, now_us: int) -> None:
        self._ledger.timers.set(Timer.LOOK, now_us + self._ledger.pace.look_us)
        if self._look_begun_us is None:
            self._look_begun_us = now_us
            self._ledger.wishes.append(Look())

    def _tell(self, key: str, standing: Lease | None, now_us: int) -> None:
        known = self._ledger.leases.get(key)
        if standing is None:
            self._ledger.forget(key)
        elif known is None or standing.version >= known.version:  # an answer may come late
            self._ledger.see(standing, now_us)

    def _written_or_not(self, wish: WriteLease, now_us: int) -> None:
        """A row is known anew: the lineage may go on, leases may be free."""
        if wish.expected is None:
            self._creating.discard(wish.lease.key)
            if not self._creating:
                self._create(now_us)
            self._end_all(now_us)
        if wish.expected is None or wish.lease.completed:
            self._rebalance(now_us)
        self._check_left()

    def _rebalance(self, now_us: int) -> None:
        self._dealing.deal(now_us)

    def _no_longer_hangs(self, hold: Hold, taker: str | None, now_us: int) -> None:
        self._dealing.offer(hold, taker, now_us)

    def _create_total(self, now_us: int) -> None:
        if self._shards is None and TOTAL not in self._ledger.leases and TOTAL not in self._creating:
            self._write_new([Lease(TOTAL, checkpoint=self._start)])

    # -- inside: shards

    def _shard_ended(self, hold: Hold, now_us: int) -> None:
        """Every record of a shard is acked: its children's leases first, then its completion (law 10)."""
        if self._shards is None:
            self._holdings.complete(hold.key, [], now_us)
            return
        if not hold.is_end_told:
            hold.is_end_told = True
            hold.knows_children = self._shards.ended(hold.key, hold.told_children, now_us)
            if hold.knows_children:
                self._create(now_us)
        self._complete(hold, now_us)
        self._plan_listing(now_us)

    def _end_all(self, now_us: int) -> None:
        for hold in list(self._holdings.holds.values()):
            if hold.stage is Stage.ENDING:
                self._complete(hold, now_us)

    def _complete(self, hold: Hold, now_us: int) -> None:
        assert self._shards is not None
        children = self._shards.children(hold.key)
        if hold.knows_children and all(child in self._ledger.leases for child in children):
            self._holdings.complete(hold.key, children, now_us)

    def _create(self, now_us: int) -> None:
        """Writes the leases that are wanted. Once they stand, their children's may be."""
        if self._shards is not None and self._ledger.is_whole and not self._holdings.is_leaving:
            self._write_new(
                lease for lease in self._shards.wanted(self._ledger.leases) if lease.key not in self._creating
            )

    def _write_new(self, leases: Iterable[Lease]) -> None:
        for lease in leases:
            self._creating.add(lease.key)
            self._ledger.wish_write(lease, None)

    def _list(self, now_us: int) -> None:
        assert self._shards is not None
        self._is_listing = True
        self._shards.begin_listing(now_us)
        self._ledger.wishes.append(ListShards())

    def _plan_listing(self, now_us: int) -> None:
        """One worker lists for all, and each whose shard has ended looks for its children."""
        if self._shards is None or self._is_listing:
            return
        ends = any(hold.stage is Stage.ENDING for hold in self._holdings.holds.values())
        due_us = self._shards.discovery.due_us()
        if due_us is None or self._holdings.is_leaving or not (self._members.is_first or ends):
            self._ledger.timers.cancel(Timer.LIST)
        else:
            self._ledger.timers.set(Timer.LIST, max(due_us, now_us))

    # -- inside: leaving

    def _check_left(self) -> None:
        if self._holdings.is_leaving and not self._holdings.holds and self._members.is_quiet:
            self._go()

    def _go(self) -> None:
        if not self._has_left:
            self._has_left = True
            self._members.bury_me()
            self._ledger.timers.clear()
            self._ledger.wishes.append(Leave())
