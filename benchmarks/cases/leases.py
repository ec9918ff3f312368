"""Leases: what they cost in writes, how they spread over workers that join, and how many writes a store takes."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import streamiter.lease
from benchmarks.measure import Scale
from benchmarks.results import Result, Row
from streamiter.store import Row as StoreRow
from streamiter.store import Store, Table, Write
from streamiter.store.memory import MemoryStore
from streamiter.store.postgres import PostgresStore
from streamiter.store.redis import RedisStore
from streamiter.store.sqlite import SqliteStore
from tests.fleet.agenda import SECOND, Agenda
from tests.fleet.observer import Observer
from tests.fleet.source import Source
from tests.fleet.store import Store as SimulatedStore
from tests.fleet.store import Weather
from tests.fleet.worker import Process, Processor
from tests.store import servers

TITLE = "leases: 1,000 over 10 workers, failover 10 s"
FAILOVER = 10 * SECOND
KCL_WRITES_A_MINUTE = 18  # a renewal each third of the failover
WORKERS = 10


def run(scale: Scale) -> Result:
    """Counts come from a simulated fleet and do not vary. The stores' rates are this machine's, by one writer."""
    leases = scale.of(1000, 50)
    spread = _spread(leases)
    rates = {}
    with ExitStack() as stack:
        for name, store in _stores(stack).items():
            rates[name] = {"single": _rate(store, 1, scale), "by_100": _rate(store, 100, scale)}
    needed = leases - leases // WORKERS
    return Result(
        [
            Row("lease writes per lease and minute", "KCL's", [spread["writes"] / KCL_WRITES_A_MINUTE], 1, True, True),
            Row("moves until balanced", "moves needed", [spread["moves"] / needed], 1, True, True),
            Row("time until balanced", "two failovers", [spread["seconds"] / 20], 1, True, True),
        ],
        {"leases": leases, "workers": WORKERS, **spread, "writes_a_second": rates},
    )


def _spread(leases: int) -> dict[str, float]:
    """One worker holds all; nine join at once."""
    agenda, chance = Agenda(), Random(1)
    store = SimulatedStore(agenda, chance, Weather())
    store.is_calm = True
    source = Source(agenda, chance, tells_children=True)
    source.is_calm = True
    observer = Observer(agenda, store, source, FAILOVER, 3 * FAILOVER, by_key=False)
    for _ in range(leases):
        source.make(lag=0)
    writes: Counter[str] = Counter()
    store.watchers.append(lambda *written: writes.update([written[1]]))

    def join(name: str) -> None:
        process = Process(name, agenda, store, source, observer, Processor(chance), 1.0)
        observer.joined(name, 1.0)
        shards = streamiter.lease.Shards("TRIM_HORIZON")
        process.start(streamiter.lease.Engine(name, process.clock, shards=shards))

    join("w0")
    agenda.run_until(3 * FAILOVER)
    before = writes["leases"]
    agenda.run_until(9 * FAILOVER)
    a_minute = (writes["leases"] - before) / leases
    observer.moves = 0
    for number in range(1, WORKERS):
        join(f"w{number}")
    began = agenda.now
    names = [f"w{number}" for number in range(WORKERS)]
    while agenda.now < began + 10 * FAILOVER and not _is_balanced(observer, names, leases):
        agenda.run_until(agenda.now + SECOND // 4)
    assert not observer.violations, observer.violations[0]
    return {"writes": a_minute, "moves": observer.moves, "seconds": (agenda.now - began) / SECOND}


def _is_balanced(observer: Observer, names: list[str], leases: int) -> bool:
    counts = observer.owned(names)
    least, odd = divmod(leases, len(names))
    return set(counts) == set(names) and all(least <= count <= least + bool(odd) for count in counts.values())


def _stores(stack: ExitStack) -> dict[str, Store]:
    """One store of each kind that this machine can run; DynamoDB's rate is the service's affair."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    redis = stack.enter_context(servers.valkey(folder))
    postgres = stack.enter_context(servers.postgres())
    stores: dict[str, Store] = {
        "memory": MemoryStore(),
        "sqlite": SqliteStore(folder / "leases.db"),
        "redis": RedisStore(f"redis://127.0.0.1:{redis}/0"),
        "postgres": PostgresStore(f"postgresql://postgres@127.0.0.1:{postgres}/postgres"),
    }
    for store in stores.values():
        stack.callback(store.close)
    return stores


def _rate(store: Store, together: int, scale: Scale) -> float:
    table = Table("rates", "bench", str(together))
    rounds = scale.of(2000, 20) // together + 1
    rows: list[Any] = [StoreRow(f"r{number}", {"owner": "w"}) for number in range(together)]
    began = time.monotonic()
    for version in range(rounds):
        store.write_all(table, [Write(row, version or None) for row in rows])
    return rounds * together / (time.monotonic() - began)
