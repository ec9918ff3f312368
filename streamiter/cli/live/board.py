"""The board: what `streamiter top` knows: counts by shard and family over the last seconds; time comes in."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

from streamiter.lineage import Lineage
from streamiter.record import Record
from streamiter.stream.stats import Stats

RATE_SECONDS = 10.0  # what rates are measured over
HISTORY_SECONDS = 60  # what the little curve shows


@dataclass(frozen=True)
class Row:
    """A shard being read, or a family: all that descends from one root."""

    name: str
    shards: int  # being read
    rate: float  # records a second, of late
    records: int  # since it was started
    late: int
    lag_seconds: float  # the greatest


@dataclass(frozen=True)
class Family:
    """A root and its descendants."""

    row: Row
    shards: tuple[Row, ...]


@dataclass(frozen=True)
class View:
    """Everything at one moment."""

    stream: str
    now: float
    up_seconds: float
    rate: float
    history: tuple[int, ...]  # records in each of the last seconds, the oldest first
    calls: dict[str, float]  # a second, by kind
    stats: Stats
    held_seconds: float
    families: tuple[Family, ...]
    held_why: str = ""  # why records wait, where they do so for long

    @property
    def lag_seconds(self) -> float:
        """How far the slowest shard is behind."""
        return max(self.stats.lag.values(), default=0.0)


class Board:
    """Counts records as they come; `view` puts a moment together."""

    def __init__(self, stream: str, monotonic: float) -> None:
        self._stream = stream
        self._began = monotonic
        self._records: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        self._seconds: deque[tuple[int, int]] = deque(maxlen=HISTORY_SECONDS)
        self._samples: deque[tuple[float, Counter[str], Counter[str]]] = deque([(monotonic, Counter(), Counter())])
        self._held: tuple[str | None, float] = (None, monotonic)

    def count(self, record: Record, monotonic: float) -> None:
        """A record came out."""
        self._records[record.shard_id] += 1
        self._late[record.shard_id] += record.late
        second = int(monotonic)
        if self._seconds and self._seconds[-1][0] == second:
            self._seconds[-1] = (second, self._seconds[-1][1] + 1)
        else:
            self._seconds.append((second, 1))

    def view(self, stats: Stats, lineage: Lineage, now: float, monotonic: float) -> View:
        """How it stands at this moment."""
        calls = Counter(stats.calls)
        self._samples.append((monotonic, Counter(self._records), calls))
        while len(self._samples) > 2 and monotonic - self._samples[1][0] >= RATE_SECONDS:
            self._samples.popleft()
        since, records_before, calls_before = self._samples[0]
        passed = max(0.001, monotonic - since)
        if stats.held_by != self._held[0]:
            self._held = (stats.held_by, monotonic)
        rates = {shard_id: (count - records_before[shard_id]) / passed for shard_id, count in self._records.items()}
        counted = dict(self._seconds)
        return View(
            self._stream,
            now,
            monotonic - self._began,
            sum(rates.values()),
            tuple(counted.get(second, 0) for second in range(int(monotonic) - HISTORY_SECONDS + 1, int(monotonic) + 1)),
            {kind: (count - calls_before[kind]) / passed for kind, count in sorted(calls.items())},
            stats,
            monotonic - self._held[1] if stats.held_by else 0.0,
            tuple(self._families(stats, lineage, rates)),
        )

    def _families(self, stats: Stats, lineage: Lineage, rates: dict[str, float]) -> list[Family]:
        families: dict[str, list[str]] = {}
        for shard_id in {*stats.lag, *self._records}:
            families.setdefault(_root(lineage, shard_id), []).append(shard_id)
        found = []
        for root, shard_ids in sorted(families.items()):
            reading = [shard_id for shard_id in sorted(shard_ids) if shard_id in stats.lag]
            rows = tuple(self._row(shard_id, [shard_id], stats, rates, 1) for shard_id in reading)
            found.append(Family(self._row(root, shard_ids, stats, rates, len(rows)), rows))
        return found

    def _row(self, name: str, shard_ids: list[str], stats: Stats, rates: dict[str, float], shards: int) -> Row:
        return Row(
            name,
            shards,
            sum(rates.get(shard_id, 0.0) for shard_id in shard_ids),
            sum(self._records[shard_id] for shard_id in shard_ids),
            sum(self._late[shard_id] for shard_id in shard_ids),
            max((stats.lag.get(shard_id, 0.0) for shard_id in shard_ids), default=0.0),
        )


def _root(lineage: Lineage, shard_id: str) -> str:
    """The first of a shard's ancestors; itself, where it has none."""
    if shard_id not in lineage:
        return shard_id
    above = [parent for parent in lineage.ancestors(shard_id) if not lineage.parents(parent)]
    return min(above, default=shard_id)
