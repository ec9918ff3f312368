"""Kinesis' calls: JSON in, JSON out, over the service that knows the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from streamiter.clock import microseconds
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.asked import check_names_stream, payload_of, wrong
from streamiter.testing.kinesis.filters import filtered
from streamiter.testing.kinesis.iterators import KinesisIterator, ListToken
from streamiter.testing.kinesis.service import KinesisPage, KinesisService, check_status, hash_keys, seconds
from streamiter.testing.kinesis.truth import HOUR_US, WHOLE, KinesisShard, KinesisTruth, PutRecord
from streamiter.testing.trouble.knobs import Knobs

TARGET = "Kinesis_20131202"
MAX_SHARDS = 1000
TOKEN_LIFE_US = 300_000_000

_encode = msgspec.json.Encoder().encode


class KinesisApi:
    """The operations, each by its name."""

    def __init__(self, service: KinesisService, knobs: Knobs) -> None:
        self.service = service
        self._knobs = knobs
        self._operations: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "CreateStream": self._create_stream,
            "DeleteStream": self._delete_stream,
            "DescribeStream": self._describe_stream,
            "DescribeStreamSummary": self._describe_stream_summary,
            "ListStreams": self._list_streams,
            "ListShards": self._list_shards,
            "PutRecord": self._put_record,
            "PutRecords": self._put_records,
            "GetShardIterator": self._get_shard_iterator,
            "SplitShard": self._split_shard,
            "MergeShards": self._merge_shards,
            "UpdateShardCount": self._update_shard_count,
            "IncreaseStreamRetentionPeriod": lambda asked, now_us: self._retain(asked, now_us, longer=True),
            "DecreaseStreamRetentionPeriod": lambda asked, now_us: self._retain(asked, now_us, longer=False),
        }

    def knows(self, operation: str) -> bool:
        """Whether there is such an operation."""
        return operation in self._operations or operation == "GetRecords"

    def answer(self, operation: str, asked: dict[str, Any], now_us: int) -> bytes:
        """The body of the answer; PutRecord and the like raise refusals."""
        told = self._operations[operation](asked, now_us)
        return told if isinstance(told, bytes) else b"" if told is None else _encode(told)

    def page(self, asked: dict[str, Any], now_us: int) -> KinesisPage:
        """GetRecords: the page, for `write_page`."""
        iterator = KinesisIterator.decode(asked["ShardIterator"])
        return self.service.get_records(iterator, asked.get("Limit"), now_us)

    def names(self, stream: str | None, shard_id: str | None) -> tuple[str, ...]:
        """What a shard goes by: the test's name for it, and its id."""
        truth = self.service.streams.get(stream or "")
        if shard_id is None:
            return ()
        return (truth.shards[shard_id].name, shard_id) if truth and shard_id in truth.shards else (shard_id,)

    def subject(self, operation: str, asked: dict[str, Any]) -> tuple[str | None, str | None]:
        """The stream and the shard that a call is about."""
        if operation == "GetRecords":
            iterator = KinesisIterator.decode(asked["ShardIterator"])
            return iterator.stream, iterator.shard_id
        name = asked.get("StreamName") or str(asked.get("StreamARN", "")).rpartition("/")[2]
        return name or None, asked.get("ShardId")

    # -- streams

    def _create_stream(self, asked: dict[str, Any], now_us: int) -> None:
        is_on_demand = (asked.get("StreamModeDetails") or {}).get("StreamMode") == "ON_DEMAND"
        distributes = asked.get("RecordDistributionStrategy") == "AUTO"
        if distributes and not is_on_demand:
            raise wrong("RecordDistributionStrategy AUTO is for streams in ON_DEMAND mode")
        stream = self.service.create(asked["StreamName"], now_us, microseconds(self._knobs.enabling))
        stream.is_on_demand, stream.distributes = is_on_demand, distributes
        stream.start(asked.get("ShardCount", 4), now_us)

    def _delete_stream(self, asked: dict[str, Any], now_us: int) -> None:
        self.service.delete(self._stream(asked, now_us))

    def _describe_stream(self, asked: dict[str, Any], now_us: int) -> dict[str, Any]:
        stream = self._stream(asked, now_us)
        after = asked.get("ExclusiveStartShardId")
        if stream.status(now_us) == "CREATING":
            return {"StreamDescription": self._told(stream, now_us) | {"Shards": [], "HasMoreShards": False}}
        shards, following = self._rows(stream, list(stream.shards.values()), after, asked.get("Limit") or 100, now_us)
        told = self._told(stream, now_us) | {"Shards": shards, "HasMoreShards": following is not None}
        return {"StreamDescription": told}

    def _describe_stream_summary(self, asked: dict[str, Any], now_us: int) -> dict[str, Any]:
        stream = self._stream(asked, now_us)
        told = self._told(stream, now_us) | {"OpenShardCount": len(stream.open_shards()), "ConsumerCount": 0}
        if stream.is_on_demand:
            told["RecordDistributionStrategy"] = "AUTO" if stream.distributes else "USER_PARTITION_KEY"
        return {"StreamDescriptionSummary": told}

    def _told(self, stream: KinesisTruth, now_us: int) -> dict[str, Any]:
        return {
            "StreamName": stream.name,
            "StreamARN": stream.arn,
            "StreamStatus": stream.status(now_us),
            "StreamModeDetails": {"StreamMode": "ON_DEMAND" if stream.is_on_demand else "PROVISIONED"},
            "RetentionPeriodHours": stream.retention_us // HOUR_US,
            "StreamCreationTimestamp": seconds(stream.created_us),
            "EnhancedMonitoring": [{"ShardLevelMetrics": []}],
            "EncryptionType": "NONE",
        }

    def _list_streams(self, asked: dict[str, Any], now_us: int) -> dict[str, Any]:
        after = asked.get("ExclusiveStartStreamName") or asked.get("NextToken") or ""
        names = sorted(name for name in self.service.streams if name > after)
        page = names[: asked.get("Limit") or 100]
        told = {"StreamNames": page, "HasMoreStreams": len(page) < len(names)}
        return told | ({"NextToken": page[-1]} if told["HasMoreStreams"] else {})

    def _retain(self, asked: dict[str, Any], now_us: int, *, longer: bool) -> None:
        self.service.retain(self._active(asked, now_us), asked["RetentionPeriodHours"], longer=longer)

    # -- shards

    def _list_shards(self, asked: dict[str, Any], now_us: int) -> dict[str, Any]:
        after = asked.get("ExclusiveStartShardId")
        if "NextToken" in asked:
            for member in ("StreamName", "StreamCreationTimestamp", "ExclusiveStartShardId"):
                if member in asked:
                    raise wrong(f"NextToken and {member} cannot be provided together.")
            token = ListToken.decode(asked["NextToken"])
            if now_us - token.issued_us >= TOKEN_LIFE_US:
                raise Refusal("ExpiredNextTokenException", "The NextToken has expired.")
            asked, after = {"StreamName": token.stream, "ShardFilter": token.filter}, token.after
        check_names_stream(asked)
        stream = self.service.stream(asked.get("StreamName"), asked.get("StreamARN"), now_us)
        check_status(stream, ("ACTIVE", "UPDATING"), now_us)
        shard_filter = asked.get("ShardFilter")
        shards = filtered(stream, shard_filter, now_us)
        rows, following = self._rows(stream, shards, after, asked.get("MaxResults") or MAX_SHARDS, now_us)
        if following is None:
            return {"Shards": rows}
        return {"Shards": rows, "NextToken": ListToken(stream.name, following, now_us, shard_filter).encode()}

    def _rows(
        self, stream: KinesisTruth, shards: list[KinesisShard], after: str | None, limit: int, now_us: int
    ) -> tuple[list[dict[str, Any]], str | None]:
        stream.listing.weather = self._knobs.weather
        limit = min(limit, self._knobs.shards_per_page * 10)
        page = stream.listing.page(shards, after, limit, now_us, empty_end=self._knobs.ends_with_empty_page)
        rows = []
        for row in page.rows:
            shard = stream.shards[row.shard_id]
            numbers = {"StartingSequenceNumber": str(row.starting)}
            if row.ending is not None:
                numbers["EndingSequenceNumber"] = str(row.ending)
            parents = dict(zip(("ParentShardId", "AdjacentParentShardId"), shard.parents, strict=False))
            rows.append(
                {"ShardId": shard.id, **parents, "HashKeyRange": hash_keys(shard), "SequenceNumberRange": numbers}
            )
        return rows, page.last_id

    def _split_shard(self, asked: dict[str, Any], now_us: int) -> None:
        stream = self._active(asked, now_us)
        stream.split(self._open(stream, asked["ShardToSplit"]), int(asked["NewStartingHashKey"]), now_us)
        self.service.resharded(stream, now_us)

    def _merge_shards(self, asked: dict[str, Any], now_us: int) -> None:
        stream = self._active(asked, now_us)
        pair = self._open(stream, asked["ShardToMerge"]), self._open(stream, asked["AdjacentShardToMerge"])
        stream.merge(*pair, now_us)
        self.service.resharded(stream, now_us)

    def _open(self, stream: KinesisTruth, shard_id: str) -> KinesisShard:
        shard = self.service.shard(stream, shard_id)
        if shard.is_closed:
            raise Refusal("InvalidArgumentException", f"Shard {shard_id} in stream {stream.name} is closed already")
        return shard

    def _update_shard_count(self, asked: dict[str, Any], now_us: int) -> dict[str, Any]:
        stream = self._active(asked, now_us)
        before, target = len(stream.open_shards()), asked["TargetShardCount"]
        if not before / 2 <= target <= before * 2:
            told = f"UpdateShardCount cannot go from {before} to {target}: at most twice, at least half as many"
            raise Refusal("InvalidArgumentException", told)
        stream.reshard(target, now_us)
        self.service.resharded(stream, now_us)
        return {"StreamName": stream.name, "CurrentShardCount": before, "TargetShardCount": target}

    # -- records

    def _put_record(self, asked: dict[str, Any], now_us: int) -> dict[str, Any]:
        stream = self._made(asked, now_us)
        record = self._put(stream, *self._placed(stream, asked), now_us)
        return {"ShardId": record.shard_id, "SequenceNumber": record.sequence_number, "EncryptionType": "NONE"}

    def _put_records(self, asked: dict[str, Any], now_us: int) -> dict[str, Any]:
        stream = self._made(asked, now_us)
        placed = [self._placed(stream, row) for row in asked["Records"]]  # all, before any of them is written
        rows = [self._put_one(stream, place, now_us) for place in placed]
        failed = sum("ErrorCode" in row for row in rows)
        return {"FailedRecordCount": failed, "Records": rows, "EncryptionType": "NONE"}

    def _put_one(
        self, stream: KinesisTruth, place: tuple[KinesisShard, str | None, bytes], now_us: int
    ) -> dict[str, Any]:
        weather = self._knobs.weather
        if weather is not None and weather.leaves("PutRecords", place[1:]):
            told = (
                f"Rate exceeded for shard {place[0].id} in stream {stream.name} under account {self.service.account}."
            )
            return {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": told}
        record = self._put(stream, *place, now_us)
        return {"ShardId": record.shard_id, "SequenceNumber": record.sequence_number}

    @staticmethod
    def _placed(stream: KinesisTruth, row: dict[str, Any]) -> tuple[KinesisShard, str | None, bytes]:
        """Where a record is to be put, under which key, and its payload."""
        key, explicit = row.get("PartitionKey"), row.get("ExplicitHashKey")
        if explicit is not None and int(explicit) >= WHOLE:
            raise wrong(f"ExplicitHashKey {explicit} is not below 2 ** 128")
        return stream.owner(key, explicit), key, payload_of(row["Data"])

    def _put(
        self, stream: KinesisTruth, shard: KinesisShard, key: str | None, payload: bytes, now_us: int
    ) -> PutRecord:
        created_us = now_us + self._knobs.created_shift_us(shard.name, shard.end)
        return stream.add(shard, key, payload, created_us, now_us)

    def _get_shard_iterator(self, asked: dict[str, Any], now_us: int) -> dict[str, Any]:
        time = asked.get("Timestamp")
        iterator = self.service.get_shard_iterator(
            self._made(asked, now_us),
            asked["ShardId"],
            asked["ShardIteratorType"],
            asked.get("StartingSequenceNumber"),
            None if time is None else microseconds(time),
            now_us,
        )
        return {"ShardIterator": iterator}

    def _stream(self, asked: dict[str, Any], now_us: int) -> KinesisTruth:
        check_names_stream(asked)
        return self.service.stream(asked.get("StreamName"), asked.get("StreamARN"), now_us)

    def _made(self, asked: dict[str, Any], now_us: int) -> KinesisTruth:
        check_names_stream(asked)
        return self.service.made(asked.get("StreamName"), asked.get("StreamARN"), now_us)

    def _active(self, asked: dict[str, Any], now_us: int) -> KinesisTruth:
        check_names_stream(asked)
        return self.service.active(asked.get("StreamName"), asked.get("StreamARN"), now_us)
