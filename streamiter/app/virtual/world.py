"""The world: an app in virtual time: the sources and the store that its workers share, and what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from streamiter.app.events import AppEvent
from streamiter.app.virtual.account import Account
from streamiter.app.virtual.calls import ClearSky, Sky
from streamiter.app.virtual.given import GivenRecords
from streamiter.app.virtual.process import WALL_START, ProcessClock, WorkerProcess
from streamiter.app.virtual.tap import Tap
from streamiter.app.virtual.times import Times
from streamiter.app.virtual.topics import WorldTopics
from streamiter.app.virtual.watch import watched
from streamiter.clock import microseconds
from streamiter.errors import InvalidOption
from streamiter.lease.lease import GAP, QUARANTINE, TOTAL, Lease
from streamiter.locate import locate
from streamiter.source.base import Source
from streamiter.store import Store, Table
from streamiter.store.base import Move, Row
from streamiter.store.memory import MemoryStore
from streamiter.topic import Topic

if TYPE_CHECKING:
    from streamiter.app.app import App

# Told of each row that a worker wrote: who wrote it, in which table, what stood there, and what stands there now.
OnWrite = Callable[[str, Table, Row | None, Row | None], None]


class Turnable(Protocol):
    """A clock that is turned by hand, such as a simulated service's."""

    def now(self) -> float:
        """Seconds since 1970."""

    def advance(self, seconds: float) -> None:
        """Turns it forward."""


class World:
    """One app, in virtual time. `given` says what its processors read; see `App.test`."""

    def __init__(
        self,
        app: App,
        given: Any = None,
        *,
        clock: Turnable | None = None,
        sky: Sky | None = None,
        store: Store | None = None,
        make_account: Callable[[str, Times, Tap], Account] = Account,
    ) -> None:
        if not app.processors and not app.timers:
            raise InvalidOption(f"{app.name} has nothing to do: declare a processor with @app.processor(source)")
        self.app = app
        self.times = Times()
        self._started_us = microseconds(WALL_START)
        self.store: Store = MemoryStore() if store is None else store
        self.sky: Sky = ClearSky() if sky is None else sky
        self.events: list[AppEvent] = []
        self.on_write: OnWrite | None = None
        self._writes = 0
        self.processes: list[WorkerProcess] = []
        self.topics = WorldTopics(app, lambda: self.service_us)
        sources, turned = _sources_of(app, self.topics.enter(given))
        clock = clock or turned
        if clock is not None:
            self.times.on_move.append(lambda moved_us: clock.advance(moved_us / 1e6))
        started_us = self._started_us = microseconds(WALL_START if clock is None else clock.now())
        self.accounts: dict[str, Account] = {}
        for name, source in sources.items():
            if isinstance(source, GivenRecords):
                source.use_clock(lambda: started_us + self.times.now_us)
            self.accounts[name] = make_account(name, self.times, Tap(source))

    def start(self, name: str, clock: ProcessClock | None = None, store: Store | None = None) -> WorkerProcess:
        """One more worker."""
        process = WorkerProcess(self.app, name, self.times, self.sky, clock or ProcessClock(self.times))
        self.processes.append(process)
        processors = {
            key: watched(processor, self.accounts[key].voice_of(name), source=self.accounts[key].tap)
            for key, processor in self.app.processors.items()
        }
        process.start(processors, _Lent(store or self.store, partial(self._wrote, name)), partial(self._hear, name))
        return process

    def run(self, seconds: float, is_over: Callable[[], bool] | None = None) -> bool:
        """Lets so much time pass, or less, once `is_over` says so; tells whether it did."""
        end_us = self.times.now_us + microseconds(seconds)
        if is_over is None:
            return self.times.run_until(end_us)
        seen = -1

        def is_over_now() -> bool:
            """Asks only where something has happened."""
            nonlocal seen
            if seen == self._happened:
                return False
            seen = self._happened
            return is_over()

        return self.times.run_until(end_us, is_over_now) or is_over()

    @property
    def service_us(self) -> int:
        """The time of the sources, in microseconds since 1970."""
        return self._started_us + self.times.now_us

    @property
    def _happened(self) -> int:
        """Grows with all that may end a run."""
        told = sum(account.happened + account.tap.calls for account in self.accounts.values())
        return told + self._writes + sum(process.is_dead for process in self.processes)

    def leases(self, processor: str) -> dict[str, Lease]:
        """A processor's leases, as they stand."""
        rows = self.store.scan(Table("leases", self.app.name, processor))
        return {row.key: Lease.of(row) for row in rows}

    def lease(self, processor: str, key: str) -> Lease | None:
        """One of them."""
        row = self.store.read(Table("leases", self.app.name, processor), key)
        return None if row is None else Lease.of(row)

    def close(self) -> None:
        """Clears all workers away."""
        for account in self.accounts.values():
            account.is_closed = True
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.dispose()
        self.topics.close()

    def caught_up(self) -> Callable[[], bool]:
        """Tells whether all that the sources held when this was called is processed.

        What stands in quarantine, or at a gap, is not waited for.
        """
        reached = {name: _Reached(account, self.topics) for name, account in self.accounts.items()}
        return lambda: all(reached[name].is_over(self.leases, name) for name in reached)

    def _wrote(self, name: str, table: Table, before: Row | None, after: Row | None) -> None:
        self._writes += 1
        if self.on_write is not None:
            self.on_write(name, table, before, after)

    def _hear(self, _: str, event: AppEvent) -> None:
        self.events.append(event)
        self.app.tell(event)


class _Reached:
    """Whether one processor has come as far as its source was."""

    def __init__(self, account: Account, topics: WorldTopics) -> None:
        self._account = account
        self._topics = topics
        self._listings = account.tap.listings
        self._tips = dict(account.tap.tips)

    def is_over(self, leases_of: Callable[[str], Mapping[str, Lease]], name: str) -> bool:
        tap = self._account.tap
        if tap.listings == self._listings:
            return False
        leases = leases_of(name)
        if TOTAL in leases:
            return _is_blocked(leases[TOTAL], set()) or all(map(self._is_read, tap.shards))
        if not leases.keys() >= tap.shards.keys():
            return False
        blocked: set[str] = set()
        while more := {key for key, lease in leases.items() if key not in blocked and _is_blocked(lease, blocked)}:
            blocked |= more
        return all(self._is_through(lease) for key, lease in leases.items() if key not in blocked)

    def _is_through(self, lease: Lease) -> bool:
        tap = self._account.tap
        if lease.completed:
            return True
        if tap.shards[lease.key].closed if lease.key in tap.shards else False:
            return False  # it is to be read to its end
        return self._is_read(lease.key)

    def _is_read(self, shard_id: str) -> bool:
        tap = self._account.tap
        has_come = shard_id in tap.ended or tap.tips.get(shard_id, 0) > self._tips.get(shard_id, 0)
        if isinstance(tap.source, Topic) and self._topics.has_more(tap.source, shard_id, tap.last(shard_id)):
            return False  # another processor has written to it meanwhile
        return has_come and tap.seen.get(shard_id, {}).keys() <= self._account.finished.get(shard_id, set())


def _is_blocked(lease: Lease, blocked: set[str]) -> bool:
    told = lease.progress
    return QUARANTINE in told or GAP in told or (not lease.completed and any(key in blocked for key in lease.parents))


class _Lent(Store):
    """A store that others have, too, with who is told of writes; a worker that ends does not close it."""

    def __init__(self, store: Store, wrote: Callable[[Table, Row | None, Row | None], None]) -> None:
        self._store = store
        self._wrote = wrote

    def scan(self, table: Table) -> list[Row]:
        return self._store.scan(table)

    def read(self, table: Table, key: str) -> Row | None:
        return self._store.read(table, key)

    def tables(self, kind: str) -> list[Table]:
        return self._store.tables(kind)

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        before = self._store.read(table, row.key)
        after = self._store.write(table, row, expected)
        self._wrote(table, before, after)
        return after

    def delete(self, table: Table, key: str, expected: int) -> None:
        before = self._store.read(table, key)
        self._store.delete(table, key, expected)
        self._wrote(table, before, None)

    def move_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        self._store.move_checkpoint(connection, table, move)  # the caller's transaction decides whether that stands

    async def amove_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        await self._store.amove_checkpoint(connection, table, move)


def _sources_of(app: App, given: Any) -> tuple[dict[str, Source[Any]], Turnable | None]:
    """What each processor reads, and the clock of a simulated service."""
    if given is None:
        return {name: locate(processor.source) for name, processor in app.processors.items()}, None
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(app.processors))
        if unknown:
            raise InvalidOption(f"{app.name} has no processor {unknown[0]!r}; it has {', '.join(app.processors)}")
        opened = {name: _source_of(told) for name, told in given.items()}
        missing = {
            name: (locate(processor.source), None) for name, processor in app.processors.items() if name not in opened
        }
        found = opened | missing
    else:
        found = dict.fromkeys(app.processors, _source_of(given))
    clocks = [clock for _, clock in found.values() if clock is not None]
    return {name: source for name, (source, _) in found.items()}, clocks[0] if clocks else None


def _source_of(given: Any) -> tuple[Source[Any], Turnable | None]:
    if isinstance(given, Source):
        return given, None
    if hasattr(given, "stream_arn") and hasattr(given, "client"):  # a Simulator, which is of a room below
        from streamiter.source.dynamodb import DynamoDBStreams

        return DynamoDBStreams(given.stream_arn, client=given.client()), given.clock
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return GivenRecords(given), None
    raise InvalidOption(
        f"an app is tested on a list of records, a Source, a Simulator, or a mapping of these by processor, "
        f"not on a {type(given).__name__}"
    )
