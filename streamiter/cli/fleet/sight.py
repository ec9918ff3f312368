"""The sight of a fleet: one look at its rows after the other, and what follows from them; pure, for time comes in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streamiter.cli.fleet.states import DONE, STUCK, TROUBLES, state_of
from streamiter.lease import Lease, Worker
from streamiter.lease.lease import ACKED, BUSY, LAG, RATE, SINCE
from streamiter.store import Table


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """One lease, as its row tells it."""

    lease: str
    state: str
    owner: str | None
    fence: int
    held_seconds: float | None  # since its owner took it, by the taker's clock
    rate: float | None  # records a second lately
    lag_seconds: float | None
    busy_seconds: float | None  # the processor has had the same records for so long


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker. A row shows nothing but that it was written; so a worker is as alive as its last sign."""

    worker: str
    leases: int
    rate: float
    lag_seconds: float | None
    stuck: int  # leases that it cannot hand over, or whose processor hangs
    is_leaving: bool
    silent_seconds: (
        float | None
    )  # since its row was seen to change last, or first looked at; None: only one look was taken


@dataclass(frozen=True, slots=True)
class ProcessorView:
    """One processor of an app: its workers, and its leases that are not done, troubles first, then the furthest behind."""

    app: str
    processor: str
    workers: tuple[WorkerRow, ...]
    leases: tuple[LeaseRow, ...]
    states: Mapping[str, int]  # how many leases are in each state
    acked: int
    rate: float
    lag_seconds: float | None  # of the lease that is furthest behind


class Sight:
    """Remembers when each worker's row was seen to change."""

    def __init__(self) -> None:
        self._beats: dict[tuple[Table, str], tuple[int, float]] = {}

    def look(
        self, table: Table, leases: Iterable[Lease], workers: Iterable[Worker], now: float, monotonic: float
    ) -> ProcessorView:
        """What these rows say of a processor. `table` is that of its leases, `now` the time since 1970."""
        found = list(leases)
        rows = [_lease_row(lease, now) for lease in found]
        return ProcessorView(
            table.app,
            table.stream,
            tuple(self._worker_rows(table, rows, workers, monotonic)),
            tuple(sorted((row for row in rows if row.state != DONE), key=_urgency)),
            dict(Counter(row.state for row in rows)),
            sum(int(lease.progress.get(ACKED, 0)) for lease in found),
            round(sum(row.rate or 0.0 for row in rows), 1),
            _greatest(rows),
        )

    def _worker_rows(
        self, table: Table, rows: Iterable[LeaseRow], workers: Iterable[Worker], monotonic: float
    ) -> list[WorkerRow]:
        held: dict[str, list[LeaseRow]] = defaultdict(list)
        for row in rows:
            if row.owner is not None:
                held[row.owner].append(row)
        found = []
        for worker in sorted(workers, key=lambda worker: worker.id):
            seen = self._beats.get((table, worker.id))
            since = seen[1] if seen is not None and seen[0] == worker.beat else monotonic
            self._beats[table, worker.id] = (worker.beat, since)
            silent = None if seen is None else round(monotonic - since, 1)
            its = held[worker.id]
            stuck = {row.lease for row in its if row.state == STUCK} | set(worker.stuck)
            rate = round(sum(row.rate or 0.0 for row in its), 1)
            found.append(WorkerRow(worker.id, len(its), rate, _greatest(its), len(stuck), worker.leaving, silent))
        return found


def _lease_row(lease: Lease, now: float) -> LeaseRow:
    progress = lease.progress
    since = progress.get(SINCE)
    held = None if since is None or lease.owner is None else round(max(0.0, now - since), 1)
    return LeaseRow(
        lease.key,
        state_of(lease),
        lease.owner,
        lease.fence,
        held,
        None if RATE not in progress else round(progress[RATE] / 60, 1),
        progress.get(LAG),
        progress.get(BUSY),
    )


def _urgency(row: LeaseRow) -> tuple[bool, float, str]:
    return row.state not in TROUBLES, -(row.lag_seconds or 0.0), row.lease


def _greatest(rows: Iterable[LeaseRow]) -> float | None:
    return max((row.lag_seconds for row in rows if row.lag_seconds is not None), default=None)
