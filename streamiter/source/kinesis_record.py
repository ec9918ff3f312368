"""Kinesis records: a payload of bytes under a partition key, and changes of DynamoDB tables that come by way of Kinesis."""

from __future__ import annotations

import arrow

from streamiter.payload import Payload, PayloadRecord
from streamiter.record import ChangeRecord, Row


class KinesisRecord(PayloadRecord[Payload]):
    """One record of a Kinesis stream: `record.payload` under `record.partition_key`.

    Records that the producer packed into one have its sequence number in common, and count from 0 in
    `sub_sequence_number`; only they may have an `explicit_hash_key`. `created_at` is when it arrived, as the service says,
    to the millisecond. Where the stream distributes records by itself, there may be no partition key.
    """

    _key_name = "partition_key"

    partition_key: str | None = None
    """What it was put under."""
    sub_sequence_number: int = 0
    """Which one it is of those that were packed into one record."""
    explicit_hash_key: str | None = None
    """What chose its shard instead of the partition key."""

    def __repr__(self) -> str:
        # Neither payload nor key: a repr ends up in logs.
        sub = f".{self.sub_sequence_number}" if self.sub_sequence_number else ""
        return f"<KinesisRecord {self.sequence_number}{sub} of {self.shard_id}>"


class KinesisChange(ChangeRecord[Row]):
    """A change of a row that DynamoDB wrote to a Kinesis stream: as it comes from DynamoDB Streams, and the table's name.

    `created_at` is when DynamoDB says that the change was made, to the microsecond or millisecond; it arrived a little later.
    """

    table_name: str | None = None
    """The table whose row changed."""
    partition_key: str | None = None
    """What DynamoDB put it under."""
    arrived_us: int | None = None

    @property
    def arrived_at(self) -> arrow.Arrow | None:
        """When the Kinesis stream took it, as the service says."""
        return None if self.arrived_us is None else arrow.get(self.arrived_us / 1e6)

    @property
    def _told(self) -> tuple[str, ...]:
        return (*(name for name in super()._told if name != "arrived_us"), "arrived_at")
