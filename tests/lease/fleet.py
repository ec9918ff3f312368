"""A small fleet without bad days, for tests that look at one thing."""

from __future__ import annotations

from random import Random

from streamiter.lease import Engine, Lease, Order, Pace, Shards
from streamiter.store import Row, Store, Table
from tests.fleet.agenda import SECOND, Agenda
from tests.fleet.observer import Observer
from tests.fleet.source import Source
from tests.fleet.store import Store as SimulatedStore
from tests.fleet.store import TrueRow, Weather
from tests.fleet.worker import Process, Processor

FAILOVER = 10 * SECOND
LEASES = Table("leases", "shop", "orders")


class Fleet:
    """Workers on one made-up stream, by true time."""

    def __init__(self, shards: int = 1, *, total: bool = False) -> None:
        self.agenda = Agenda()
        self.store = SimulatedStore(self.agenda, Random(1), Weather())
        self.store.is_calm = True
        self.source = Source(self.agenda, Random(2), tells_children=True)
        self.source.is_calm = True
        self.observer = Observer(self.agenda, self.store, self.source, FAILOVER, 3 * FAILOVER, by_key=False)
        self.processor = Processor(Random(3))
        self.processor.mean, self.processor.raises = 5_000, 0.0
        self.ids = [self.source.make(lag=0) for _ in range(shards)]
        self.total = total

    def join(self, name: str, *, start: str = "TRIM_HORIZON", rate: float = 1.0) -> Process:
        process = Process(name, self.agenda, self.store, self.source, self.observer, self.processor, rate)
        self.observer.joined(name, rate)
        shards = None if self.total else Shards(start)
        options = {"pace": Pace(failover_us=FAILOVER), "order": Order(batch=5), "wall_us": 1_750_000_000 * SECOND}
        process.start(Engine(name, process.clock, shards=shards, start=start, **options))
        return process

    def run(self, seconds: float) -> None:
        self.agenda.run_until(self.agenda.now + int(seconds * SECOND))
        assert not self.observer.violations, self.observer.violations[0]

    def append(self, count: int = 5) -> None:
        for shard in self.source.open_shards():
            self.source.append(shard, count)

    def lease(self, key: str) -> Lease:
        row = self.store.rows["leases"][key]
        lease: Lease = row.value._replace(version=row.version)
        return lease

    @property
    def as_store(self) -> Store:
        return Near(self.store)


class Near(Store):
    """The made-up store as an operator's tool sees it: its calls are done at once."""

    def __init__(self, store: SimulatedStore) -> None:
        self._store = store

    def read(self, table: Table, key: str) -> Row | None:
        row = self._store.rows[table.kind].get(key)
        return None if row is None else row.value.row._replace(version=row.version)

    def scan(self, table: Table) -> list[Row]:
        return [row.value.row._replace(version=row.version) for row in self._store.rows[table.kind].values()]

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        standing = self._store.rows[table.kind].get(row.key)
        assert (None if standing is None else standing.version) == expected
        self._store.rows[table.kind][row.key] = TrueRow((expected or 0) + 1, Lease.of(row))
        return row._replace(version=(expected or 0) + 1)

    def delete(self, table: Table, key: str, expected: int) -> None:
        raise AssertionError("no operator removes a row")

    def tables(self, kind: str) -> list[Table]:
        raise AssertionError("the operator knows the table")
