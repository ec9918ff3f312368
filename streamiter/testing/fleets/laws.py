"""The laws of a fleet: compares what workers deliver and write with the true rows, shards and times.

No code is shared with the engine: nothing is known here of stages, views or plans. docs/leases.md states the laws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from streamiter.app.forms import Form
from streamiter.app.held import HeldLease
from streamiter.app.processor import Processor
from streamiter.app.virtual.account import Account
from streamiter.app.virtual.given import GivenRecords, GivenShard
from streamiter.app.virtual.process import WorkerProcess
from streamiter.app.virtual.tap import Tap, identity
from streamiter.app.virtual.times import Times
from streamiter.lease.lease import ACCEPTED, END, GAP, QUARANTINE, TIP, TOTAL, Lease
from streamiter.lease.operator import OPERATOR
from streamiter.lease.pace import Pace
from streamiter.record import Record
from streamiter.testing.fleets.holding import Holding
from streamiter.testing.fleets.total import TotalLaws
from streamiter.testing.fleets.trimmed import lost_unread

_UNKNOWN = GivenShard("")


class LawBroken(AssertionError):
    """A law of fleets does not hold: which, and when; the same seed shows it again."""

    def __init__(self, law: int, what: str, moment_us: int) -> None:
        super().__init__(law, what, moment_us)
        self.law = law
        self.what = what
        self.seconds = moment_us / 1e6

    def __str__(self) -> str:
        return f"law {self.law}, at {self.seconds:.3f} s: {self.what}"


@dataclass
class Laws:
    """The laws of one processor, and the facts that they are checked against."""

    processor: Processor
    pace: Pace
    truth: GivenRecords | None  # where the shards are known, whatever was read of them
    workers: dict[str, WorkerProcess]
    leases: Callable[[], dict[str, Lease]]
    lease: Callable[[str], Lease | None]


class Observer(Account):
    """Laws 9 to 12 and 15, over one processor."""

    def __init__(self, processor: str, times: Times, tap: Tap) -> None:
        super().__init__(processor, times, tap)
        self.laws: Laws
        self.broken: list[LawBroken] = []
        self.holdings: dict[str, Holding] = {}
        self.may_abandon = False  # a function hangs longer than the grace: what it has is given up
        self.total = TotalLaws(tap, self.wrong, self.finished, self._unread)
        self.moves = 0
        self.last_change_us = 0
        self._places: dict[str, set[int]] = {}  # by shard: what is processed
        self._prefix: dict[str, int] = {}
        self._written_us: dict[str, int] = {}  # when a lease was written last
        self._doubted: dict[str, set[int]] = {}  # by shard: whether their commit was done, its caller was not told
        self._accepted: set[str] = set()  # leases at whose gap an operator had reading go on

    def wrong(self, law: int, what: str) -> None:
        """A law is broken."""
        self.broken.append(LawBroken(law, f"{self.processor}: {what}", self._times.now_us))

    # -- rows

    def wrote(self, writer: str, before: Lease | None, after: Lease | None) -> None:
        """A worker wrote a lease's row."""
        if after is None:
            assert before is not None
            if not before.completed:
                self.wrong(11, f"the lease of {before.key} was removed at {before.checkpoint}, and was not completed")
            self.last_change_us = self._times.now_us
        elif before is None:
            self._created(after)
        else:
            self._changed(writer, before, after)
        if after is not None:
            self._written_us[after.key] = self._times.now_us

    def _created(self, after: Lease) -> None:
        self.last_change_us = self._times.now_us
        if self._prefix.get(after.key):
            self.wrong(11, f"a lease was made for {after.key}, which was read before")
        if after.owner is not None or after.checkpoint[:1].isdigit():
            self.wrong(10, f"a new lease of {after.key} begins as {after}")

    def _changed(self, writer: str, before: Lease, after: Lease) -> None:
        key = after.key
        self._trust(before)
        if after.completed or (TIP in after.progress and TIP not in before.progress):  # it was read to there
            self._give_up_trimmed(before)
        elif key != TOTAL and after.checkpoint != before.checkpoint:
            self._give_up_trimmed(before, self.tap.place_of(key, after.checkpoint))
        if after.owner is not None and (after.owner, after.fence) != (before.owner, before.fence):
            self._taken(writer, before, after)
        elif writer != before.owner:
            self.wrong(9, f"{writer} wrote to the lease of {key}, which is {before.owner}'s")
        if key != TOTAL:
            self._check_checkpoint(writer, before, after)
        if before.completed:
            self.wrong(10, f"{writer} wrote to the completed lease of {key}")
        if after.completed and not before.completed:
            self._completed(after)
        if after.owner is None:
            self._let_go(writer, after)

    def _taken(self, writer: str, before: Lease, after: Lease) -> None:
        key = after.key
        if writer != after.owner:
            self.wrong(9, f"{writer} gave the lease of {key} to {after.owner}")
        if after.fence <= before.fence:
            self.wrong(9, f"the fence of {key} did not rise when {writer} took it: {before.fence}, {after.fence}")
        if before.owner is not None:
            clock = self.laws.workers[writer].clock
            waited_us = (self._times.now_us - self._written_us[key]) * clock.rate
            if waited_us < self.laws.pace.failover_us:
                self.wrong(9, f"{writer} took {key} from {before.owner} after {waited_us / 1e6:.3f} s by its own clock")
        if after.checkpoint != before.checkpoint:
            self.wrong(11, f"{writer} moved the checkpoint of {key} while taking it")
        self._check_parents(writer, key, "taken")
        self.moves += before.fence > 0
        self.last_change_us = self._times.now_us
        place = self.tap.place_of(key, after.checkpoint)
        self.holdings[key] = Holding(writer, after.fence, place, place, is_fresh=not after.checkpoint[:1].isdigit())
        self._give_up_trimmed(after)
        self.total.taken()

    def _check_checkpoint(self, writer: str, before: Lease, after: Lease) -> None:
        key = after.key
        old, new = self.tap.place_of(key, before.checkpoint), self.tap.place_of(key, after.checkpoint)
        if new < old:
            self.wrong(11, f"{writer} moved the checkpoint of {key} back from record {old} to {new}")
        if new > self._prefix.get(key, 0):
            done = self._prefix.get(key, 0)
            self.wrong(
                11, f"{writer} moved the checkpoint of {key} behind record {new}; processed are the first {done}"
            )

    def _completed(self, after: Lease) -> None:
        self.last_change_us = self._times.now_us
        truth = self.laws.truth
        if truth is None or after.key == TOTAL:
            return
        shard, prefix = truth.shards[after.key], self._prefix.get(after.key, 0)
        if not shard.is_closed or prefix < len(shard.records):
            self.wrong(
                10,
                f"{after.key} was completed with {prefix} of {len(shard.records)} records processed, closed: {shard.is_closed}",
            )
        children = truth.children(after.key)
        if children and not any(self.laws.lease(child) for child in children):
            self.wrong(10, f"{after.key} was completed, and none of its children had a lease")

    def _let_go(self, writer: str, after: Lease) -> None:
        holding = self.holdings.pop(after.key, None)
        if holding is None or self.may_abandon or self._has_waited(writer):
            return
        if after.key == TOTAL:
            self.total.let_go(writer)
            return
        if not after.completed and after.checkpoint != END:
            place = self.tap.place_of(after.key, after.checkpoint)
            if place < holding.low and holding.low > holding.given_up:
                self.wrong(
                    11, f"{writer} let {after.key} go behind record {place}, and had processed the first {holding.low}"
                )
            behind = holding.done_behind(place, self._times.now_us - self.laws.pace.filling_us * 17 // 20)
            if behind and self.laws.processor.order == "key" and after.progress.keys().isdisjoint((GAP, QUARANTINE)):
                self.wrong(11, f"{writer} let {after.key} go behind record {place}, and had processed {behind}")
        if holding.out:
            self.wrong(15, f"{writer} let {after.key} go while records {sorted(holding.out)} were being processed")

    def _trust(self, standing: Lease) -> None:
        """A checkpoint that no worker wrote is the processor's own commit: all up to it is processed (law 18)."""
        place = 0 if standing.key == TOTAL else self.tap.place_of(standing.key, standing.checkpoint)
        if place > self._prefix.get(standing.key, 0):
            seen = self.tap.seen[standing.key]
            super()._finish_places(standing.key, [told for told, number in seen.items() if number <= place])
            self._note_done(standing.key, range(1, place + 1))

    def _give_up_trimmed(self, row: Lease, upto: int | None = None) -> None:
        """Counts as done what is gone without a gap: nothing of the shard was read, or an operator gave it up."""
        truth, holding = self.laws.truth, self.holdings.get(row.key)
        shard = None if truth is None else truth.shards.get(row.key)
        is_fresh = not row.checkpoint[:1].isdigit() if holding is None else holding.is_fresh
        if truth is None or shard is None or not shard.trimmed or not is_fresh:
            return
        self._give_up(shard, lost := lost_unread(shard, row, self._accepted, truth, upto))
        if holding is not None:
            for place in range(1, lost + 1):
                holding.finish(place)
            holding.given_up = lost

    def _give_up(self, shard: GivenShard, lost: int) -> None:
        self.tap.note(shard.id, shard.records[:lost])
        super()._finish_places(shard.id, map(identity, shard.records[:lost]))
        self._note_done(shard.id, range(1, lost + 1))

    def _begun_total(self, records: Sequence[Record]) -> None:
        """In one order with all others, a shard begins: of a first one, its horizon may have moved on unread.

        Where an operator accepted a gap, all is given up that was gone when a worker went on.
        """
        shards = {} if self.laws.truth is None else self.laws.truth.shards
        if TOTAL in self._accepted:
            self._accepted.discard(TOTAL)
            for shard in shards.values():
                self._give_up(shard, shard.trimmed)
        for record in records:
            shard = shards.get(record.shard_id, _UNKNOWN)
            if shard.trimmed and not shard.parents and not self._places.get(shard.id):
                self._give_up(shard, min(shard.trimmed, self.tap.place(record) - 1))

    def _begun_behind(self, holding: Holding, row: Lease, place: int) -> None:
        """The first record that is read of it is the one behind this place."""
        if holding.is_fresh:
            self._give_up_trimmed(row, place)
            holding.is_fresh = False

    def _has_waited(self, worker: str) -> bool:
        """Whether a worker that stops has given what it was at time enough."""
        process = self.laws.workers[worker]
        if process.leaving_us is None:
            return False
        return (self._times.now_us - process.leaving_us) * process.clock.rate >= self.laws.pace.grace_us

    def _check_parents(self, worker: str, key: str, what: str) -> None:
        shard = self.tap.shards.get(key)
        for parent in () if shard is None else shard.parents:
            lease = self.laws.lease(parent)
            if lease is not None and not lease.completed:
                self.wrong(10, f"{key} was {what} by {worker} before its parent {parent} was completed")
            elif lease is None and parent in self.tap.shards and self._prefix.get(parent, 0) < self._length(parent):
                self.wrong(10, f"{key} was {what} by {worker}, and its parent {parent} was never read")

    # -- records

    def delivered(self, worker: str, lease: HeldLease, records: Sequence[Record]) -> None:
        """A function got these: laws 9, 10, 11, 12 and 15."""
        super().delivered(worker, lease, records)
        key, row = lease.key, self.laws.lease(lease.key)
        if row is None or not self._may_deliver(worker, lease, row):
            owner = None if row is None else f"{row.owner}'s (fence {row.fence})"
            self.wrong(9, f"{worker} delivered a record of {key} (fence {lease.fence}), which is {owner} by now")
            return
        places = [self.tap.place(record) for record in records]
        fills_hole = self.laws.processor.order == "key" and self.holdings[key].is_hole(places)
        if self.laws.workers[worker].leaving_us is not None and not fills_hole:
            self.wrong(15, f"{worker} delivered a record of {key} after it was told to stop")
        if key == TOTAL:
            self._begun_total(records)
            self.total.delivered(worker, records)
            return
        self._check_parents(worker, key, "delivered")
        holding = self.holdings[key]
        checkpoint = self.tap.place_of(key, row.checkpoint)
        self._begun_behind(holding, row, places[0] - 1)
        for number, (place, record) in enumerate(zip(places, records, strict=True)):
            is_known = place <= checkpoint or place in holding.done or place in holding.out
            if is_known and place not in self._doubted.get(key, ()):
                self.wrong(11, f"{worker} delivered record {place} of {key} again, without need")
            self._check_order(holding, worker, place, record, set(places[:number]))
        holding.begin(places, None if fills_hole else self._times.now_us)

    def _check_order(self, holding: Holding, worker: str, place: int, record: Record, together: set[int]) -> None:
        by_key = self.laws.processor.order == "key"
        may_be_out = self.laws.processor.handler.form is Form.EVENTS
        group = self.laws.processor.group_of(record) if by_key else None
        row = self.laws.lease(record.shard_id)
        committed = 0 if row is None else self.tap.place_of(record.shard_id, row.checkpoint)
        for earlier in range(max(holding.low, committed) + 1, place):
            if earlier in holding.done or earlier in together or (may_be_out and earlier in holding.out):
                continue
            if not by_key or (group is not None and self._group_at(record.shard_id, earlier) == group):
                self.wrong(
                    12, f"{worker} delivered record {place} of {record.shard_id} before record {earlier} was done"
                )
                return

    def _group_at(self, shard_id: str, place: int) -> object:
        if self.laws.truth is None:
            return None
        return self.laws.processor.group_of(self.laws.truth.shards[shard_id].records[place - 1])

    def done(self, worker: str, lease: HeldLease, records: Sequence[Record]) -> None:
        """A function is done with these."""
        super().done(worker, lease, records)
        holding = self._holding_of(worker, lease)
        if holding is not None and lease.key == TOTAL:
            self.total.done(records)
        elif holding is not None:
            for record in records:
                holding.finish(self.tap.place(record))

    def failed(self, worker: str, lease: HeldLease, records: Sequence[Record], error: BaseException | None) -> None:
        """A function failed on these: they may come again."""
        super().failed(worker, lease, records, error)
        holding = self._holding_of(worker, lease)
        if holding is not None and lease.key == TOTAL:
            self.total.failed(records)
        elif holding is not None:
            holding.fail({self.tap.place(record) for record in records})

    def passed(self, worker: str, records: Sequence[Record]) -> None:
        """These count as processed."""
        super().passed(worker, records)
        for record in records:
            holding = self.holdings.get(record.shard_id)
            if holding is not None and holding.owner == worker:
                holding.finish(self.tap.place(record))
        if TOTAL in self.holdings and self.holdings[TOTAL].owner == worker:
            self.total.done(records)

    def committed(self, records: Sequence[Record]) -> None:
        """A processor's transaction is committed: these are processed, even if its function fails."""
        self._finish(records)
        if TOTAL in self.holdings:
            self.total.done(records)

    def doubted(self, records: Sequence[Record]) -> None:
        """The connection broke at these records' commit: they may be tried again, to be refused."""
        for record in records:
            self._doubted.setdefault(record.shard_id, set()).add(self.tap.place(record))
        self.total.doubted(records)

    def operated(self, lease: Lease) -> None:
        """An operator wrote a lease; a reset says that what is trimmed by now is given up."""
        if lease.progress.get(ACCEPTED):
            self._accepted.add(lease.key)
            self.holdings.pop(lease.key, None)
            self._give_up_trimmed(lease)
        self._written_us[lease.key] = self._times.now_us
        self.last_change_us = self._times.now_us

    def lost(self, worker: str) -> None:
        """A worker is gone: what it had and did not checkpoint may come again."""
        self.last_change_us = self._times.now_us
        self.holdings = {key: holding for key, holding in self.holdings.items() if holding.owner != worker}

    # -- at the end

    def check_all_read(self) -> None:
        """Law 11: nothing is lost."""
        truth = self.laws.truth
        for key in self.tap.shards if truth is None else truth.shards:
            if (row := self.laws.lease(key)) is not None:
                self._give_up_trimmed(row)
            if truth is not None and not truth.shards[key].parents and not self._places.get(key):
                # Its horizon moved on, and nothing was read.
                self._give_up(truth.shards[key], truth.shards[key].trimmed)
            done, wanted = self._prefix.get(key, 0), self._length(key)
            if done < wanted:
                self.wrong(11, f"of {key} the first {done} of {wanted} records are processed: the rest is lost")

    # -- inside

    def _length(self, shard_id: str) -> int:
        """How many records a shard has, as far as is known."""
        truth, seen = self.laws.truth, self.tap.seen
        return len(seen.get(shard_id, {}) if truth is None else truth.shards[shard_id].records)

    def _unread(self, shard_id: str) -> int:
        """How many of its records were neither read nor given up."""
        known = self._places.get(shard_id, set()).union(self.tap.seen.get(shard_id, {}).values())
        return self._length(shard_id) - len(known)

    def _may_deliver(self, worker: str, lease: HeldLease, row: Lease) -> bool:
        if row.owner == OPERATOR:  # workers wait a failover then; its owner, too, if it hears nothing
            holding = self.holdings.get(lease.key)
            return holding is not None and (holding.owner, holding.fence) == (worker, lease.fence)
        return (row.owner, row.fence) == (worker, lease.fence)

    def _holding_of(self, worker: str, lease: HeldLease) -> Holding | None:
        holding = self.holdings.get(lease.key)
        return holding if holding is not None and (holding.owner, holding.fence) == (worker, lease.fence) else None

    def _finish(self, records: Sequence[Record]) -> None:
        super()._finish(records)
        for record in records:
            self._note_done(record.shard_id, (self.tap.place(record),))

    def _note_done(self, shard_id: str, places: Iterable[int]) -> None:
        done, prefix = self._places.setdefault(shard_id, set()), self._prefix.get(shard_id, 0)
        done.update(places)
        while prefix + 1 in done:
            prefix += 1
        self._prefix[shard_id] = prefix
