"""A made-up process: it drives one engine as a runtime does, by a clock of its own; it can die, stand still and leave."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from tests.fleet.agenda import SECOND, Agenda
from tests.fleet.source import Source
from tests.fleet.store import Store, TrueRow

PAGE = 7
TOTAL = "total"


class Witness(Protocol):
    """Who is told of what a process does."""

    def delivered(self, worker: str, key: str, fence: int, places: list[int]) -> None: ...
    def acked(self, worker: str, key: str, fence: int, place: int) -> None: ...
    def failed(self, worker: str, key: str, fence: int, places: list[int]) -> None: ...
    def left(self, worker: str) -> None: ...


class Processor:
    """How long records take, which fail, and which hang."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.mean = chance.choice((5_000, 50_000, 300_000))
        self.raises = chance.choice((0.0, 0.0, 0.05))
        self.hangs = 0.0
        self.hung_until = 0
        self.slow_key = ""
        self.slow = 0

    def time(self, key: str, now: int) -> int:
        if key == self.slow_key:
            return self.slow
        if self.chance.random() < self.hangs:
            return max(self.hung_until - now, 0)
        return self.chance.randrange(2 * self.mean)


class Process:
    """One worker. `engine` is made by the caller; wishes become calls whose answers come back as events."""

    def __init__(
        self,
        name: str,
        agenda: Agenda,
        store: Store,
        source: Source,
        witness: Witness,
        processor: Processor,
        rate: float,
    ) -> None:
        self.name = name
        self.agenda, self.store, self.source, self.witness, self.processor = agenda, store, source, witness, processor
        self.rate = rate
        self._offset = processor.chance.randrange(10**9) - agenda.now
        self.engine: Any = None
        self.is_dead = False
        self.is_stopped = False
        self.by_key = False
        self.is_leaving = False
        self._missed: list[Callable[[], None]] = []
        self._tick_at: int | None = None
        self.on_write: Callable[[], None] | None = None  # what happens once the next write is sent
        self.log: Callable[[str], None] | None = None

    # -- time

    @property
    def clock(self) -> int:
        return int(self.agenda.now * self.rate) + self._offset

    def _when(self, due: int) -> int:
        return int((due - self._offset) / self.rate) + 1

    # -- life

    def start(self, engine: Any) -> None:
        self.engine = engine
        self._do_wishes()

    def die(self) -> None:
        self.is_dead = True

    def stop(self) -> None:
        self.is_stopped = True

    def go_on(self) -> None:
        self.is_stopped = False
        missed, self._missed = self._missed, []
        for call in missed:
            self.happen(call)

    def leave(self) -> None:
        self.is_leaving = True
        self.happen(lambda: self.engine.leave(self.clock))

    def happen(self, call: Callable[[], None]) -> None:
        """An event reaches the engine, unless the process is dead; later, where it stands still."""
        if self.is_dead:
            return
        if self.is_stopped:
            self._missed.append(call)
            return
        call()
        self._do_wishes()

    def _tick(self) -> None:
        self._tick_at = None
        self.happen(lambda: self.engine.tick(self.clock))

    # -- wishes

    def _do_wishes(self) -> None:
        rounds = 0
        while wishes := self.engine.take_wishes():
            rounds += 1
            if rounds > 200:
                raise AssertionError(f"{self.name} never stops wishing: {wishes}")
            for wish in wishes:
                if self.log is not None:
                    self.log(f"{self.name} wishes {wish}")
                getattr(self, f"_do_{type(wish).__name__}")(wish)
                if self.is_dead:
                    return
        due = self.engine.due_us
        if due is not None:
            moment = max(self._when(due), self.agenda.now)
            if self._tick_at is None or moment < self._tick_at:
                self._tick_at = moment
                self.agenda.at(moment, lambda: self._tick() if self._tick_at == moment else None)

    def _do_Look(self, _: Any) -> None:
        found: dict[str, dict[str, TrueRow]] = {}

        def leases(outcome: str, rows: Any) -> None:
            if outcome != "ok":
                self.happen(lambda: self.engine.look_failed(self.clock))
                return
            found["leases"] = dict(rows)
            if not self.is_dead:
                self.store.scan(self.name, "workers", workers)

        def workers(outcome: str, rows: Any) -> None:
            if outcome != "ok":
                self.happen(lambda: self.engine.look_failed(self.clock))
                return
            told = [_standing(row) for row in found["leases"].values()], [_standing(row) for row in rows.values()]
            self.happen(lambda: self.engine.looked(*told, self.clock))

        self.store.scan(self.name, "leases", leases)

    def _do_WriteLease(self, wish: Any) -> None:
        self._write("leases", wish.lease.key, wish.lease, wish)

    def _do_WriteWorker(self, wish: Any) -> None:
        self._write("workers", wish.worker.id, wish.worker, wish)

    def _write(self, table: str, key: str, value: Any, wish: Any) -> None:
        def answer(outcome: str, told: Any) -> None:
            def tell() -> None:
                if outcome == "ok":
                    self.engine.written(wish, told, self.clock)
                elif outcome == "conflict":
                    self.engine.refused(wish, None if told is None else _standing(told), self.clock)
                else:
                    self.engine.failed(wish, self.clock)

            self.happen(tell)

        self.store.write(self.name, table, key, value, wish.expected, answer)
        if self.on_write is not None and table == "leases":
            call, self.on_write = self.on_write, None
            call()

    def _do_DeleteLease(self, wish: Any) -> None:
        self.store.delete(self.name, "leases", wish.key, wish.expected)

    def _do_DeleteWorker(self, wish: Any) -> None:
        self.store.delete(self.name, "workers", wish.id, wish.expected)

    def _do_ListShards(self, _: Any) -> None:
        pause = 20_000 + self.processor.chance.randrange(50_000)

        def answer() -> None:
            if not self.source.is_calm and self.processor.chance.random() < 0.1:
                self.happen(lambda: self.engine.listing_failed(self.clock))
                return
            shards = self.source.listing(self.name)
            self.happen(lambda: self.engine.shards_listed(shards, self.agenda.now, self.clock))

        self.agenda.after(pause, answer)

    def _do_Begin(self, _: Any) -> None:
        pass

    def _do_Drain(self, _: Any) -> None:
        pass

    def _do_Stop(self, _: Any) -> None:
        pass

    def _do_Leave(self, _: Any) -> None:
        self.is_dead = True
        self.witness.left(self.name)

    def _do_Fetch(self, wish: Any) -> None:
        after = int(wish.after) if wish.after.isdigit() else 0

        def answer() -> None:
            if self.is_dead:
                return
            if not self.source.is_calm and self.processor.chance.random() < 0.05:
                self.happen(lambda: self.engine.fetch_at(wish.key, wish.fence, self.clock + SECOND // 2))
                return
            places, is_end = self.source.page(wish.key, after, PAGE)
            if not places and not is_end:
                self.source.await_news(wish.key, answer)
                return
            groups = self.source.shards[wish.key].records
            records = [(str(place), groups[place - 1], place) for place in places]
            if not is_end:
                self.happen(lambda: self.engine.paged(wish.key, wish.fence, records, self.clock))
                return
            told = {"records": records, "children": self._children(wish.key)}
            self.happen(lambda: self.engine.ended(wish.key, wish.fence, self.clock, **told))

        self.agenda.after(5_000, answer)

    def _children(self, key: str) -> tuple[Any, ...]:
        from streamiter.shard import Shard

        if not self.source.tells_children:
            return ()
        return tuple(Shard(child.id, child.parents, child.closed) for child in self.source.children(key))

    def _do_Deliver(self, wish: Any) -> None:
        if not all(
            self.engine.may_deliver(wish.key, wish.fence, self.clock, entry.number if self.by_key else None)
            for entry in wish.entries
        ):
            self.engine.returned(wish.key, wish.fence, [entry.number for entry in wish.entries], self.clock)
            return
        self.witness.delivered(self.name, wish.key, wish.fence, [entry.record for entry in wish.entries])
        moment = self.agenda.now
        for entry in wish.entries:
            took = self.processor.time(wish.key, moment)
            moment = (self.agenda.now if self.by_key else moment) + took
            fails = self.processor.chance.random() < self.processor.raises and not self.source.is_calm
            rest = [entry] if self.by_key else [other for other in wish.entries if other.number >= entry.number]
            if fails:
                self.agenda.at(moment, lambda rest=rest: self.happen(lambda: self._fail(wish, rest)))  # type: ignore[misc]
                if not self.by_key:
                    return
            else:
                self.agenda.at(moment, lambda entry=entry: self.happen(lambda: self._ack(wish, entry)))  # type: ignore[misc]

    def _ack(self, wish: Any, entry: Any) -> None:
        self.witness.acked(self.name, wish.key, wish.fence, entry.record)
        self.engine.acked(wish.key, wish.fence, [entry.number], self.clock)

    def _fail(self, wish: Any, entries: list[Any]) -> None:
        self.witness.failed(self.name, wish.key, wish.fence, [entry.record for entry in entries])
        numbers = [entry.number for entry in entries]
        self.engine.nacked(wish.key, wish.fence, numbers, self.clock + SECOND // 4, self.clock)


def _standing(row: TrueRow) -> Any:
    """The value as the store holds it: with its version."""
    return row.value._replace(version=row.version)
