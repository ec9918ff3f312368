"""Kinesis' calls: JSON in, JSON out, over the service that knows the truth."""

from __future__ import annotations

from typing import Any

import msgspec

from streamiter.testing.kinesis.asked import check_dry_run, wrong
from streamiter.testing.kinesis.consumer_operations import ConsumerOperations
from streamiter.testing.kinesis.iterators import KinesisIterator
from streamiter.testing.kinesis.operations import Operation
from streamiter.testing.kinesis.record_operations import RecordOperations
from streamiter.testing.kinesis.service import KinesisPage, KinesisService
from streamiter.testing.kinesis.shard_operations import ShardOperations
from streamiter.testing.kinesis.stream_operations import StreamOperations
from streamiter.testing.kinesis.subscription import Subscription
from streamiter.testing.kinesis.tag_operations import TagOperations
from streamiter.testing.trouble.knobs import Knobs

TARGET = "Kinesis_20131202"

_encode = msgspec.json.Encoder().encode


class KinesisApi:
    """The operations, each by its name."""

    def __init__(self, service: KinesisService, knobs: Knobs) -> None:
        self.service = service
        self._consumers = ConsumerOperations(service, knobs)
        groups = (StreamOperations, ShardOperations, RecordOperations, TagOperations)
        self._operations: dict[str, Operation] = dict(self._consumers.all)
        for group in groups:
            self._operations |= group(service, knobs).all

    def knows(self, operation: str) -> bool:
        """Whether there is such an operation."""
        return operation in self._operations or operation in ("GetRecords", "SubscribeToShard")

    def answer(self, operation: str, asked: dict[str, Any], now_us: int) -> bytes:
        """The body of the answer; PutRecord and the like raise refusals."""
        told = self._operations[operation](asked, now_us)
        return b"" if told is None else _encode(told)

    def page(self, asked: dict[str, Any], now_us: int) -> KinesisPage:
        """GetRecords: the page, for `write_page`."""
        iterator = KinesisIterator.decode(asked["ShardIterator"])
        stream = self.service.stream(iterator.stream, None, now_us)
        if asked.get("StreamARN") not in (None, stream.arn):
            raise wrong(f"ShardIterator and StreamARN {asked['StreamARN']} are not of the same stream")
        page = self.service.get_records(iterator, asked.get("Limit"), now_us)
        check_dry_run(asked)
        return page

    def subscribe(self, asked: dict[str, Any], now_us: int) -> Subscription:
        """SubscribeToShard: what follows the answer."""
        return self._consumers.subscribe(asked, now_us)

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
        arn = next((asked[name] for name in ("StreamARN", "ConsumerARN", "ResourceARN") if name in asked), "")
        name = asked.get("StreamName") or str(arn).partition("/consumer/")[0].rpartition("/")[2]
        return name or None, asked.get("ShardId")
