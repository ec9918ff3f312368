"""A world: a fleet, its store, its source and its bad days, drawn from one seed; then a calm that times laws 13 to 15."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import streamiter.lease
from tests.fleet.agenda import SECOND, Agenda
from tests.fleet.observer import TOTAL, Observer, Violation
from tests.fleet.source import Source, TrueShard
from tests.fleet.store import TIMEOUT, Store, Trouble, Weather
from tests.fleet.worker import Process, Processor

DRIFT = 0.05  # clocks run up to so much too fast or too slow: two of them 10 % apart
SLOWEST = 1 - DRIFT
SKIES = (Weather(), Weather(), Weather(0.02, 0.02, 0.01, 0.05, 0.02), Weather(0.08, 0.08, 0.04, 0.1, 0.05))


class World:
    """One seed's world. `kit` is the package of the engine: the real one, or one with a fault in it."""

    def __init__(self, seed: int, kit: Any = streamiter.lease, log: Callable[[str], None] | None = None) -> None:
        self.seed, self.kit, self.log = seed, kit, log
        chance = self.chance = Random(seed)
        self.agenda = Agenda()
        self.failover = chance.choice((4, 10, 30)) * SECOND
        self.mode = chance.choice(("shard", "shard", "key", "key", "total"))
        self.store = Store(self.agenda, Random(seed + 1), chance.choice(SKIES))
        self.source = Source(self.agenda, Random(seed + 2), tells_children=chance.random() < 0.5)
        self.processor = Processor(Random(seed + 3))
        self.processes: list[Process] = []
        self.chaos_ends = int(chance.uniform(3, 7) * self.failover)
        self.grace = int(chance.choice((0.3, 1, 3)) * self.failover)
        self.observer = Observer(
            self.agenda, self.store, self.source, self.failover, self.grace, by_key=self.mode == "key"
        )
        if chance.random() < 0.2:
            self.processor.hangs = 0.01
            self.processor.hung_until = self.chaos_ends
            self.observer.may_abandon = True

    def run(self) -> list[Violation]:
        try:
            for phase in (
                self._chaos,
                self._settle,
                self._grow,
                self._lose_one,
                self._leave_one,
                self._stumble,
                self._hiccup,
                self._isolate,
                self._finish,
            ):
                phase()
                if self.observer.violations:
                    break
        except Exception as error:  # the engine stumbled over itself: that is found, too
            self.observer.wrong(0, f"{type(error).__name__}: {error}")
            if self.log is not None:
                raise
        return self.observer.violations

    # -- phases

    def _chaos(self) -> None:
        chance, source = self.chance, self.source
        if self.mode == "total":
            source.shards[TOTAL] = TrueShard(TOTAL, (), 0, 0)
        else:
            for _ in range(chance.randint(1, 5)):
                source.make(lag=0 if chance.random() < 0.5 else None)
            for _ in range(chance.choice((0, 1, 3))):
                self._reshard(lag=0)  # a lineage that is there from the start
        span = chance.choice((SECOND // 2, self.failover // 2))
        if chance.random() < 0.3:  # it is slow at first
            self.store.latency, latency = 250_000, self.store.latency
            self.agenda.at(3 * SECOND, lambda: setattr(self.store, "latency", latency))
        for _ in range(chance.randint(1, 4)):
            self.agenda.at(chance.randrange(span), self._join)
        for moment in range(0, self.chaos_ends, self.failover // chance.choice((2, 6))):
            self.agenda.at(moment, self._append)
        for _ in range(chance.randint(0, 12)):
            event = chance.choice(
                (
                    self._join,
                    self._kill,
                    self._pause,
                    self._pause,
                    self._ask_to_leave,
                    self._reshard,
                    self._reshard,
                    self._cut,
                )
            )
            self.agenda.at(chance.randrange(self.chaos_ends), event)
        self.agenda.run_until(self.chaos_ends)

    def _settle(self) -> None:
        """All is well from here on: within two failovers of the last change, balance and rest."""
        self.store.weather, self.store.troubles, self.store.is_calm = Weather(), [], True
        self.source.is_calm = True
        self.processor.hangs = 0
        self.observer.released_at.clear()
        self._tell("calm")
        for process in self.processes:
            process.on_write = None
            if process.is_stopped:
                process.go_on()
        if not self._staying():
            self._join()
        self._append()
        self.observer.last_change = self.agenda.now
        # What hung until now, and writes that were done late, take their time.
        self.agenda.run_until(self.agenda.now + self.grace + self.failover)
        self._rest()

    def _grow(self) -> None:
        """One more worker: no more leases move than it is to have."""
        self.observer.is_at_rest = True
        before, leases = self.observer.moves, sum(self.observer.owned(self._names()).values())
        self._join()
        joined_at = self.observer.last_change
        self._rest()
        needed = leases // len(self._names())
        # Where shards end meanwhile, their children are dealt anew.
        if self.observer.last_change == joined_at and self.observer.moves - before > needed:
            self.observer.wrong(
                13, f"{self.observer.moves - before} leases moved to a worker that was to have {needed}"
            )

    def _lose_one(self) -> None:
        """A worker dies: its leases run elsewhere within 1.5 failovers."""
        victim = self.chance.choice(self._staying())
        self._wait_for_write(victim, self.chance.choice(("leases", "workers")))
        held = [key for key, row in self.store.rows["leases"].items() if row.value.owner == victim.name]
        self._tell(f"{victim.name} dies, with {held}")
        victim.die()
        self.observer.died(victim.name)
        self.observer.is_at_rest = False
        self.agenda.run_until(self.agenda.now + self.failover * 3 // 2 + 4 * self.store.latency)
        for key in held:
            row = self.store.rows["leases"].get(key)
            if row is not None and row.value.owner in (None, victim.name) and not row.value.completed:
                self.observer.wrong(
                    14, f"{key} of {victim.name}, who died, is with {row.value.owner} after 1.5 failovers"
                )
        self._rest()
        self.observer.is_at_rest = True
        self.observer.released_at.clear()

    def _leave_one(self) -> None:
        """A worker stops: what it lets go runs elsewhere within one renewal, and nothing comes again."""
        self._join()
        self._rest()
        leaver = self.chance.choice(self._staying())
        held = [key for key, row in self.store.rows["leases"].items() if row.value.owner == leaver.name]
        if held and self.chance.random() < 0.5:  # one of them takes its time
            self.processor.slow_key, self.processor.slow = self.chance.choice(held), self.failover // 2
            for _ in range(3):
                self._append()
            self.agenda.run_until(self.agenda.now + self.failover // 10)
        self._ask_to_leave(leaver)
        limit = self.grace + self.failover
        self.agenda.run_until(self.agenda.now + limit)
        self.processor.slow_key = ""
        if not leaver.is_dead:
            self.observer.wrong(15, f"{leaver.name} was told to stop, and is still there after {limit / 1e6:.0f} s")
        self._rest()

    def _stumble(self) -> None:
        """A worker stops while another stands still for a while: what was meant for that one is not left lying."""
        self._join()
        self._rest()
        if self.observer.violations or len(self._staying()) < 3:
            return
        leaver, sleeper = self.chance.sample(self._staying(), 2)
        self.observer.is_stumbling = True
        self._tell(f"{sleeper.name} stands still, {leaver.name} is asked to leave")
        sleeper.stop()
        leaver.leave()
        self.observer.told_to_leave(leaver.name)
        self.agenda.run_until(self.agenda.now + self.failover * 9 // 10)
        sleeper.go_on()
        self.observer.last_change = self.agenda.now
        self._rest()
        self.observer.is_stumbling = False

    def _hiccup(self) -> None:
        """The store's server starts anew, and answers are lost: that is waited out, and nothing changes hands."""
        if self.failover <= 4 * SECOND:
            return  # the time-out of a call is too near to it
        moves, now = self.observer.moves, self.agenda.now
        self.store.troubles = [Trouble(now, now + self.failover // 4, None, self.chance.random() < 0.5)]
        self._append()
        self.agenda.run_until(now + 2 * self.failover)
        if self.observer.moves != moves:
            self.observer.wrong(14, f"{self.observer.moves - moves} leases moved when the store was away for a moment")

    def _isolate(self) -> None:
        """A worker is cut off right after a renewal, and records go on coming: it stops before others begin."""
        victim = self.chance.choice(self._staying())
        held = [key for key, row in self.store.rows["leases"].items() if row.value.owner == victim.name]
        loses_answer = bool(held) and self.chance.random() < 0.5
        if loses_answer:  # it hears of that renewal by its next try, and of nothing more
            now = self.agenda.now
            self.store.troubles = [Trouble(now, now + self.failover, victim.name, True)]
            while self.agenda.now < now + self.failover and all(self.observer.written_at[key] < now for key in held):
                self.agenda.run_until(self.agenda.now + 10_000)
        else:
            self._wait_for_write(victim, "leases")
        now = self.agenda.now
        cut = now + (TIMEOUT + int(self.failover / 20 / victim.rate) + 3 * self.store.latency if loses_answer else 0)
        self._tell(f"{victim.name} is cut off{', and lost an answer before' * loses_answer}")
        self.store.troubles = [Trouble(cut, now + self.failover * 3 // 2, victim.name, False)]
        for moment in range(85, 130):
            self.agenda.at(now + self.failover * moment // 100, lambda: self._append(1))
        self.agenda.run_until(now + 3 * self.failover)

    def _finish(self) -> None:
        for _ in range(5):
            self._append()
        self.agenda.run_until(self.agenda.now + 10 * SECOND + 100 * self.processor.mean)
        self.observer.check_all_read()
        if self.failover > 4 * SECOND and self.chance.random() < 0.1:
            self._trim()

    def _trim(self) -> None:
        """Shards that were read to their end are listed no more; after long their leases go, and nothing is read again."""
        for key, shard in self.source.shards.items():
            row = self.store.rows["leases"].get(key)
            if row is not None and row.value.completed and shard.listed_until is None:
                self.source.trim(shard)
        self.agenda.run_until(self.agenda.now + 900 * SECOND)
        self.observer.check_removed()
        self._append()
        self.agenda.run_until(self.agenda.now + 10 * SECOND + 100 * self.processor.mean)
        self.observer.check_all_read()

    def _wait_for_write(self, process: Process, table: str) -> None:
        """Until this worker has just written a lease, or its own row: what it wrote stands still longest from now on."""
        self.observer.last_write.clear()
        ends = self.agenda.now + self.failover
        while self.observer.last_write.get(process.name) != table and self.agenda.now < ends:
            self.agenda.run_until(self.agenda.now + 10_000)

    def _rest(self) -> None:
        """Until nothing changed for two failovers by the slowest clock; then balance, and nothing moves any more."""
        wait = (
            int(2 * self.failover / SLOWEST) + 8 * self.store.latency + 10 * self.processor.mean
        )  # it finishes what it holds
        limit = self.agenda.now + 40 * self.failover + 120 * SECOND
        changed = -1
        while changed != self.observer.last_change and not self.observer.violations:
            while (due := self.observer.last_change + wait) > self.agenda.now:
                self.agenda.run_until(due)
                if self.agenda.now > limit:
                    self.observer.wrong(14, "the fleet never comes to rest")
                    return
            self.observer.check_balance(self._names())
            changed, moves = self.observer.last_change, self.observer.moves
            self.agenda.run_until(self.agenda.now + self.failover // 2)
        # Where a shard ended in these last moments, its children are dealt first: what comes next begins at rest.
        if self.observer.moves != moves and changed == self.observer.last_change:
            self.observer.wrong(13, f"{self.observer.moves - moves} leases moved, and all were balanced")

    # -- what can happen

    def _join(self) -> None:
        if len(self._staying()) >= 6:
            return
        name = f"w{len(self.processes)}"
        if self.chance.random() < 0.3:
            name = f"a{99 - len(self.processes)}"  # it sorts before the others
        dead = sorted({process.name for process in self.processes} - {process.name for process in self._alive()})
        if dead and self.chance.random() < 0.3:
            name = self.chance.choice(dead)  # as where a supervisor starts it again by the same name
        rate = self.chance.choice(
            (1 - DRIFT, 1 - DRIFT, 1 + DRIFT, 1 + DRIFT, self.chance.uniform(1 - DRIFT, 1 + DRIFT))
        )
        process = Process(name, self.agenda, self.store, self.source, self.observer, self.processor, rate)
        process.log, process.by_key = self._log_of(), self.mode == "key"
        self.processes.append(process)
        self.observer.joined(name, rate)
        self._tell(f"{name} joins, its clock at {rate:.3f}")
        process.start(self._engine(name, process.clock))

    def _engine(self, name: str, now: int) -> Any:
        kit = self.kit
        order = kit.Order(by_key=self.mode == "key", concurrency=4, batch=5, buffer=12)
        pace = kit.Pace(failover_us=self.failover, grace_us=self.grace)
        shards = None if self.mode == "total" else kit.Shards("TRIM_HORIZON")
        return kit.Engine(name, now, shards=shards, pace=pace, order=order)

    def _kill(self) -> None:
        if self._alive():
            victim = self.chance.choice(self._alive())
            self._tell(f"{victim.name} is killed")
            victim.die()
            self.observer.died(victim.name)

    def _pause(self) -> None:
        running = [process for process in self._alive() if not process.is_stopped]
        if not running:
            return
        sleeper = self.chance.choice(running)
        pause = int(self.chance.uniform(0.2, 3) * self.failover)

        def stop() -> None:
            self._tell(f"{sleeper.name} stands still for {pause / 1e6:.1f} s")
            sleeper.stop()
            self.agenda.after(pause, sleeper.go_on)
            self._stream(pause, pause + self.failover // 2)

        if self.chance.random() < 0.5:
            sleeper.on_write = stop  # the answer to its next write finds it standing still
        else:
            stop()

    def _ask_to_leave(self, leaver: Process | None = None) -> None:
        staying = [leaver] if leaver else self._staying()
        if staying:
            leaver = self.chance.choice(staying)
            self._tell(f"{leaver.name} is asked to leave")
            if not leaver.is_stopped:
                self.observer.told_to_leave(leaver.name)
                leaver.leave()

    def _cut(self) -> None:
        """The store loses calls, of one worker or of all; of the first part, perhaps, only the answers."""
        worker = self.chance.choice([None, *self._names(), *self._names()])
        begins = self.agenda.now
        span = int(self.chance.uniform(0.2, 2) * self.failover)
        part = self.chance.choice((0, span, self.failover // 3))
        self._tell(
            f"the store loses calls of {worker or 'all'} for {span / 1e6:.1f} s, answers alone for {part / 1e6:.1f} s"
        )
        self.store.troubles.append(Trouble(begins, begins + part, worker, True))
        self.store.troubles.append(Trouble(begins, begins + span, worker, False))
        self._stream(self.failover // 2, self.failover * 5 // 4)

    def _stream(self, begins: int, ends: int) -> None:
        """Records come one after the other, so that each moment in which a worker must not deliver is tried."""
        for moment in range(begins, ends, self.failover // 30):
            self.agenda.after(moment, lambda: self._append(1))

    def _append(self, most: int = 4) -> None:
        for shard in self.source.open_shards():
            if self.chance.random() < 0.7:
                self.source.append(shard, self.chance.randint(1, most))

    def _reshard(self, lag: int | None = None) -> None:
        shards = [shard for shard in self.source.open_shards() if shard.id != TOTAL]
        if not shards or self.mode == "total":
            return
        shard = self.chance.choice(shards)
        others = [other for other in shards if other is not shard]
        if others and self.chance.random() < 0.3:
            self.source.merge(shard, self.chance.choice(others))
        elif self.chance.random() < 0.5 and len(shards) < 8:
            self.source.split(shard)
        else:
            self.source.roll(shard)
        if lag is not None:
            for made in self.source.shards.values():
                made.listed_from = 0
        self._tell(f"{shard.id} is closed")

    # -- who is there

    def _alive(self) -> list[Process]:
        return [process for process in self.processes if not process.is_dead]

    def _staying(self) -> list[Process]:
        return [process for process in self._alive() if not process.is_leaving]

    def _names(self) -> list[str]:
        return [process.name for process in self._staying()]

    def _log_of(self) -> Callable[[str], None] | None:
        return None if self.log is None else self._tell

    def _tell(self, what: str) -> None:
        if self.log is not None:
            self.log(f"{self.agenda.now / 1e6:10.3f} s  {what}")
