"""Redis' consumer groups: an app that shares a group with other programs reads by XREADGROUP, and acks by XACK.

Each read and each ack is one script, which looks at the lease's row first: a worker that lost its lease gets and acks nothing.
All workers of an app are one consumer, so that a partition's new owner finds what the one before had read and not done: it is
pending, behind the lease's checkpoint. What is pending up to the checkpoint is done, and only its XACK did not come through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamiter.errors import InvalidOption, PositionTrimmed, TransientError
from streamiter.log.base import Slice, page_of
from streamiter.log.record import LogRecord
from streamiter.log.redis_entry import Spot, floor_ms, parse_id, records_of, spot_before
from streamiter.log.redis_scripts import ACK, ACK_UPTO, MOVE_GROUP, OPEN_GROUP, READ_GROUP
from streamiter.position import After, AtTime, Place, Position
from streamiter.redis_server import Script
from streamiter.source.base import TRAITS, Page, ShardIterator, ShardPage
from streamiter.source.sharing import Guard, SharedSource

if TYPE_CHECKING:
    from streamiter.log.redis import RedisLog


@dataclass(slots=True)
class _Member:
    """A partition in this worker's hands, while it has the lease."""

    guard: Guard
    behind: Spot | None = None  # the last entry that was handed out, or where reading began
    checks_pending: bool = True  # there may be entries that were read for us, and that we did not get
    missing: tuple[bytes, ...] = ()  # such entries that are not held any more


class RedisGroup(SharedSource[LogRecord]):
    """A Redis log as one consumer of a group sees it."""

    record_type = LogRecord
    watches = publishes = True

    def __init__(self, log: RedisLog, group: str, consumer: str) -> None:
        for trait in TRAITS:
            setattr(self, trait, getattr(log, trait))
        self._log = log
        self._group = group
        self._consumer = consumer
        self._members: dict[str, _Member] = {}

    @property
    def name(self) -> str:
        """The log's own name."""
        return self._log.name

    @property
    def retention_us(self) -> int:
        """The log's own."""
        return self._log.retention_us

    def join(self, shard_id: str, guard: Guard) -> None:
        """From now on the partition is read under this lease."""
        self._members[shard_id] = _Member(guard)

    def check(self, make_guard: Callable[[], Guard]) -> None:
        """A script sees one server alone."""
        if self._log.is_cluster:
            raise InvalidOption(
                f"acks='group' looks at the lease in the same script that reads {self._log!r}, and a cluster keeps the two on "
                "different servers: take a single server for both, or acks='lease'"
            )
        guard = make_guard()
        if guard.server != (ours := self._log.identity()):
            raise InvalidOption(
                f"acks='group' looks at the lease in the same script that reads {self._log!r}, so leases and log have to be in "
                f"one database of one server; the log is in {ours}, the leases are in {guard.server}"
            )

    def list_shards(self, after: str | None) -> ShardPage:
        """The partitions."""
        return self._log.list_shards(after)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """Makes the group where there is none; the group has its own place. Before all was read, or where a gap
        was accepted, what is gone is passed over."""
        partition, member = self._log.partition_of(shard_id), self._members[shard_id]
        if isinstance(position, After):
            start = Spot.of(position.place.number)
            if member.behind is None:
                member.behind = start
                self._run(ACK_UPTO, partition, member, [start.id], is_held=False)
        elif isinstance(position, AtTime):
            start = Spot.of(self._log.seek(partition, position.time_us))
        else:
            start = Spot.of(self._log.start(partition))
        member.checks_pending = True
        if not isinstance(position, After):
            self._accept(partition, member)
        first, last, read = self._open(partition, member, start)
        if first:
            return ShardIterator(shard_id, spot_before(*parse_id(first), 0).number)
        return ShardIterator(shard_id, Spot(*parse_id(last), max(0, read)).number)

    def place_behind(self, iterator: ShardIterator) -> Place:
        """Where the group stands, or right before the first entry that is pending for us."""
        return Place(iterator.value, 0)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[LogRecord]:
        """What is pending for us, and then what no consumer of the group has yet."""
        shard_id = iterator.shard_id
        partition, member = self._log.partition_of(shard_id), self._members[shard_id]
        after = "" if not member.checks_pending else "0-0" if member.behind is None else member.behind.id
        member.checks_pending = True  # unless an answer comes: what the server gave, it takes for delivered
        while True:
            kind, *told = self._run(READ_GROUP, partition, member, [limit, after])
            if kind == b"pending":
                return self._pending(shard_id, member, *told)
            if kind == b"new":
                member.checks_pending = False
                return self._new(shard_id, member, *told)
            if kind == b"gap":
                raise PositionTrimmed(
                    f"{self._where(partition)}: {told[0]} entries were trimmed before any consumer had them"
                )
            if kind == b"uncounted":
                self._count(partition, member, told[0])
            else:
                self._make_again(partition, member, iterator)

    def watch(self, iterators: Sequence[ShardIterator], seconds: float) -> Collection[str]:
        """As the log does: other consumers may be faster."""
        return self._log.watch(iterators, seconds)

    def publish(self, group: str, numbers: Mapping[str, int]) -> None:
        """Acks what stands up to the lease's checkpoint."""
        for shard_id, number in numbers.items():
            member = self._members.get(shard_id)
            if member is not None:
                self._run(ACK_UPTO, self._log.partition_of(shard_id), member, [Spot.of(number).id], is_held=False)

    def close(self) -> None:
        """Closes the log's connections."""
        self._log.close()

    # -- inside

    def _pending(
        self, shard_id: str, member: _Member, now: Any, entries: Sequence[Any], indices: Sequence[int]
    ) -> Page[LogRecord]:
        member.missing = tuple(written for written, fields in entries if not fields)
        if member.missing:
            where = self._where(self._log.partition_of(shard_id))
            raise PositionTrimmed(
                f"{where}: {len(member.missing)} entries were read, and trimmed before they were processed"
            )
        records = [
            record
            for entry, index in zip(entries, indices, strict=True)
            for record in records_of(shard_id, [entry], max(0, index))
        ]
        member.behind = Spot.of(records[-1].number)
        return self._page(shard_id, records, records[-1].number, now, is_tip=False)

    def _new(
        self, shard_id: str, member: _Member, now: Any, read: int, entries: Sequence[Any], last: bytes, is_tip: int
    ) -> Page[LogRecord]:
        records = records_of(shard_id, entries, read + 1)
        if records:
            member.behind = Spot.of(records[-1].number)
        behind = Spot(*parse_id(last), read + len(records)).number
        return self._page(shard_id, records, behind, now, is_tip=bool(is_tip))

    def _page(
        self, shard_id: str, records: Sequence[LogRecord], behind: int, now: Any, *, is_tip: bool
    ) -> Page[LogRecord]:
        return page_of(Slice(records, is_tip, floor_ms(now)), ShardIterator(shard_id, behind))

    def _accept(self, partition: int, member: _Member) -> None:
        """What is gone is given up: pending entries without a body, and entries that no consumer had."""
        if member.missing:
            self._run(ACK, partition, member, list(member.missing))
            member.missing = ()
        start = Spot.of(self._log.start(partition))
        _, last, read = self._open(partition, member, start)
        if parse_id(last) < start.key and 0 <= read < start.nth:
            self._run(MOVE_GROUP, partition, member, [last, start.id, start.nth])

    def _count(self, partition: int, member: _Member, last: bytes) -> None:
        """Another program moved the group without saying how many entries stand before its place: they are counted."""
        read = self._log.count_upto(partition, last.decode())
        self._run(MOVE_GROUP, partition, member, [last, last, read])

    def _make_again(self, partition: int, member: _Member, iterator: ShardIterator) -> None:
        """The group is gone, and perhaps the stream: what was read is no longer known there, or the group goes on behind it."""
        spot = Spot.of(iterator.value) if member.behind is None else member.behind
        self._log.read(partition, spot.number, 1)
        self._open(partition, member, spot)

    def _open(self, partition: int, member: _Member, start: Spot) -> Any:
        after = "-" if member.behind is None else f"({member.behind.id}"
        return self._run(OPEN_GROUP, partition, member, [start.id, start.nth, after])

    def _run(
        self, script: Script, partition: int, member: _Member, told: Sequence[Any], *, is_held: bool = True
    ) -> Any:
        """`is_held`: the lease has to be ours; else it is enough that no other worker has had it since."""
        guard = member.guard
        keys = [self._log.key_of(partition), guard.key]
        owner = guard.owner if is_held else ""
        answer = self._log.run(script, keys, [owner, guard.fence, self._group, self._consumer, *told])
        if answer is None and is_held:
            raise TransientError(f"{self._where(partition)}: the lease {guard.key} is not this worker's any more")
        return answer

    def _where(self, partition: int) -> str:
        return f"partition {partition} of {self._log!r}, read by the group {self._group!r}"

    def __repr__(self) -> str:
        return f"RedisGroup({self._log!r}, {self._group!r})"
