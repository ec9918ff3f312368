"""The fleet: several workers of a user's own app, in virtual time and one thread; a seed repeats all that happens to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from types import TracebackType
from typing import Any, Self

from streamiter.app import App
from streamiter.app.events import AppEvent
from streamiter.app.virtual.account import Delivery, Failed
from streamiter.app.virtual.given import GivenRecords
from streamiter.app.virtual.process import ProcessClock, WorkerProcess
from streamiter.app.virtual.world import Turnable, World
from streamiter.clock import microseconds
from streamiter.errors import InvalidOption
from streamiter.lease.lease import START, Lease
from streamiter.lease.operator import accept_gap, reset
from streamiter.store import Store, Table
from streamiter.store.base import Row
from streamiter.testing.fleets.laws import LawBroken, Laws, Observer
from streamiter.testing.fleets.weather import FleetWeather, SimulatedSky, Trouble

DRIFT = 0.05  # clocks run up to so much too fast or too slow: two of them 10 % apart
DAY_SECONDS = 86_400.0


class FleetOf:
    """So many workers of the app, each with a clock of its own, over one store in memory. `given` is as in `App.test`.

    Workers are named by their number, from 0. Each method that lets time pass raises LawBroken as soon as a law of fleets does
    not hold; leaving the `with` block asks all workers to stop and checks the rest. An error that ends a worker comes out of
    them, too, unless it is of a class that the test `tolerates`: then that worker is gone. `store`: one that the test opens
    and closes, where processors commit in it (`batch.commit`); by default rows are in memory.
    """

    def __init__(
        self,
        app: App,
        given: Any = None,
        *,
        workers: int = 3,
        seed: int = 0,
        weather: FleetWeather | None = None,
        tolerates: type[Exception] | tuple[type[Exception], ...] = (),
        clock: Turnable | None = None,
        store: Store | None = None,
    ) -> None:
        if workers < 0:
            raise InvalidOption(f"a fleet has 0 workers or more to begin with, not {workers}")
        self.seed = seed
        self.tolerates = tolerates
        self._chance = Random(seed)
        self._world = World(app, given, clock=clock, store=store, make_account=Observer)
        self.sky = SimulatedSky(seed, weather or FleetWeather(), lambda: self._world.times.now_us)
        self._world.sky = self.sky
        self._world.on_write = self._wrote
        self._by_name: dict[str, WorkerProcess] = {}
        self._fatal: BaseException | None = None
        for name, told in self._world.accounts.items():
            assert isinstance(told, Observer)
            source = told.tap.source
            told.laws = Laws(
                app.processors[name],
                app.pace,
                source if isinstance(source, GivenRecords) else None,
                self._by_name,
                partial(self._world.leases, name),
                partial(self._world.lease, name),
            )
        for _ in range(workers):
            self.join()

    # -- what happens to workers

    def join(self) -> int:
        """One more worker; gives its number."""
        number = len(self._world.processes)
        clock = ProcessClock(self._world.times, 1 + self._chance.uniform(-DRIFT, DRIFT), self._chance.randrange(10**9))
        self.start(f"worker-{number}", clock)
        return number

    def start(self, name: str, clock: ProcessClock) -> WorkerProcess:
        """One more worker, by this name and clock."""
        # The name of one that is gone may be used again, as where a supervisor starts it anew.
        process = self._world.start(name, clock)
        self._by_name[name] = process
        process.on_end = self._ended
        for observer in self.observers.values():
            observer.last_change_us = self._world.times.now_us
        return process

    def kill(self, worker: int) -> None:
        """As by SIGKILL: it does nothing any more, from this moment on."""
        process = self._process(worker)
        process.kill()
        for observer in self.observers.values():
            observer.lost(process.name)

    def pause(self, worker: int, seconds: float) -> None:
        """Stops a worker for so long, as SIGSTOP does: its clock goes on, and it does not notice."""
        process = self._process(worker)
        process.pause()
        self._world.times.after(microseconds(seconds), process.go_on)

    def leave(self, worker: int) -> None:
        """As by SIGTERM."""
        process = self._process(worker)
        process.leave()
        for observer in self.observers.values():
            observer.last_change_us = self._world.times.now_us

    def cut(self, seconds: float, worker: int | None = None, *, answers: bool = False) -> None:
        """The store cannot be reached for so long, by one worker or by all; or only its `answers` are lost."""
        now_us = self._world.times.now_us
        name = None if worker is None else self._process(worker).name
        self.sky.troubles.append(Trouble(now_us, now_us + microseconds(seconds), name, answers))

    def reset(self, lease: str, processor: str | None = None) -> None:
        """As an operator who has it read from the horizon, by `streamiter leases reset STORE LEASE --to TRIM_HORIZON`."""
        name = processor or next(iter(self._world.accounts))
        told = reset(self.store, Table("leases", self._world.app.name, name), lease, START, self._world.service_us)
        self.observers[name].operated(told)

    def accept_gap(self, lease: str, processor: str | None = None) -> None:
        """As an operator who gives up what may be lost, by `streamiter leases accept STORE LEASE`."""
        name = processor or next(iter(self._world.accounts))
        told = accept_gap(self.store, Table("leases", self._world.app.name, name), lease, self._world.service_us)
        self.observers[name].operated(told)

    # -- time passes

    def run(self, seconds: float) -> None:
        """Lets so many seconds pass."""
        self._world.times.run_until(self._world.times.now_us + microseconds(seconds), self._is_wrong)
        self._check()

    def catch_up(self, within: float = DAY_SECONDS) -> float:
        """Until all that the sources hold is processed; gives how many seconds that took."""
        begun_us = self._world.times.now_us
        caught_up = self._world.caught_up()
        has_come = self._world.run(within, lambda: self._is_wrong() or caught_up())
        self._check()
        if not has_come:
            raise AssertionError(f"the fleet has not caught up within {within:.0f} s; {self}")
        return (self._world.times.now_us - begun_us) / 1e6

    def at(self, seconds: float, event: Callable[[], Any]) -> None:
        """So many seconds from now, this happens: `fleet.at(5, lambda: fleet.kill(0))`."""
        self._world.times.after(microseconds(seconds), event)

    @property
    def seconds(self) -> float:
        """How much time has passed."""
        return self._world.times.now_us / 1e6

    # -- what is to be seen

    @property
    def workers(self) -> list[int]:
        """The numbers of the workers that are there, also of those that stand still or leave."""
        return [number for number, process in enumerate(self._world.processes) if not process.is_dead]

    @property
    def deliveries(self) -> Sequence[Delivery]:
        """Each record that a function got: when, from which worker, under which lease and fence; in that order."""
        told = [delivery for account in self._world.accounts.values() for delivery in account.deliveries]
        return sorted(told, key=lambda delivery: delivery.seconds)

    @property
    def failures(self) -> Sequence[Failed]:
        """Each record on which a function raised an error."""
        told = [failure for account in self._world.accounts.values() for failure in account.failures]
        return sorted(told, key=lambda failure: failure.seconds)

    @property
    def events(self) -> Sequence[AppEvent]:
        """What `on_event` was told, of all workers."""
        return self._world.events

    def leases(self, processor: str | None = None) -> dict[str, Lease]:
        """The leases of a processor, as they stand."""
        return self._world.leases(processor or next(iter(self._world.accounts)))

    @property
    def store(self) -> Store:
        """The store that the workers share."""
        return self._world.store

    @property
    def observers(self) -> dict[str, Observer]:
        """What checks the laws, by processor."""
        return {name: told for name, told in self._world.accounts.items() if isinstance(told, Observer)}

    @property
    def processes(self) -> list[WorkerProcess]:
        """All workers that ever were."""
        return self._world.processes

    def __repr__(self) -> str:
        held = {name: {key: lease.owner for key, lease in self.leases(name).items()} for name in self._world.accounts}
        return f"<FleetOf {self._world.app.name}, seed {self.seed}, {self.seconds:.3f} s, leases: {held}>"

    # -- the end

    def finish(self) -> None:
        """Asks all workers to stop, and checks that they do, and that nothing was lost so far (laws 11 and 15)."""
        for process in self._world.processes:
            process.go_on()
            process.leave()
        pace = self._world.app.pace
        limit = (pace.grace_us + 2 * pace.failover_us) / 1e6 + 5
        self._world.run(limit, lambda: self._is_wrong() or not self.workers)
        self._check()
        if self.workers:
            raise LawBroken(
                15,
                f"workers {self.workers} were asked to stop, and are there after {limit:.0f} s; seed {self.seed}",
                self._world.times.now_us,
            )

    def close(self) -> None:
        """Clears the workers away, without asking them."""
        self._world.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    # -- inside

    def _process(self, worker: int) -> WorkerProcess:
        processes = self._world.processes
        if not 0 <= worker < len(processes) or processes[worker].is_dead:
            raise InvalidOption(f"there is no worker {worker}; there are {self.workers}")
        return processes[worker]

    def _is_wrong(self) -> bool:
        return any(observer.broken for observer in self.observers.values()) or self._fatal is not None

    def _check(self) -> None:
        for observer in self.observers.values():
            for broken in observer.broken[:1]:
                raise LawBroken(broken.law, f"{broken.what} (seed {self.seed})", round(broken.seconds * 1e6))
        if self._fatal is not None:
            error, self._fatal = self._fatal, None
            raise error

    def _ended(self, process: WorkerProcess) -> None:
        if process.error is not None and not isinstance(process.error, self.tolerates):
            self._fatal = process.error
        since_us = process.leaving_us
        for name, observer in self.observers.items():
            held = [key for key, lease in self._world.leases(name).items() if lease.owner == process.name]
            if held and self.sky.was_clear(self._world.times.now_us if since_us is None else since_us):
                observer.wrong(15, f"{process.name} ended, and still holds {held}")
            observer.lost(process.name)

    def _wrote(self, writer: str, table: Table, before: Row | None, after: Row | None) -> None:
        if table.kind == "leases":
            told = (None if row is None else Lease.of(row) for row in (before, after))
            self.observers[table.stream].wrote(writer, *told)
