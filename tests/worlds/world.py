"""Worlds: all that a service holds: shards, parents, records; and what it answers when a shard is opened or listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from streamiter.errors import PositionTrimmed, ShardGone, TimeUnsupported
from streamiter.position import After, AtNumber, AtTime, Horizon, Position
from streamiter.shard import Shard

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
NOW = 1_700_000_000 * SECOND  # service time where the driver's own clock stands at 0
ALWAYS = -(1 << 60)

STREAM = "arn:aws:dynamodb:us-east-1:123456789012:table/users/stream/2026-01-01T00:00:00.000"


@dataclass(frozen=True)
class Truth:
    """One record as the service holds it."""

    number: int
    created_us: int | None = None
    visible_us: int = ALWAYS  # service time from which pages show it

    def __repr__(self) -> str:
        return f"Truth({self.number}, {_moment(self.created_us)}{_unless(ALWAYS, self.visible_us)})"


@dataclass
class WorldShard:
    """One shard as the service holds it."""

    id: str
    parents: tuple[str, ...] = ()
    records: list[Truth] = field(default_factory=list)
    born_us: int = ALWAYS
    closed_us: int | None = None  # None: it is open
    trimmed: int = 0  # so many of its first records are no longer held

    def __repr__(self) -> str:
        times = (f", {name}={_moment(us)}" for name, us in [("born_us", self.born_us), ("closed_us", self.closed_us)])
        return f"WorldShard({self.id!r}, {self.parents!r}, {self.records!r}{''.join(times)})"

    def is_closed(self, service_us: int) -> bool:
        return self.closed_us is not None and self.closed_us <= service_us


def _moment(us: int | None) -> str:
    return {None: "None", ALWAYS: "ALWAYS"}.get(us) or f"NOW + {(us or 0) - NOW}"


def _unless(plain: int, us: int) -> str:
    return "" if us == plain else f", {_moment(us)}"


class Lag:
    """What a listing lacks. This one lacks nothing."""

    def hidden(self, world: World, call: int, service_us: int) -> set[str]:
        """The shards that this listing does not show, of those that the world has."""
        return set()


class World:
    """The truth. Tests change it under a reading: they trim, remove, close, add."""

    def __init__(self, shards: Iterable[WorldShard], *, knows_tip: bool = False, digits: int = 0) -> None:
        self.shards = {shard.id: shard for shard in shards}
        self.digits = digits  # sequence numbers are written with so many of them at least
        self.knows_tip = knows_tip  # its pages say whether they are caught up, as Kinesis' do
        self.unlisted: set[str] = set()  # removed: in no listing any more
        self.gone: set[str] = set()  # removed, though perhaps still listed
        self.refuses_times = False

    @classmethod
    def parse(
        cls, shards: Iterable[Shard], records: Mapping[str, Sequence[Truth]], *, open: Iterable[str] = ()
    ) -> World:
        """A world from a parsed lineage; its shards are closed, but those named open."""
        is_open = set(open)
        return cls(
            WorldShard(s.id, s.parents, list(records.get(s.id, ())), closed_us=None if s.id in is_open else ALWAYS)
            for s in shards
        )

    def __repr__(self) -> str:
        """As a test would write it."""
        lines = [*map(repr, self.shards.values()), *["knows_tip=True"] * self.knows_tip, f"digits={self.digits}"]
        return "".join(f"\n    {line}," for line in lines)

    def children(self, shard_id: str) -> list[str]:
        return [shard.id for shard in self.shards.values() if shard_id in shard.parents]

    def ancestors(self, shard_id: str) -> set[str]:
        found: set[str] = set()
        pending = [shard_id]
        while pending:
            for parent in self.shards[pending.pop()].parents:
                if parent in self.shards and parent not in found:
                    found.add(parent)
                    pending.append(parent)
        return found

    @property
    def size(self) -> int:
        return sum(len(shard.records) for shard in self.shards.values())

    # -- what the service answers

    def rows(self, service_us: int, hidden: Iterable[str] = ()) -> list[Shard]:
        """What a listing shows."""
        return [
            Shard(shard.id, shard.parents, shard.is_closed(service_us))
            for shard in self.shards.values()
            if shard.born_us <= service_us and shard.id not in self.unlisted and shard.id not in hidden
        ]

    def open(self, shard_id: str, position: Position, service_us: int) -> int:
        """The index of the record at which an iterator starts."""
        if shard_id in self.gone or shard_id not in self.shards:
            raise ShardGone(shard_id)
        shard = self.shards[shard_id]
        match position:
            case Horizon():
                return shard.trimmed
            case AtTime():
                if self.refuses_times:
                    raise TimeUnsupported(shard_id)
                assert position.time_us <= service_us, "a ValidationException: the time is in the future"
                return max(shard.trimmed, self._first_at(shard, position.time_us))
            case After():
                place = position.place
                # As many of the records since the number as are read already are left out: the driver's part.
                return self._find(shard, place.text) + 1 + place.since
            case AtNumber():
                return self._find(shard, position.text)

    def _first_at(self, shard: WorldShard, time_us: int) -> int:
        created_us: int | None = None
        for index, truth in enumerate(shard.records):
            if truth.created_us is not None:
                created_us = truth.created_us
            elif created_us is None:
                created_us = truth.visible_us  # The service knows when it was written, though it does not tell.
            if created_us >= time_us:
                return index
        return len(shard.records)

    def text(self, truth: Truth) -> str:
        """A record's sequence number as the service writes it."""
        return str(truth.number).zfill(self.digits)

    def _find(self, shard: WorldShard, text: str) -> int:
        index = next((index for index, truth in enumerate(shard.records) if self.text(truth) == text), None)
        if index is None or index < shard.trimmed:
            raise PositionTrimmed(f"{text} of {shard.id}")
        return index

    def check_held(self, shard_id: str, index: int) -> None:
        """Raises what GetRecords raises when the iterator's place is no longer held."""
        if shard_id in self.gone:
            raise ShardGone(shard_id)
        if index < self.shards[shard_id].trimmed:
            raise PositionTrimmed(shard_id)


def truths(*created: float | None, first: int = 100) -> list[Truth]:
    """Records with rising sequence numbers, created so many hours before now (None: no creation time)."""
    return [
        Truth(first + index, None if hours is None else NOW - round(hours * HOUR))
        for index, hours in enumerate(created)
    ]
