"""Operations on consumers: registered, told of, subscribed."""

from __future__ import annotations

from typing import Any

from streamiter.clock import microseconds
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.asked import check_dry_run, wrong
from streamiter.testing.kinesis.consumers import Consumer
from streamiter.testing.kinesis.iterators import ListToken
from streamiter.testing.kinesis.operations import Asked, Operation, Operations
from streamiter.testing.kinesis.settings import tagged
from streamiter.testing.kinesis.shard_operations import time_us
from streamiter.testing.kinesis.subscription import RENEWED_AFTER_US, Subscription
from streamiter.testing.kinesis.truth import KinesisTruth

MOST_LISTED = 100  # consumers, where no limit is asked for


class ConsumerOperations(Operations):
    """See operations.Operations."""

    @property
    def all(self) -> dict[str, Operation]:
        return {
            "RegisterStreamConsumer": self._register,
            "DeregisterStreamConsumer": self._deregister,
            "DescribeStreamConsumer": self._describe,
            "ListStreamConsumers": self._list,
        }

    def _register(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream = self._service.by_arn(asked["StreamARN"], now_us)
        self._service.check_status(stream, ("ACTIVE", "UPDATING"), now_us)
        tags = tagged({}, asked.get("Tags") or {}, f"consumer {asked['ConsumerName']}")
        consumer = stream.consumers.register(asked["ConsumerName"], now_us, microseconds(self._knobs.enabling))
        consumer.tags = tags
        return {"Consumer": consumer.told(now_us) | {"ConsumerStatus": "CREATING"}}

    def _deregister(self, asked: Asked, now_us: int) -> None:
        stream, consumer = self._consumer(asked, now_us)
        stream.consumers.remove(consumer)

    def _describe(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream, consumer = self._consumer(asked, now_us)
        return {"ConsumerDescription": consumer.told(now_us) | {"StreamARN": stream.arn}}

    def _list(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream = self._service.by_arn(asked["StreamARN"], now_us)
        self._service.check_created(stream, asked.get("StreamCreationTimestamp"))
        self._service.check_status(stream, ("ACTIVE", "UPDATING"), now_us)
        after = ListToken.read(asked["NextToken"], now_us).after if "NextToken" in asked else ""
        rest = [consumer for consumer in stream.consumers.listed() if consumer.name > after]
        page = rest[: asked.get("MaxResults") or MOST_LISTED]
        told: dict[str, Any] = {"Consumers": [consumer.told(now_us) for consumer in page]}
        if len(page) < len(rest):
            told["NextToken"] = ListToken(stream.name, page[-1].name, now_us).encode()
        return told

    def _consumer(self, asked: Asked, now_us: int) -> tuple[KinesisTruth, Consumer]:
        arn, name, stream_arn = asked.get("ConsumerARN"), asked.get("ConsumerName"), asked.get("StreamARN")
        if arn is None and (name is None or stream_arn is None):
            raise wrong("ConsumerARN, or StreamARN and ConsumerName, must be specified")
        stream = self._service.by_arn(stream_arn or str(arn).partition("/consumer/")[0], now_us)
        return stream, stream.consumers.find(name, arn)

    # -- subscribed

    def subscribe(self, asked: Asked, now_us: int) -> Subscription:
        """SubscribeToShard: what follows its answer."""
        consumer = self._service.consumer(asked["ConsumerARN"], now_us)
        stream = self._service.by_arn(asked["ConsumerARN"].partition("/consumer/")[0], now_us)
        position = asked["StartingPosition"]
        shard_id = self._service.shard(stream, asked["ShardId"]).id
        if consumer.status(now_us) != "ACTIVE":
            raise Refusal("ResourceInUseException", f"Consumer {consumer.arn} is not ACTIVE, but CREATING")
        before = consumer.subscriptions.get(shard_id)
        if before is not None and now_us - before.began_us < RENEWED_AFTER_US:
            told = "A subscription to a shard may be renewed after 5 seconds"
            raise Refusal("ResourceInUseException", f"Another active subscription exists for this consumer. {told}.")
        iterator = self._service.get_shard_iterator(
            stream, shard_id, position["Type"], position.get("SequenceNumber"), time_us(position), now_us
        )
        check_dry_run(asked)
        subscription = Subscription(self._service, consumer, iterator, now_us)
        consumer.subscriptions[shard_id] = subscription
        return subscription
