"""One engine over a real store and a real source, by the machine's clock, in one thread: for tests beside other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamiter.clock import SystemClock, microseconds
from streamiter.errors import Conflict, TransientError
from streamiter.lease import Engine, Lease, Order, Pace, Shards, Worker
from streamiter.position import After, Horizon, Place
from streamiter.source.base import Source
from streamiter.store import Store, Table


class Driver:
    """Does what its engine wishes. `records` is what was delivered: shard and partition key, in order."""

    def __init__(self, name: str, store: Store, source: Source, app: str, *, failover_seconds: float) -> None:
        self.clock = SystemClock()
        self.store, self.source = store, source
        self.leases, self.workers = Table("leases", app), Table("workers", app)
        self.records: list[tuple[str, str]] = []
        self.has_left = False
        self._iterators: dict[tuple[str, int], Any] = {}
        self._places: dict[tuple[str, int], Place | None] = {}
        pace = Pace(failover_us=microseconds(failover_seconds))
        self.engine = Engine(name, self._now(), shards=Shards("TRIM_HORIZON"), pace=pace, order=Order(batch=5))

    def run(self, until: Callable[[], bool], *, seconds: float) -> None:
        ends = self.clock.monotonic() + seconds
        while not (until() or self.has_left):
            assert self.clock.monotonic() < ends, f"not done after {seconds} s: {self.records}, {self.engine.held}"
            self.engine.tick(self._now())
            wishes = self.engine.take_wishes()
            for wish in wishes:
                getattr(self, f"_{type(wish).__name__}")(wish)
            if not wishes:
                self.clock.sleep(0.02)

    def leave(self) -> None:
        self.engine.leave(self._now())
        self.run(lambda: False, seconds=30)

    def _now(self) -> int:
        return microseconds(self.clock.monotonic())

    def _Look(self, _: Any) -> None:
        found = [Lease.of(row) for row in self.store.scan(self.leases)]
        workers = [Worker.of(row) for row in self.store.scan(self.workers)]
        self.engine.looked(found, workers, self._now())

    def _WriteLease(self, wish: Any) -> None:
        self._write(self.leases, wish.lease.row, wish, Lease.of)

    def _WriteWorker(self, wish: Any) -> None:
        self._write(self.workers, wish.worker.row, wish, Worker.of)

    def _write(self, table: Table, row: Any, wish: Any, of: Callable[[Any], Any]) -> None:
        try:
            version = self.store.write(table, row, wish.expected).version
        except Conflict as conflict:
            standing = None if conflict.standing is None else of(conflict.standing)
            self.engine.refused(wish, standing, self._now())
        except TransientError:
            self.engine.failed(wish, self._now())
        else:
            self.engine.written(wish, version, self._now())

    def _DeleteWorker(self, wish: Any) -> None:
        self.store.delete(self.workers, wish.id, wish.expected)

    def _ListShards(self, _: Any) -> None:
        shards: list[Any] = []
        after: str | None = None
        while True:
            page = self.source.list_shards(after)
            shards += page.shards
            if page.next is None:
                break
            after = page.next
        self.engine.shards_listed(shards, page.service_us or self._now(), self._now())

    def _Begin(self, _: Any) -> None:
        pass

    def _Drain(self, _: Any) -> None:
        pass

    def _Stop(self, _: Any) -> None:
        pass

    def _Leave(self, _: Any) -> None:
        self.has_left = True

    def _Fetch(self, wish: Any) -> None:
        key = (wish.key, wish.fence)
        if key not in self._iterators:
            number, _, since = wish.after.partition("/")
            place = Place.of(number, int(since or 0)) if number.isdigit() else None
            self._places[key] = place
            self._iterators[key] = self.source.open_iterator(wish.key, Horizon() if place is None else After(place))
        page = self.source.fetch(self._iterators[key], 100)
        found = []
        for record in page.records:
            last = self._places[key]
            place = Place.of(record.sequence_number) if last is None else last.next(record.sequence_number)
            self._places[key] = place
            found.append((f"{place.text}/{place.since}" if place.since else place.text, None, record))
        now = self._now()
        self._iterators[key] = page.next
        if page.next is None:
            self.engine.ended(wish.key, wish.fence, now, records=found, children=page.children)
        else:
            self.engine.paged(wish.key, wish.fence, found, now, again_us=now + 100_000)

    def _Deliver(self, wish: Any) -> None:
        assert self.engine.may_deliver(wish.key, wish.fence, self._now())
        for entry in wish.entries:
            self.records.append((wish.key, str(entry.record.partition_key)))
        self.engine.acked(wish.key, wish.fence, [entry.number for entry in wish.entries], self._now())
