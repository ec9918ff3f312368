"""The members: which workers are alive, and the row by which this one shows that it is."""

from __future__ import annotations

from collections.abc import Iterable

from streamiter.lease.lease import Worker
from streamiter.lease.ledger import Ledger
from streamiter.lease.timers import Timer
from streamiter.lease.watch import Watch
from streamiter.lease.wishes import DeleteWorker, WriteWorker


class Members:
    """All workers as their rows tell, and what our own row is to say."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._me = Worker(ledger.me)
        self._expected: int | None = None  # the version of our own row that stands
        self._written: Worker | None = None
        self._under_way: WriteWorker | None = None
        self._others: dict[str, Worker] = {}
        self._watch = Watch()
        self._before: frozenset[str] = frozenset()
        self.alive: frozenset[str] = frozenset({ledger.me})
        self._doubted: dict[str, int] = {}  # workers that let leases lie, and the beat of their rows then
        self.present: set[str] = set()  # the others whose rows do not say that they are gone
        self.is_settled = False  # whether the last look showed no worker that the one before it did not

    @property
    def is_known(self) -> bool:
        """Whether the others can see us: until then we take nothing."""
        return self._written is not None

    @property
    def is_quiet(self) -> bool:
        """Whether no write of our row is under way."""
        return self._under_way is None

    @property
    def is_first(self) -> bool:
        """Whether this worker is the one that lists shards and cleans up: of all that are alive, its id sorts first."""
        return bool(self.alive) and min(self.alive) == self._ledger.me

    def see_all(self, workers: Iterable[Worker], now_us: int) -> None:
        """A scan of the workers' rows. One counts as alive once its row was seen to move, or where it is just begun."""
        rows = {worker.id: worker for worker in workers}
        for worker in rows.values():
            self._watch.see(worker.id, worker.beat, now_us)
        self._watch.keep(rows)
        self._doubted = {name: beat for name, beat in self._doubted.items() if name in rows}
        rows.pop(self._ledger.me, None)
        self._others = rows
        pace = self._ledger.pace
        still = {name: self._watch.still_us(name, now_us) for name in rows}
        ours = () if self._me.leaving else (self._ledger.me,)
        self.present = {name for name, row in rows.items() if still[name] < pace.failover_us and not row.leaving}
        self.alive = frozenset({*ours, *(name for name in self.present if self._is_proved(rows[name]))})
        # The others may not know yet of one that came. When one is gone, who has too many has too many in each view.
        self.is_settled = self.alive <= self._before
        self._before = self.alive
        if self.present:
            died_us = now_us + pace.failover_us - max(still[name] for name in self.present)
            self._ledger.timers.hasten(Timer.LOOK, died_us)  # one that stays silent until then is dead
        if self.is_first:
            buried = [row for name, row in rows.items() if still[name] >= pace.burial_us]
            self._ledger.wishes.extend(DeleteWorker(row.id, row.version) for row in buried)

    def doubt(self, worker: str | None) -> None:
        """It let a lease expire, or left lying what it had asked for: it gets none until its row moves again."""
        if worker in self._others:
            self._doubted[worker] = self._others[worker].beat
            self.alive -= {worker}

    def asks(self) -> list[tuple[str, str]]:
        """What the workers that are alive ask for: (lease, asker)."""
        askers = sorted(self.alive & self._others.keys())
        return [(lease, asker) for asker in askers for lease in self._others[asker].asks]

    def stuck(self) -> set[str]:
        """Leases that their owners cannot hand over now."""
        return {lease for worker in (*self._others.values(), self._me) for lease in worker.stuck}

    # -- our own row

    def tell(self, now_us: int, *, asks: Iterable[str] | None = None, stuck: Iterable[str] | None = None) -> None:
        """What our row is to say; where that is new, it is written at once."""
        me = self._me
        self._me = me._replace(
            asks=me.asks if asks is None else tuple(asks), stuck=me.stuck if stuck is None else tuple(sorted(stuck))
        )
        if self._written is not None and self._says(self._written) != self._says(self._me):
            self.beat(now_us)

    def leave(self, now_us: int) -> None:
        """We are to stop: the others are to count without us."""
        self._me = self._me._replace(asks=(), leaving=True)
        self.alive -= {self._ledger.me}
        self.beat(now_us)

    def beat(self, now_us: int) -> None:
        """Writes our row: a beat that changes shows that we are alive."""
        self._ledger.timers.set(Timer.BEAT, now_us + self._ledger.pace.renew_us)
        if self._under_way is None:
            self._under_way = WriteWorker(self._ledger.ticket(), self._me._replace(beat=now_us), self._expected)
            self._ledger.wishes.append(self._under_way)

    def bury_me(self) -> None:
        """Removes our row: nothing is ours any more."""
        if self._expected is not None:
            self._ledger.wishes.append(DeleteWorker(self._ledger.me, self._expected))

    def written(self, wish: WriteWorker, version: int, now_us: int) -> None:
        """Our row stands."""
        if self._is_answer(wish):
            self._expected, self._written = version, wish.worker
            if self._says(wish.worker) != self._says(self._me):
                self.beat(now_us)

    def refused(self, wish: WriteWorker, standing: Worker | None, now_us: int) -> None:
        """Our row is at another version: an answer was lost, or the row was removed while we stood still."""
        if self._is_answer(wish):
            self._expected = None if standing is None else standing.version
            self.beat(now_us)

    def failed(self, wish: WriteWorker, now_us: int) -> None:
        """Nobody knows whether it was written: it is tried again soon."""
        if self._is_answer(wish):
            self._ledger.timers.set(Timer.BEAT, now_us + self._ledger.pace.retry_us)

    def _is_answer(self, wish: WriteWorker) -> bool:
        is_ours = self._under_way is not None and self._under_way.ticket == wish.ticket
        if is_ours:
            self._under_way = None
        return is_ours

    def _is_proved(self, worker: Worker) -> bool:
        # The row of one that was killed long ago looks alive to us who just came: free leases would wait for it in vain.
        is_doubted = self._doubted.get(worker.id) == worker.beat
        return not is_doubted and (worker.version == 1 or self._watch.has_moved(worker.id))

    @staticmethod
    def _says(worker: Worker) -> Worker:
        return worker._replace(version=0, beat=0)
