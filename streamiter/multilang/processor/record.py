"""The objects that a processor gets: records, batches, its lease, and the last call."""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from streamiter.errors import UnreadableRecord

if TYPE_CHECKING:
    from streamiter.multilang.processor.checkpointer import Checkpointer


class Record:
    """One record of the shard. Its payload is decoded when you first read it."""

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    @property
    def payload(self) -> bytes:
        """The record's bytes."""
        try:
            return a2b_base64(self._fields.get("data") or "")
        except (NotBase64, TypeError, ValueError) as error:
            raise UnreadableRecord(f"the payload of {self!r} is no base64: {error}") from error

    @property
    def partition_key(self) -> str | None:
        """The partition key that its writer gave it."""
        return self._fields.get("partitionKey")

    @property
    def sequence_number(self) -> str:
        """Its number in the shard; records that were packed into one share it."""
        return self._fields.get("sequenceNumber") or ""

    @property
    def sub_sequence_number(self) -> int:
        """Its index among the records that were packed into one."""
        return self._fields.get("subSequenceNumber") or 0

    @property
    def arrived_ms(self) -> int | None:
        """When it arrived, as the service says, in milliseconds since 1970."""
        return self._fields.get("approximateArrivalTimestamp")

    @property
    def created_at(self) -> datetime | None:
        """The same in UTC."""
        return None if self.arrived_ms is None else datetime.fromtimestamp(self.arrived_ms / 1000, UTC)

    def __repr__(self) -> str:
        # Neither payload nor key: a repr ends up in logs.
        sub = f".{self.sub_sequence_number}" if self.sub_sequence_number else ""
        return f"<Record {self.sequence_number or '(without a number)'}{sub}>"


class KCLRecord(Record):
    """A record that has amazon_kclpy's names, too."""

    __slots__ = ()

    @property
    def binary_data(self) -> bytes:
        """The record's bytes."""
        return self.payload

    @property
    def data(self) -> str:
        """The record's bytes in base64, as they came."""
        return self._fields.get("data") or ""

    @property
    def timestamp_millis(self) -> int | None:
        """When it arrived, in milliseconds since 1970."""
        return self.arrived_ms

    @property
    def approximate_arrival_timestamp(self) -> datetime | None:
        """When it arrived, as amazon_kclpy gives it: in this machine's time zone, without naming the zone."""
        if self.arrived_ms is None:
            return None
        return datetime.fromtimestamp(self.arrived_ms / 1000)  # noqa: DTZ006 - so it is there

    def get(self, field: str) -> Any:
        """A field by the protocol's name."""
        return self._fields[field]

    __getitem__ = get


class ChildLease:
    """The shard that this child reads, and where it begins."""

    __slots__ = ("key", "sequence_number", "sub_sequence_number")

    def __init__(self, key: str, sequence_number: str | None, sub_sequence_number: int | None) -> None:
        self.key = key
        """The shard's id."""
        self.sequence_number = sequence_number
        """The checkpoint: the records that come follow it. TRIM_HORIZON, LATEST or AT_TIMESTAMP where there is none yet."""
        self.sub_sequence_number = sub_sequence_number

    @property
    def shard_id(self) -> str:
        """The shard's id."""
        return self.key

    def __repr__(self) -> str:
        return f"<ChildLease {self.key} from {self.sequence_number}>"


class Batch(list[Any]):
    """Records of the shard in order, a list."""

    def __init__(
        self, records: Iterable[Record], lease: ChildLease, millis_behind_latest: int | None, checkpointer: Checkpointer
    ) -> None:
        super().__init__(records)
        self.lease = lease
        self.millis_behind_latest = millis_behind_latest
        """How far the shard's reader is behind its tip, in milliseconds, as the service says."""
        self.checkpointer = checkpointer

    @property
    def shard_id(self) -> str:
        """The shard's id."""
        return self.lease.key

    @property
    def records(self) -> Batch:
        """The list itself, as amazon_kclpy names it."""
        return self

    def checkpoint(self, record: Record | None = None) -> None:
        """Has the shard go on behind this record after a restart; without one, behind this batch. Raises CheckpointFailed."""
        if record is None and self:
            record = self[-1]
        self.checkpointer.checkpoint(record)


class LastCall:
    """The argument of the methods that end a shard or a child: the `checkpointer`, and why, by the older daemons' names."""

    __slots__ = ("checkpointer", "reason")

    def __init__(self, checkpointer: Checkpointer, reason: str) -> None:
        self.checkpointer = checkpointer
        self.reason = reason

    def checkpoint(self, record: Record | None = None) -> None:
        """Has the shard go on behind this record; without one, behind all records that were given, or at the shard's end."""
        self.checkpointer.checkpoint(record)
