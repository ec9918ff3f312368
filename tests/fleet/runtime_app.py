"""A made-up processor of any form, with a policy; its function is slow, raises, hangs, lets go of its iterator, commits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fleet.runtime_books import Books, Transaction
from tests.fleet.runtime_kit import Kit


class Boom(Exception):
    """What the functions raise."""


@dataclass
class Item:
    """What the model makes of a row."""

    id: str
    n: int


class Behaviour:
    """How long records take, which fail, which hang, and when a function just returns."""

    def __init__(self, chance: Random, hang_seconds: Callable[[], float]) -> None:
        self.chance = chance
        self.mean = chance.choice((0.0, 0.002, 0.03, 0.2))
        self.raises = chance.choice((0.0, 0.0, 0.02, 0.1))
        self.hangs = 0.01 if chance.random() < 0.15 else 0.0
        self.returns = chance.choice((0.0, 0.05))
        self.hook_seconds = chance.choice((0.0, 0.5))
        self.is_calm = False
        self._hang_seconds = hang_seconds

    @property
    def fails(self) -> bool:
        return not self.is_calm and self.chance.random() < self.raises

    @property
    def leaves(self) -> bool:
        return not self.is_calm and self.chance.random() < self.returns

    def at_once(self) -> None:
        if self.fails:
            raise Boom

    async def take_time(self) -> None:
        if not self.is_calm and self.chance.random() < self.hangs:
            await asyncio.sleep(self._hang_seconds())
        elif self.mean:
            await asyncio.sleep(self.chance.uniform(0, 2 * self.mean))
        self.at_once()


class MadeUpProcessor:
    """One processor of a world's app. `books`: the database in which it is to commit, if it does."""

    def __init__(self, name: str, chance: Random, kit: Kit, behaviour: Behaviour, books: Books | None) -> None:
        self.name, self.kit, self.behaviour, self.books = name, kit, behaviour, books
        self._chance = chance
        self.form = chance.choice(("record", "value", "batch", "events", "class", "record", "batch"))
        if books is not None:
            self.form = chance.choice(("batch", "batch", "class"))
        self.order = "key" if self.form in ("record", "value") and chance.random() < 0.5 else "shard"
        if chance.random() < 0.2:
            self.order = "total"
        self.is_async = self.form == "events" or chance.random() < 0.6
        self.options: dict[str, Any] = {}

    def declare(self, app: Any, source: Any) -> None:
        """Declares it in the app."""
        chance = self._chance
        options: dict[str, Any] = {
            "order": self.order,
            "size": chance.choice((1, 4, 100)),
            "within": chance.choice((0.1, 1.0)),
            "in_flight": chance.choice((5, 20, 1000)),
            "on_error": self._policy(),
        }
        if self.order == "key":
            options["concurrency"] = chance.choice((1, 4, 32))
        if chance.random() < 0.2:
            options["where"] = lambda record: record.new["n"] % 3 != 0
        if self.form == "value":
            options["model"] = Item
        if self.form != "events" and chance.random() < 0.2:
            options["middleware"] = (self._middleware,)
        self.options = options
        app.processor(source, name=self.name, **options)(self._function())

    def __str__(self) -> str:
        told = {key: value for key, value in self.options.items() if key not in ("where", "middleware", "model")}
        more = "".join(f", {key}" for key in ("where", "middleware") if key in self.options)
        kind = "async" if self.is_async else "plain"
        return f"{kind} {self.form}{' that commits' if self.books else ''}, {told}{more}"

    def _policy(self) -> Any:
        app, chance = self.kit.app, self._chance
        policies = (
            app.Retry(after=[0.1, 0.5, 1, 5] * 5),
            app.Retry(after=[0.2], then=app.Quarantine()),
            app.Quarantine(),
            app.Halt(),
            app.Retry(after=[0.2], then=app.Ignore()),
            app.Ignore(),
        )
        # Who commits passes over nothing: each record has its effect.
        return chance.choice(policies if self.books is None else (*policies[:4], policies[0]))

    async def _middleware(self, told: Any, call_next: Any) -> None:
        await asyncio.sleep(0)
        await call_next(told)
        if self.behaviour.chance.random() < 0.1:
            self.behaviour.at_once()

    def _function(self) -> Any:
        kind = "async" if self.is_async else "plain"
        return getattr(self, f"_{kind}_{self.form}{'_that_commits' if self.books else ''}")()

    def _begin(self, lease: Any) -> Transaction:
        assert self.books is not None
        return self.books.begin(lease.owner, self.name)

    # -- the forms

    def _plain_record(self) -> Any:
        def work(record: Any) -> None:
            self.behaviour.at_once()

        return work

    def _async_record(self) -> Any:
        async def work(record: Any, lease: Any) -> None:
            await self.behaviour.take_time()

        return work

    def _plain_value(self) -> Any:
        def work(value: Any) -> None:
            assert isinstance(value, Item)
            self.behaviour.at_once()

        return work

    def _async_value(self) -> Any:
        async def work(value: Any) -> None:
            assert isinstance(value, Item)
            await self.behaviour.take_time()

        return work

    def _plain_batch(self) -> Any:
        def work(batch: Any) -> None:
            self.behaviour.at_once()

        return work

    def _async_batch(self) -> Any:
        async def work(batch: Any, lease: Any) -> None:
            for _ in batch:
                await self.behaviour.take_time()

        return work

    def _plain_class(self) -> Any:
        behaviour = self.behaviour

        class Work:
            def initialize(self, lease: Any) -> None:
                behaviour.at_once()

            def process(self, batch: Any) -> None:
                behaviour.at_once()

            def shutdown_requested(self) -> None:
                behaviour.at_once()

        return Work

    def _async_class(self) -> Any:
        behaviour = self.behaviour

        class Work:
            async def initialize(self, lease: Any) -> None:
                await asyncio.sleep(behaviour.hook_seconds)
                behaviour.at_once()

            async def process(self, batch: Any) -> None:
                await behaviour.take_time()

            async def lease_lost(self) -> None:
                await asyncio.sleep(behaviour.hook_seconds)

            async def shard_ended(self) -> None:
                behaviour.at_once()

        return Work

    # -- exactly once

    def _commit(self, batch: Any) -> None:
        with self._begin(batch.lease) as transaction:
            for record in batch:
                transaction.insert(record)
            self.behaviour.at_once()
            batch.commit(transaction)
            self.behaviour.at_once()
            transaction.commit()
        self.behaviour.at_once()

    async def _commit_async(self, batch: Any) -> None:
        with self._begin(batch.lease) as transaction:
            for record in batch:
                transaction.insert(record)
                await self.behaviour.take_time()
            if not self.behaviour.is_calm and self.behaviour.chance.random() < 0.06:
                transaction.stall()  # longer than a failover: the lease may be another worker's by now
                await asyncio.sleep(0.001)
            if self.behaviour.chance.random() < 0.5:
                batch.commit(transaction)
            else:
                await batch.acommit(transaction)
            if self.behaviour.chance.random() < 0.5:
                await self.behaviour.take_time()
            transaction.commit()
        await self.behaviour.take_time()

    def _plain_batch_that_commits(self) -> Any:
        def work(batch: Any) -> None:
            self._commit(batch)

        return work

    def _async_batch_that_commits(self) -> Any:
        async def work(batch: Any) -> None:
            await self._commit_async(batch)

        return work

    def _plain_class_that_commits(self) -> Any:
        commit = self._commit

        class Work:
            def process(self, batch: Any) -> None:
                commit(batch)

        return Work

    def _async_class_that_commits(self) -> Any:
        commit = self._commit_async

        class Work:
            async def process(self, batch: Any) -> None:
                await commit(batch)

        return Work

    def _async_events(self) -> Any:
        way = self._chance.choice(("records", "records", "take", "ack"))

        async def records(events: Any) -> None:
            async for _ in events.records():
                await self.behaviour.take_time()
                if self.behaviour.leaves:
                    break

        async def take(events: Any) -> None:
            while found := await events.take(4, within=0.2):
                for _ in found:
                    await self.behaviour.take_time()
                if self.behaviour.leaves:
                    return

        async def ack(events: Any) -> None:
            while found := await events.take(3, within=0.5):
                for record in reversed(found):
                    await self.behaviour.take_time()
                    events.ack(record)
                    if self.behaviour.leaves:
                        return

        return {"records": records, "take": take, "ack": ack}[way]
