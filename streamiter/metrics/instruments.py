"""Instruments: the name, unit and meaning of each metric, and how it follows from the stats; pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from streamiter.stream import Stats

Value = int | float


@dataclass(frozen=True, slots=True)
class Instrument:
    """One metric. A counter only grows; a gauge says how it stands."""

    name: str
    kind: Literal["counter", "gauge"]
    unit: str  # by UCUM, as OpenTelemetry asks for
    description: str
    field: str  # of Stats
    read: Callable[[Stats], Value]


def _counter(name: str, unit: str, field: str, description: str) -> Instrument:
    return Instrument(f"streamiter.{name}", "counter", unit, description, field, lambda stats: getattr(stats, field))


def _gauge(name: str, unit: str, field: str, description: str, read: Callable[[Stats], Value]) -> Instrument:
    return Instrument(f"streamiter.{name}", "gauge", unit, description, field, read)


def _furthest(stats: Stats) -> float:
    return max(stats.lag.values(), default=0.0)


def _is_held(stats: Stats) -> int:
    return int(stats.held_by is not None)


def _ahead(stats: Stats) -> float:
    return stats.held_ahead


# No shard is named in them: shards come and go every few hours, and each would leave a time series behind.
INSTRUMENTS = (
    _counter("records", "{record}", "records", "Records returned"),
    _counter("records.late", "{record}", "late", "Records returned below one that was out already"),
    _counter("records.skipped", "{record}", "poison", "Records that skip() went past"),
    _counter("records.dropped", "{record}", "duplicates", "Duplicates dropped, where the source was told to"),
    _counter("pages", "{page}", "pages", "Pages of records fetched, empty ones included"),
    _counter("retries", "{call}", "retries", "Calls that failed and were made again"),
    _counter("throttles", "{call}", "throttles", "Calls that were refused because the service was asked too often"),
    _counter("gaps", "{gap}", "gaps", "Gaps accepted"),
    _counter("shards.gone", "{shard}", "gone", "Listed shards that were removed before anything of them was read"),
    _gauge("lag", "s", "lag", "How far the shard that is furthest behind is", _furthest),
    _gauge("held", "1", "held_by", "1 while records wait for a shard, else 0", _is_held),
    _gauge("held.ahead", "s", "held_ahead", "How far in time to come the record is created that holds, else 0", _ahead),
    _gauge("waiting", "{record}", "waiting", "Records fetched and not returned yet", lambda stats: stats.waiting),
    _gauge("waiting.size", "By", "waiting_bytes", "About how many bytes these are", lambda stats: stats.waiting_bytes),
    _gauge("shards.open", "{shard}", "open_shards", "Shards being read", lambda stats: stats.open_shards),
)  # fmt: skip

# These need more than one number of the stats.
CALLS = ("streamiter.calls", "{call}", "Calls to the service, by streamiter.call: list_shards, open_iterator, fetch")
GAPS_FOUND = ("streamiter.gaps.found", "{gap}", "Gaps met: records that may be lost")
PROGRESS = ("streamiter.progress.time", "s", "When the stream was last heard of, in seconds since 1970")
