"""Operations on records: put, and the iterators with which they are read."""

from __future__ import annotations

from typing import Any, NamedTuple

from streamiter.testing.http.refusal import Refusal, broken_rules
from streamiter.testing.kinesis.asked import check_dry_run, payload_of, wrong
from streamiter.testing.kinesis.operations import Asked, Operation, Operations
from streamiter.testing.kinesis.sequence_numbers import parse
from streamiter.testing.kinesis.shard_operations import time_us
from streamiter.testing.kinesis.truth import WHOLE, KinesisShard, KinesisTruth, PutRecord

MOST_BYTES = 10 * 1024 * 1024  # of the records of one request, with their keys


class Placed(NamedTuple):
    """A record that is to be put: where, under which key, and its payload."""

    shard: KinesisShard
    key: str | None
    payload: bytes

    @property
    def size(self) -> int:
        """As the service's limits count it."""
        return len(self.payload) + len((self.key or "").encode())


class RecordOperations(Operations):
    """See operations.Operations."""

    @property
    def all(self) -> dict[str, Operation]:
        return {
            "PutRecord": self._put_record,
            "PutRecords": self._put_records,
            "GetShardIterator": self._get_shard_iterator,
        }

    def _put_record(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream = self._made(asked, now_us)
        placed = self._placed(stream, asked, "")
        self._check_ordering(stream, asked.get("SequenceNumberForOrdering"), now_us)
        check_dry_run(asked)
        if not self._takes(placed, now_us):
            raise Refusal("ProvisionedThroughputExceededException", self._too_fast(stream, placed))
        record = self._put(stream, placed, now_us)
        return {
            "ShardId": record.shard_id,
            "SequenceNumber": record.sequence_number,
            "EncryptionType": stream.settings.encryption,
        }

    def _put_records(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream = self._made(asked, now_us)
        rows_asked = enumerate(asked["Records"], 1)
        placed = [self._placed(stream, row, f"records.{number}.member.") for number, row in rows_asked]  # all, at first
        if sum(record.size for record in placed) > MOST_BYTES:
            raise wrong(f"Records size exceeds {MOST_BYTES >> 20} MB limit")
        check_dry_run(asked)
        rows = [self._put_one(stream, record, now_us) for record in placed]
        return {
            "FailedRecordCount": sum("ErrorCode" in row for row in rows),
            "Records": rows,
            "EncryptionType": stream.settings.encryption,
        }

    def _put_one(self, stream: KinesisTruth, placed: Placed, now_us: int) -> dict[str, Any]:
        weather = self._knobs.weather
        is_left = weather is not None and weather.leaves("PutRecords", (placed.key, placed.payload))
        if is_left or not self._takes(placed, now_us):
            return {
                "ErrorCode": "ProvisionedThroughputExceededException",
                "ErrorMessage": self._too_fast(stream, placed),
            }
        record = self._put(stream, placed, now_us)
        return {"ShardId": record.shard_id, "SequenceNumber": record.sequence_number}

    def _takes(self, placed: Placed, now_us: int) -> bool:
        knobs = self._knobs
        return placed.shard.intake.takes(placed.size, knobs.put_rate, knobs.put_bytes_rate, now_us)

    def _too_fast(self, stream: KinesisTruth, placed: Placed) -> str:
        return (
            f"Rate exceeded for shard {placed.shard.id} in stream {stream.name} under account {self._service.account}."
        )

    @staticmethod
    def _placed(stream: KinesisTruth, row: Asked, path: str) -> Placed:
        key, explicit = row.get("PartitionKey"), row.get("ExplicitHashKey")
        if key is None and not stream.distributes:
            raise broken_rules([("null", f"{path}partitionKey", "not be null")])
        if explicit is not None and int(explicit) >= WHOLE:
            bounds = "ExplicitHashKey must be in the range: [0, 2^128-1]"
            raise wrong(f"Invalid ExplicitHashKey. {bounds}. Specified value was {explicit}")
        placed = Placed(stream.owner(key, explicit), key, payload_of(row["Data"]))
        most, size = stream.settings.max_record_kib * 1024, len(placed.payload)
        if size > most:
            shown = f"'java.nio.HeapByteBuffer[pos=0 lim={size} cap={size}]'"
            raise broken_rules([(shown, f"{path}data", f"have length less than or equal to {most}")])
        if placed.size > most:
            told = f"A record of {placed.size} bytes, payload and partition key, is longer than {most} bytes"
            raise wrong(f"{told}, the maximum record size of stream {stream.name}")
        return placed

    def _check_ordering(self, stream: KinesisTruth, number: str | None, now_us: int) -> None:
        found = None if number is None else parse(int(number))
        if number is not None and (found is None or found.seconds > stream.newest_seconds(now_us)):
            place = f"used in PutRecord on stream {stream.name} under account {self._service.account}"
            raise wrong(f"ExclusiveMinimumSequenceNumber {number} {place} is invalid.")

    def _put(self, stream: KinesisTruth, placed: Placed, now_us: int) -> PutRecord:
        shard = placed.shard
        created_us = now_us + self._knobs.created_shift_us(shard.name, shard.end)
        return stream.add(shard, placed.key, placed.payload, created_us, now_us)

    def _get_shard_iterator(self, asked: Asked, now_us: int) -> dict[str, Any]:
        named = asked.get("StreamName") or asked.get("StreamARN", "").rpartition("/")[2]
        self._service.known_id(named, asked["ShardId"])
        try:
            stream = self._made(asked, now_us)
        except Refusal as refusal:
            if refusal.name == "ResourceNotFoundException":
                raise self._service.no_shard(named, asked["ShardId"]) from None  # in these words of the service
            raise
        iterator = self._service.get_shard_iterator(
            stream,
            asked["ShardId"],
            asked["ShardIteratorType"],
            asked.get("StartingSequenceNumber"),
            time_us(asked),
            now_us,
        )
        check_dry_run(asked)
        return {"ShardIterator": iterator}
