"""The survey asks the service about each shard: how it is listed, its first record, and the record that follows a token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, TypeVar

from streamiter.cli.checks.standing import Standing
from streamiter.clock import SECOND_US, Clock
from streamiter.driving.list_now import list_now
from streamiter.driving.threads import Threads
from streamiter.errors import PositionTrimmed, ShardGone, StreamiterError, TimeUnsupported
from streamiter.lineage import Lineage
from streamiter.merge.lane import TIP_EMPTIES
from streamiter.position import After, Horizon, Position
from streamiter.reading.listing import Pace
from streamiter.reading.patience import Patience, retrying
from streamiter.record import Record
from streamiter.shard import hinted_us
from streamiter.source import Source
from streamiter.stream import Stream

_Result = TypeVar("_Result")

ASKED_AT_ONCE = 32
PATIENCE_US = 6 * SECOND_US  # who typed a command waits
HOPELESS = 8  # shards that failed for that long: then the service does, and the others are tried once each
BIN_US = 10 * SECOND_US  # records are counted by ten seconds of their creation


class Looked(NamedTuple):
    """What was found at a place of a shard."""

    record: Record | None = None  # the first record there
    is_trimmed: bool = False  # the place is no longer held
    ended: bool = False  # nothing follows


@dataclass(frozen=True)
class Found:
    """What the survey found out about a shard."""

    first_us: int | None = None  # creation time of the first record held
    is_gone: bool = False  # listed, but the service does not hold it any more
    unread: Looked | None = None  # what comes next after the token
    error: StreamiterError | None = None  # why it could not be looked at


@dataclass
class Counts:
    """How many records were created when, by shard."""

    by_bin: dict[str, Counter[int]] = field(default_factory=dict)  # of bins of BIN_US
    last_us: dict[str, int] = field(default_factory=dict)
    records: int = 0

    def add(self, records: Iterable[Record]) -> None:
        """Takes records in."""
        for record in records:
            self.records += 1
            if record.created_us is not None:
                self.by_bin.setdefault(record.shard_id, Counter())[record.created_us // BIN_US] += 1
                self.last_us[record.shard_id] = max(self.last_us.get(record.shard_id, 0), record.created_us)


@dataclass
class Survey:
    """The results for all shards."""

    stream: str
    lineage: Lineage
    service_us: int
    is_final: bool  # the stream is disabled
    found: dict[str, Found]
    counts: Counts | None = None

    @property
    def errors(self) -> dict[str, StreamiterError]:
        """The shards that could not be looked at, and why."""
        return {shard_id: found.error for shard_id, found in self.found.items() if found.error is not None}

    def began_us(self, shard_id: str) -> int | None:
        """About when the shard began: as its id hints, but never after its first record; None where neither is known."""
        known = [time_us for time_us in (hinted_us(shard_id), self.found[shard_id].first_us) if time_us is not None]
        return min(known, default=None)


def list_shards(source: Source, clock: Clock) -> tuple[Lineage, int, bool]:
    """The lineage, the service's time, and whether the stream is disabled."""
    listed = list_now(source, clock, Pace(source.listings_per_second), Patience(PATIENCE_US))
    return Lineage(listed.shards), listed.service_us, listed.is_final


def survey(source: Source, clock: Clock, standings: Callable[[Lineage], dict[str, Standing]]) -> Survey:
    """Lists the shards and looks at each, many at a time. A shard that fails does not hide the others."""
    lineage, service_us, is_final = list_shards(source, clock)
    standing = standings(lineage)
    failed: list[str] = []

    def look_at(shard_id: str) -> Found:
        try:
            patience_us = PATIENCE_US if len(failed) < HOPELESS else 0
            return _look_at(source, clock, shard_id, standing.get(shard_id), service_us, patience_us)
        except StreamiterError as error:
            failed.append(shard_id)
            return Found(error=error)

    found = _side_by_side({shard_id: partial(look_at, shard_id) for shard_id in lineage})
    return Survey(source.name, lineage, service_us, is_final, {shard_id: found[shard_id] for shard_id in lineage})


def _side_by_side(calls: dict[str, Callable[[], Found]]) -> dict[str, Found]:
    """Makes the calls on daemon threads, so that a Ctrl-C does not wait for one that hangs."""
    callers = Threads(ASKED_AT_ONCE)
    found: dict[str, Found] = {}
    try:
        for shard_id, call in calls.items():
            callers.submit(shard_id, call)
        while len(found) < len(calls):
            for answer in callers.answers(0.5):
                if answer.error is not None:
                    raise answer.error
                found[answer.job] = answer.result
    finally:
        callers.close(0.0)
    return found


def _look_at(
    source: Source, clock: Clock, shard_id: str, standing: Standing | None, service_us: int, patience_us: int
) -> Found:
    first = look(source, clock, shard_id, Horizon(), patience_us)
    unread = None
    if standing is not None and standing.position is not None:
        if standing.position.is_expired(service_us, source.retention_us):
            unread = Looked(is_trimmed=True)  # the service would give its horizon, and not say so
        else:
            with suppress(TimeUnsupported):
                unread = look(source, clock, shard_id, standing.position, patience_us)
    return Found(None if first.record is None else first.record.created_us, first.is_trimmed, unread)


def look(source: Source, clock: Clock, shard_id: str, position: Position, patience_us: int = PATIENCE_US) -> Looked:
    """The first record at a place. Empty pages come in runs: only eight in a row say that there is none."""
    skips = position.place.since if isinstance(position, After) else 0
    try:
        iterator = patiently(partial(source.open_iterator, shard_id, position), clock, patience_us)
        for _ in range(TIP_EMPTIES + skips):
            page = patiently(partial(source.fetch, iterator, 1 + skips), clock, patience_us)
            if len(page.records) > skips:
                return Looked(page.records[skips])
            skips -= len(page.records)
            if page.next is None:
                return Looked(ended=True)
            iterator = page.next
    except (PositionTrimmed, ShardGone):
        return Looked(is_trimmed=True)
    return Looked()


def patiently(call: Callable[[], _Result], clock: Clock, patience_us: int = PATIENCE_US) -> _Result:
    """Makes a call, and makes it again while it fails for a moment; raises the service's own error in the end."""
    return retrying(call, clock, Patience(patience_us))


def count_records(
    source: Source, clock: Clock, since: datetime | None, progress: Callable[[Counts, int | None], None]
) -> Counts:
    """Reads all that is held, from a time on: where and when records were created."""
    counts = Counts()
    start = "trim_horizon" if since is None else since
    with closing(Stream(source, start, lateness=None, on_gap="skip", clock=clock)) as stream:
        for batch in stream.batches(5000, until="caught_up"):
            counts.add(batch)
            progress(counts, batch[-1].order_us)
    return counts


def moment(time_us: int) -> datetime:
    """A time as a datetime."""
    return datetime.fromtimestamp(time_us / SECOND_US, UTC)
