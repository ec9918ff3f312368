"""Kinesis records: a payload of bytes under a partition key, and changes of DynamoDB tables that come by way of Kinesis."""

from __future__ import annotations

from typing import Any

import arrow

from streamiter.record import ChangeRecord, Converts, Envelope, Record

PAYLOAD = "payload"
_NAMES = ("partition_key", PAYLOAD, "meta")


class KinesisRecord(Record):
    """One record of a Kinesis stream. Those that the producer packed into one have its sequence number in common, and
    count from 0 in `sub_sequence_number`.

    `created_us` is when it arrived, as the service says, to the millisecond.
    """

    __slots__ = ("explicit_hash_key", "partition_key", "payload", "raw_payload", "sub_sequence_number")

    payload: Any  # bytes; with `model=`, what it made of them

    def __init__(
        self,
        shard_id: str,
        sequence_number: str,
        created_us: int | None,
        partition_key: str,
        payload: bytes,
        sub_sequence_number: int = 0,
        explicit_hash_key: str | None = None,
    ) -> None:
        # Made for each record: no call to the base class.
        self.shard_id = shard_id
        self.sequence_number = sequence_number
        self.created_us = created_us
        self._place = None
        self.partition_key = partition_key
        self.payload = payload
        self.raw_payload = payload
        self.sub_sequence_number = sub_sequence_number
        self.explicit_hash_key = explicit_hash_key  # only records that were packed together tell it

    def use_model(self, model: Converts) -> None:
        """Turns the payload into the caller's own class; what the model raises comes through."""
        self.payload = model.from_payload(self.raw_payload)

    def __getitem__(self, name: str) -> Any:
        """The same shape as that of a change: "partition_key", "payload", "meta"."""
        if name == "meta":
            return {
                "created_at": self.created_at,
                "sequence_number": self.sequence_number,
                "sub_sequence_number": self.sub_sequence_number,
            }
        if name in _NAMES:
            return getattr(self, name)
        raise KeyError(name)

    def keys(self) -> tuple[str, ...]:
        """The names that `record[...]` takes: with it, `dict(record)` works."""
        return _NAMES


class KinesisChange(ChangeRecord):
    """A change of a row that DynamoDB wrote to a Kinesis stream: as it comes from DynamoDB Streams, and the table's name.

    `created_us` is when DynamoDB says that the change was made, to the microsecond or millisecond; it arrived a little later.
    """

    __slots__ = ("arrived_us", "partition_key", "table_name")

    def __init__(
        self,
        shard_id: str,
        envelope: Envelope,
        created_us: int | None,
        table_name: str | None,
        partition_key: str,
        arrived_us: int | None,
    ) -> None:
        super().__init__(shard_id, envelope)
        self.created_us = created_us
        self.table_name = table_name
        self.partition_key = partition_key
        self.arrived_us = arrived_us

    @property
    def arrived_at(self) -> arrow.Arrow | None:
        """When the Kinesis stream took it, as the service says."""
        return None if self.arrived_us is None else arrow.get(self.arrived_us / 1e6)
