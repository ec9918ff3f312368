"""A runtime's world: a made-up app in a simulated fleet, with all the code that real workers run; bad days, then a calm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from streamiter.errors import Conflict, ProcessorFailed, TransientError
from streamiter.lease.lease import GAP, QUARANTINE
from streamiter.lease.operator import release
from streamiter.store import Table
from streamiter.testing.fleets.weather import Trouble
from tests.fleet.runtime_app import Behaviour, MadeUpProcessor
from tests.fleet.runtime_books import Books, Clerk
from tests.fleet.runtime_kit import REAL, Kit, check_balance
from tests.fleet.runtime_source import SKIES, unsteady_source
from tests.fleet.runtime_timers import MadeUpTimers

NAMES = ("work", "other", "third")


class RuntimeWorld:
    """One seed's world."""

    def __init__(self, seed: int, kit: Kit = REAL, log: Callable[[str], None] | None = None) -> None:
        self.seed, self.log, self.kit = seed, log, kit
        self.is_well = False  # no trouble is left
        self.chance = chance = Random(seed)
        self.fleet: Any = None
        self.failover = chance.choice((2.0, 4.0, 10.0))
        self.grace = chance.choice((0.3, 1, 3)) * self.failover
        self.chaos_seconds = chance.uniform(3, 6) * self.failover
        self.latency = chance.choice((0.002, 0.02, 0.1))
        every = (chance.choice((0.3, 1.0, 5.0)), chance.choice((3, 1000)))
        app = kit.app.App("made-up", store="memory:", failover=self.failover, grace=self.grace, checkpoint_every=every)
        self.behaviour = Behaviour(Random(seed + 1), self._hang_seconds)
        if chance.random() < 0.2:
            self.behaviour.mean = self.failover / 20
        self.books = (
            Books(Random(seed + 2), lambda *told: self.fleet.at(*told), kit.sql) if chance.random() < 0.35 else None
        )
        # Long beside a failover, as with real services: what was at its tip lately is not trimmed behind it.
        self.retention = 8 * self.failover if chance.random() < 0.25 else None
        self.processors = list(self._make_processors(app))
        self.timers = MadeUpTimers(Random(seed + 3), self._wall, self._wrong) if chance.random() < 0.3 else None
        if self.timers is not None:
            self.timers.declare(app)
        self._open(app)

    def _make_processors(self, app: Any) -> Iterator[MadeUpProcessor]:
        """One or more, over one source or several."""
        chance, kit = self.chance, self.kit
        self.sources: dict[str, Any] = {}
        for number, name in enumerate(NAMES[: chance.choice((1, 1, 1, 2, 2, 3))]):
            own = Random(self.seed + 10 * (number + 1))
            books = self.books if number == 0 or chance.random() < 0.5 else None
            made = MadeUpProcessor(name, own, kit, self.behaviour, books)
            # A Stream's token follows a tip ten minutes behind, and is written each minute.
            seconds = None if self.retention is None else self.retention + 720 * (made.order == "total")
            shared = next((told for told in self.sources.values() if told.seconds == seconds), None)
            if shared is None or chance.random() < 0.5:
                shared = unsteady_source(kit, own, self._now_us, seconds)
            self.sources[name] = shared
            made.declare(app, shared)
            yield made

    def _open(self, app: Any) -> None:
        chance, kit = self.chance, self.kit
        weather = kit.fleets.FleetWeather(
            latency=self.latency, call_seconds=chance.choice((0, 0.05, 0.5)), **chance.choice(SKIES)
        )
        self.calm = kit.fleets.FleetWeather(latency=self.latency, call_seconds=weather.call_seconds)
        told = {"seed": self.seed, "weather": weather, "tolerates": ProcessorFailed, "store": self.books}
        self.fleet = kit.fleets.FleetOf(app, self.sources, workers=0, **told)
        self.observers = self.fleet.observers
        for made in self.processors:
            observer = self.observers[made.name]
            observer.may_abandon = self.behaviour.hangs > 0
            if made.books is not None:
                made.books.clerks[made.name] = Clerk(made.books, observer, app.processors[made.name].wants)
        if self.books is not None:
            self.books.on_refusal, self.books.stall = self._note_trouble, self._stall
            self.books.is_dead = lambda name: all(told.is_dead for told in self.fleet.processes if told.name == name)
        if self.timers is not None:
            self.timers.store = self.fleet.store

    def __str__(self) -> str:
        told = "; ".join(f"{made.name}: {made}" for made in self.processors)
        more = (", trims" if self.retention else "") + (", timers" if self.timers else "")
        return f"failover {self.failover}, grace {self.grace:.1f}{more}; {told}"

    def run(self) -> list[str]:
        """What went wrong: nothing, as it is to be."""
        try:
            self._chaos()
            self._black_out()
            self._settle()
            self._keep_quiet()
            self._lose_one()
            self._leave_one()
            self._finish()
        except Exception as error:
            if self.log is not None and not isinstance(error, AssertionError):
                raise
            return [f"{self.fleet.seconds:.3f} s: {type(error).__name__}: {error}"]
        finally:
            self.fleet.close()
            if self.books is not None:
                self.books.end()
        return []

    # -- phases

    def _chaos(self) -> None:
        chance, fleet = self.chance, self.fleet
        self._write(10)
        burst = chance.choice((3, 6, 20))
        for _ in range(chance.randint(1, 3)):
            fleet.at(chance.uniform(0, self.failover / 2), self._join)
        for number in range(int(self.chaos_seconds / self.failover * 4)):
            fleet.at(number * self.failover / 4, lambda: self._write(burst))
        events = (
            *(self._join, self._kill, self._pause, self._pause, self._ask_to_leave),
            *(self._reshard, self._reshard, self._cut, self._restart_all, self._release),
        )
        for _ in range(chance.randint(0, 10)):
            fleet.at(chance.uniform(0, self.chaos_seconds), chance.choice(events))
        for number in range(int(self.chaos_seconds)):
            fleet.at(number + 1, self._supervise)
        fleet.run(self.chaos_seconds)

    def _black_out(self) -> None:
        """Where sources let go of what is old: nobody reads for so long that what was not read is lost."""
        if self.retention is not None and self.chance.random() < 0.7:
            self._tell("all are killed")
            for worker in self.fleet.workers:
                self.fleet.kill(worker)
            seconds = self.chance.uniform(0.3, 1.5) * max(source.seconds for source in self.sources.values())
            for number in range(10):
                self.fleet.at(
                    self.chance.uniform(0, seconds), self._reshard if number == 0 else partial(self._write, 6)
                )
            self.fleet.run(seconds)
            self._join()
            self._on_duty()

    def _settle(self) -> None:
        """All is well from here on: all that there is gets processed, and the leases come to rest in balance."""
        self._tell("calm")
        self.behaviour.is_calm = True
        for source in self.sources.values():
            source.is_calm = True
        if self.books is not None:
            self.books.is_calm = True
        now_us, sky = self._now_us(), self.fleet.sky
        # Who leaves since before the calm may have lost calls by then, and need not have released all when it ends.
        sky.weather, sky.troubles = self.calm, [Trouble(0, now_us, None, False)]
        for process in self.fleet.processes:
            process.go_on()
        self.fleet.run(2 * self.failover)  # late writes, and failures that happened before, take their time
        self._join_to_two()
        self._let_go_on()
        self.fleet.run(self.grace + 25 + self.failover)
        self._let_go_on()
        self._catch_up()
        self._rest()
        self.is_well = True

    def _keep_quiet(self) -> None:
        """Nothing is written for longer than the sources hold records; then who takes over finds no gap."""
        if self.retention is not None and self.chance.random() < 0.5:
            self._tell("nothing is written for long")
            self.fleet.run(1.1 * max(source.seconds for source in self.sources.values()))

    def _lose_one(self) -> None:
        """A worker dies: its leases run elsewhere within 1.5 failovers, and another leads."""
        self._be_two()
        victim = self.chance.choice(self._staying())
        name = f"worker-{victim}"
        leases = {key: lease for key, lease in self._leases() if lease.owner == name}
        led = self.timers is not None and (leader := self.timers.leader()) is not None and leader.owner == name
        self._tell(f"{name} dies, with {[*leases]}{' as the leader' if led else ''}")
        self.fleet.kill(victim)
        self.fleet.run(1.5 * self.failover + 4 * self.latency + 0.01)
        left = {
            key: lease.owner
            for key, lease in self._leases()
            if key in leases and lease.owner in (None, name) and not lease.completed
        }
        assert not left, f"law 14: leases of {name}, who died, are with {left} after 1.5 failovers"
        if led and self.timers is not None:
            leader = self.timers.leader()
            assert leader is not None
            assert leader.owner not in (None, name), f"law 14: {leader.owner} leads 1.5 failovers after {name} died"
        self._join()
        self._catch_up()
        self._rest()

    def _leave_one(self) -> None:
        """A worker stops while it is at work."""
        self._be_two()
        self._write(10)
        self._reshard()
        self.fleet.run(self.chance.uniform(0, self.failover / 2))
        leaver = self.chance.choice(self._staying())
        self._tell(f"worker-{leaver} is asked to leave")
        self.fleet.leave(leaver)
        self.fleet.run(self.grace + self.failover + 10 * self.latency)
        assert leaver not in self.fleet.workers, f"law 15: worker-{leaver} was told to stop, and is still there"
        self._catch_up()

    def _finish(self) -> None:
        if self.timers is not None:
            wall = self._wall() + 1
            self.fleet.run(10 * self.timers.period)
            self.timers.check_since(wall)
        self._write(10)
        self._catch_up()
        for observer in self.observers.values():
            observer.check_all_read()
        for clerk in self.books.clerks.values() if self.books is not None else ():
            clerk.check_all()
        self._write(10)
        self.fleet.run(self.chance.uniform(0, 2))
        self.fleet.finish()
        owners = {key: lease.owner for key, lease in self._leases() if lease.owner}
        assert not owners, f"law 15: all workers have left, and leases are with {owners}"

    def _catch_up(self) -> None:
        # A lease works on its records one after the other.
        longest = max(
            max(len(shard.records) for shard in source.shards.values()) * len(source.shards)
            for source in self.sources.values()
        )
        work = 2 * longest * (self.behaviour.mean + self.calm.call_seconds + 4 * self.latency)
        for _ in range(30):
            self.fleet.catch_up(10 * self.failover + self.grace + 120 + work)
            if not self._let_go_on():
                return
            self.fleet.run(2 * self.failover)
        raise AssertionError("law 11: gaps are accepted, and stand again and again")

    def _rest(self) -> None:
        """Two failovers after the last change, the leases are balanced."""
        wait = 2 * self.failover / 0.95 + 8 * self.latency + 1
        limit = self.fleet.seconds + 20 * self.failover + 60
        while self.fleet.seconds < limit and self._changed_at() + wait > self.fleet.seconds:
            self.fleet.run(0.5)
        assert self.fleet.seconds < limit, "law 13: leases never stop moving"
        workers = [f"worker-{number}" for number in self._staying()]
        for name in self.observers:
            check_balance(name, self.fleet.leases(name), workers)

    def _changed_at(self) -> float:
        return float(max(observer.last_change_us for observer in self.observers.values())) / 1e6

    def _leases(self) -> Iterator[tuple[str, Any]]:
        """Of all processors, by a name that tells which."""
        for name in self.observers:
            for key, lease in self.fleet.leases(name).items():
                yield f"{name}/{key}", lease

    # -- what can happen

    def _join(self) -> None:
        if len(self._staying()) < 5:
            self._tell(f"worker-{self.fleet.join()} joins")

    def _kill(self) -> None:
        if self.fleet.workers:
            victim = self.chance.choice(self.fleet.workers)
            self._tell(f"worker-{victim} is killed")
            self.fleet.kill(victim)

    def _stall(self, name: str) -> None:
        number = int(name.rpartition("-")[2])
        if number in self.fleet.workers and not self.fleet.processes[number].is_still:
            seconds = self.chance.uniform(1.2, 2.5) * self.failover
            self._tell(f"{name} stands still for {seconds:.1f} s in the middle of a transaction")
            self.fleet.pause(number, seconds)

    def _restart_all(self) -> None:
        for worker in self.fleet.workers:
            self._tell(f"worker-{worker} is killed with all others")
            self.fleet.kill(worker)
        self._join()

    def _pause(self) -> None:
        if self.fleet.workers:
            sleeper, seconds = self.chance.choice(self.fleet.workers), self.chance.uniform(0.2, 3) * self.failover
            self._tell(f"worker-{sleeper} stands still for {seconds:.1f} s")
            self.fleet.pause(sleeper, seconds)

    def _ask_to_leave(self) -> None:
        if self.fleet.workers:
            leaver = self.chance.choice(self.fleet.workers)
            self._tell(f"worker-{leaver} is asked to leave")
            self.fleet.leave(leaver)

    def _cut(self) -> None:
        worker = self.chance.choice([None, *self.fleet.workers])
        seconds, answers = self.chance.uniform(0.2, 2) * self.failover, self.chance.random() < 0.4
        self._tell(f"the store loses {'answers' if answers else 'calls'} of {worker} for {seconds:.1f} s")
        self.fleet.cut(seconds, worker, answers=answers)

    def _join_to_two(self) -> None:
        while len(self._staying()) < 2:
            self._join()

    def _be_two(self) -> None:
        """One may have ended by itself, on what went wrong before the calm."""
        if len(self._staying()) < 2:
            self._join_to_two()
            self._catch_up()
            self._rest()

    def _write(self, most: int) -> None:
        for source in self._each_source():
            source.write(most)

    def _reshard(self) -> None:
        self._tell(f"{self.chance.choice(self._each_source()).reshard()} is closed")

    def _each_source(self) -> list[Any]:
        return list(dict.fromkeys(self.sources.values()))

    def _supervise(self) -> None:
        if not self._staying():
            self._join()

    # -- operators

    def _release(self) -> None:
        name = self.chance.choice(sorted(self.observers))
        leases = self.fleet.leases(name)
        if leases:
            key, by_force = self.chance.choice(sorted(leases)), self.chance.random() < 0.5
            if not leases[key].completed:
                self._tell(f"an operator releases {key} of {name}{' by force' if by_force else ''}")
                self._operate(name, key, lambda table: release(self.fleet.store, table, key, by_force=by_force))

    def _let_go_on(self) -> bool:
        """Ends each quarantine, and accepts each gap; gives whether there was one. Once all is well, none can be."""
        was_there = False
        for name in self.observers:
            for key, lease in self.fleet.leases(name).items():
                if QUARANTINE in lease.progress or GAP in lease.progress:
                    was_there = True
                    assert not self.is_well, f"law 11: {lease.progress} of {key} of {name}, and nothing went wrong"
                    self._end_wait(name, key, is_gap=GAP in lease.progress)
        return was_there

    def _end_wait(self, name: str, key: str, *, is_gap: bool) -> None:
        if is_gap:
            self._tell(f"an operator accepts the gap of {key} of {name}")
            self.fleet.accept_gap(key, name)
        else:
            self._tell(f"an operator ends the quarantine of {key} of {name}")
            self._operate(name, key, lambda table: release(self.fleet.store, table, key, by_force=False))

    def _on_duty(self) -> None:
        """An operator who looks for gaps, all the time."""
        self._let_go_on()
        self.fleet.at(2 * self.failover, self._on_duty)

    def _operate(self, name: str, key: str, deed: Callable[[Table], Any]) -> None:
        before = self.fleet.leases(name)[key]
        try:
            lease = deed(Table("leases", "made-up", name))
        except (TransientError, Conflict):  # the row is locked: the operator gives up
            return
        if lease.version > before.version:
            self.observers[name].operated(lease)

    # -- who is there

    def _staying(self) -> list[int]:
        return [number for number in self.fleet.workers if not self.fleet.processes[number].is_told_to_leave]

    def _hang_seconds(self) -> float:
        return max(0.1, self.chaos_seconds - float(self.fleet.seconds))

    def _now_us(self) -> int:
        return 0 if self.fleet is None else round(self.fleet.seconds * 1e6)

    def _wall(self) -> float:
        return float(self.kit.process.WALL_START + self.fleet.seconds)

    def _note_trouble(self) -> None:
        """The store refused a worker: then it may not be able to release its leases in time."""
        self.fleet.sky.troubles.append(Trouble(self._now_us(), self._now_us() + 1, None, False))

    def _wrong(self, what: str) -> None:
        self.observers[NAMES[0]].wrong(9, what)

    def _tell(self, what: str) -> None:
        if self.log is not None:
            self.log(f"{self.fleet.seconds:10.3f} s  {what}")
