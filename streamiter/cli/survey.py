"""The survey: what the service holds of each shard: its listing, its first record, what comes next after a token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, TypeVar

from streamiter.cli.standing import Standing
from streamiter.clock import SECOND_US, Clock
from streamiter.errors import PositionTrimmed, ShardGone, TimeUnsupported, TransientError
from streamiter.lineage import Lineage
from streamiter.merge.lane import TIP_EMPTIES
from streamiter.position import After, Horizon, Position
from streamiter.record import Record
from streamiter.shard import hinted_us
from streamiter.source import Source
from streamiter.stream import Stream
from streamiter.stream.callers import Callers

_Result = TypeVar("_Result")

ASKED_AT_ONCE = 8
TRIES = 6
BIN_US = 10 * SECOND_US  # records are counted by ten seconds of their creation


class Looked(NamedTuple):
    """What was found at a place of a shard."""

    record: Record | None = None  # the first record there
    is_trimmed: bool = False  # the place is no longer held
    ended: bool = False  # nothing follows


@dataclass(frozen=True)
class Found:
    """A shard, as far as it was looked at."""

    first_us: int | None = None  # creation time of the first record held
    is_gone: bool = False  # listed, but the service does not hold it any more
    unread: Looked | None = None  # what comes next after the token


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
    """All that was found."""

    stream: str
    lineage: Lineage
    service_us: int
    is_final: bool  # the stream is disabled
    found: dict[str, Found]
    counts: Counts | None = None

    def began_us(self, shard_id: str) -> int | None:
        """About when the shard began: as its id hints, but never after its first record; None where neither is known."""
        known = [time_us for time_us in (hinted_us(shard_id), self.found[shard_id].first_us) if time_us is not None]
        return min(known, default=None)


def list_shards(source: Source, clock: Clock) -> tuple[Lineage, int, bool]:
    """The lineage, the service's time, and whether the stream is disabled."""
    lineage, after, seen = Lineage(), None, set()
    while True:
        page = patiently(partial(source.list_shards, after), clock)
        for shard in page.shards:
            lineage.add(shard)
        if page.next is None or page.next in seen:
            return lineage, page.service_us or round(clock.now() * SECOND_US), page.is_final
        seen.add(page.next)
        after = page.next


def survey(source: Source, clock: Clock, standings: Callable[[Lineage], dict[str, Standing]]) -> Survey:
    """Lists the shards and looks at each: a call or two a shard, eight at a time."""
    lineage, service_us, is_final = list_shards(source, clock)
    standing = standings(lineage)
    found = _side_by_side(
        {
            shard_id: partial(_look_at, source, clock, shard_id, standing.get(shard_id), service_us)
            for shard_id in lineage
        }
    )
    return Survey(source.name, lineage, service_us, is_final, {shard_id: found[shard_id] for shard_id in lineage})


def _side_by_side(calls: dict[str, Callable[[], Found]]) -> dict[str, Found]:
    """Makes the calls on daemon threads, so that a Ctrl-C does not wait for one that hangs."""
    callers = Callers(ASKED_AT_ONCE)
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


def _look_at(source: Source, clock: Clock, shard_id: str, standing: Standing | None, service_us: int) -> Found:
    first = look(source, clock, shard_id, Horizon())
    unread = None
    if standing is not None and standing.position is not None:
        if standing.position.is_expired(service_us, source.retention_us):
            unread = Looked(is_trimmed=True)  # the service would give its horizon, and not say so
        else:
            with suppress(TimeUnsupported):
                unread = look(source, clock, shard_id, standing.position)
    return Found(None if first.record is None else first.record.created_us, first.is_trimmed, unread)


def look(source: Source, clock: Clock, shard_id: str, position: Position) -> Looked:
    """The first record at a place. Empty pages come in runs: only eight in a row say that there is none."""
    skips = position.place.since if isinstance(position, After) else 0
    try:
        iterator = patiently(partial(source.open_iterator, shard_id, position), clock)
        for _ in range(TIP_EMPTIES + skips):
            page = patiently(partial(source.fetch, iterator, 1 + skips), clock)
            if len(page.records) > skips:
                return Looked(page.records[skips])
            skips -= len(page.records)
            if page.next is None:
                return Looked(ended=True)
            iterator = page.next
    except (PositionTrimmed, ShardGone):
        return Looked(is_trimmed=True)
    return Looked()


def patiently(call: Callable[[], _Result], clock: Clock) -> _Result:
    """Makes a call, again where it fails for a moment."""
    pause = 0.2
    for _ in range(TRIES - 1):
        try:
            return call()
        except TransientError:
            clock.sleep(pause)
            pause *= 2
    return call()


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
