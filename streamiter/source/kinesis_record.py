"""Kinesis records: a payload of bytes under a partition key, and changes of DynamoDB tables that come by way of Kinesis."""

from __future__ import annotations

from typing import Any

import arrow

from streamiter.record import ChangeRecord, Converts, Record

_NAMES = ("partition_key", "payload", "meta")


class KinesisRecord(Record):
    """One record of a Kinesis stream: `record.payload` under `record.partition_key`.

    Records that the producer packed into one have its sequence number in common, and count from 0 in
    `sub_sequence_number`; only they may have an `explicit_hash_key`. `created_at` is when it arrived, as the service says,
    to the millisecond. Where the stream distributes records by itself, there may be no partition key.
    """

    partition_key: str | None = None
    raw_payload: bytes = b""
    sub_sequence_number: int = 0
    explicit_hash_key: str | None = None
    _made: Any = None
    _is_made: bool = False

    @property
    def payload(self) -> Any:
        """The bytes, or what `model=` made of them."""
        return self._made if self._is_made else self.raw_payload

    def use_model(self, model: Converts) -> None:
        """Turns the payload into the caller's own class; what the model raises comes through."""
        self._made = model.from_payload(self.raw_payload)
        self._is_made = True

    def __getitem__(self, name: str) -> Any:
        """The shape that changes have, too: "partition_key", "payload", "meta"."""
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

    def __repr__(self) -> str:
        # Neither payload nor key: a repr ends up in logs.
        sub = f".{self.sub_sequence_number}" if self.sub_sequence_number else ""
        return f"<KinesisRecord {self.sequence_number}{sub} of {self.shard_id}>"


class KinesisChange(ChangeRecord):
    """A change of a row that DynamoDB wrote to a Kinesis stream: as it comes from DynamoDB Streams, and the table's name.

    `created_at` is when DynamoDB says that the change was made, to the microsecond or millisecond; it arrived a little later.
    """

    table_name: str | None = None
    partition_key: str | None = None
    arrived_us: int | None = None

    @property
    def arrived_at(self) -> arrow.Arrow | None:
        """When the Kinesis stream took it, as the service says."""
        return None if self.arrived_us is None else arrow.get(self.arrived_us / 1e6)
