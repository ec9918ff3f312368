"""Made-up timers, in each worker and in the leader; and what must hold of their runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from streamiter.lease.lease import TOTAL, Lease
from streamiter.lease.operator import OPERATOR
from streamiter.store import Store, Table

LEADER = Table("leader", "made-up")


class Run(NamedTuple):
    """One run: of which timer, for which moment, by which leader."""

    timer: str
    moment: int
    fence: int
    owner: str


class MadeUpTimers:
    """A world's timers. `wall` is the true time, in seconds since 1970; `wrong` is told of a law that is broken."""

    def __init__(self, chance: Random, wall: Callable[[], float], wrong: Callable[[str], None]) -> None:
        self.period = chance.choice((1, 2, 5))
        self.is_async = chance.random() < 0.6
        self.seconds = chance.choice((0.0, 0.3, 0.9)) * self.period
        self.runs: list[Run] = []
        self.store: Store | None = None
        self._begun: set[tuple[str, int]] = set()
        self._wall, self._wrong = wall, wrong

    def declare(self, app: Any) -> None:
        """Declares them in the app."""
        if self.is_async:

            @app.timer(self.period, on_leader=True)
            async def report(lease: Any) -> None:
                self._run("report", lease)
                await asyncio.sleep(self.seconds)

        else:

            @app.timer(self.period, on_leader=True, name="report")
            def report_plainly(lease: Any) -> None:
                self._run("report", lease)

        @app.timer(3 * self.period, on_leader=True)
        async def sweep(lease: Any) -> None:
            self._run("sweep", lease)
            await asyncio.sleep(self.seconds)

        @app.timer(7)
        async def flush() -> None:
            await asyncio.sleep(0.1)

    def leader(self) -> Lease | None:
        """The leader's lease, as it stands."""
        assert self.store is not None
        row = self.store.read(LEADER, TOTAL)
        return None if row is None else Lease.of(row)

    def check_since(self, wall: float) -> None:
        """Since that moment nothing went wrong: each run that was due took place."""
        began, now = int(wall), int(self._wall())
        for name, period in (("report", self.period), ("sweep", 3 * self.period)):
            due = range((began // period + 1) * period, now - now % period, period)
            missed = [moment for moment in due if (name, moment) not in self._begun]
            assert not missed, f"law 14: {name} did not run at {missed}"

    def _run(self, name: str, lease: Any) -> None:
        period = self.period if name == "report" else 3 * self.period
        moment = int(self._wall()) // period * period
        row = self.leader()
        if row is None or (row.owner != OPERATOR and (row.owner, row.fence) != (lease.owner, lease.fence)):
            self._wrong(f"{lease.owner} ran {name} as the leader (fence {lease.fence}), and the lease says {row}")
        if (name, moment) in self._begun:
            self._wrong(f"{lease.owner} ran {name} once more for {moment}")
        self._begun.add((name, moment))
        self.runs.append(Run(name, moment, lease.fence, lease.owner))
