"""The desk of DynamoDB Streams: its JSON to calls and back, how often they may be made, and what is noted of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamiter.clock import microseconds
from streamiter.testing.http import forms, protocol
from streamiter.testing.http.orders import Order
from streamiter.testing.http.refusal import Refusal, limit_exceeded, throttled
from streamiter.testing.http.shapes import unserved
from streamiter.testing.streams.iterators import ShardIterator
from streamiter.testing.streams.stream_calls import StreamCalls
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.rates import Rates
from streamiter.testing.truth.service import Service

Details = dict[str, Any]


class StreamsDesk:
    """A desk: see orders.Desk. `short_ids` lets shard ids be as short as tests name them."""

    content_type = protocol.CONTENT_TYPE
    is_spared = False

    def __init__(self, service: Service, knobs: Knobs, *, short_ids: bool) -> None:
        self._service = service
        self._knobs = knobs
        self._calls = StreamCalls(service, knobs)
        self._rates = Rates()
        self._short_ids = short_ids
        self._orders: dict[str, tuple[type[protocol.Request], Callable[[Any], Order]]] = {
            "ListStreams": (protocol.ListStreams, self._list_streams),
            "DescribeStream": (protocol.DescribeStream, self._describe_stream),
            "GetShardIterator": (protocol.GetShardIterator, self._get_shard_iterator),
            "GetRecords": (protocol.GetRecords, self._get_records),
        }

    def read(self, operation: str, body: bytes, signed_region: str | None) -> Order:
        if operation not in self._orders:
            raise unserved("dynamodbstreams", operation)
        kind, order = self._orders[operation]
        asked = forms.read("dynamodbstreams", operation, body, short_ids=self._short_ids)
        return order(protocol.read(asked, kind))

    def write_refusal(self, refusal: Refusal) -> bytes:
        return protocol.write_refusal(refusal)

    # -- the four

    def _list_streams(self, asked: protocol.ListStreams) -> Order:
        def serve(now_us: int) -> bytes:
            page = self._calls.list_streams(asked.table_name, asked.limit, asked.exclusive_start_stream_arn, now_us)
            return protocol.write_streams(*page)

        return Order(serve, details={"limit": asked.limit, "table": asked.table_name})

    def _describe_stream(self, asked: protocol.DescribeStream) -> Order:
        def serve(now_us: int) -> bytes:
            if not self._rates.allows("DescribeStream", asked.stream_arn, self._knobs.describe_rate, now_us):
                raise throttled()
            children_of = asked.shard_filter.children_of if asked.shard_filter else None
            stream, page = self._calls.describe_stream(
                asked.stream_arn, asked.limit, asked.exclusive_start_shard_id, children_of, now_us
            )
            return protocol.write_description(stream, stream.life.status(now_us), page)

        return Order(serve, details={"limit": asked.limit, "table": _table(asked.stream_arn)})

    def _get_shard_iterator(self, asked: protocol.GetShardIterator) -> Order:
        def serve(now_us: int) -> bytes:
            time_us = None if asked.timestamp is None else microseconds(asked.timestamp)
            iterator = self._calls.get_shard_iterator(
                asked.stream_arn, asked.shard_id, asked.shard_iterator_type, asked.sequence_number, time_us, now_us
            )
            return protocol.write_iterator(iterator)

        return self._order_on_shard(
            serve,
            asked.stream_arn,
            asked.shard_id,
            iterator_type=asked.shard_iterator_type,
            sequence_number=asked.sequence_number,
            timestamp=asked.timestamp,
        )

    def _get_records(self, asked: protocol.GetRecords) -> Order:
        iterator = ShardIterator.decode(asked.shard_iterator)

        def serve(now_us: int) -> bytes:
            shard = f"{iterator.stream_arn} {iterator.shard_id}"
            if not self._rates.allows("GetRecords", shard, self._knobs.records_rate, now_us):
                raise limit_exceeded()
            page = self._calls.get_records(iterator, asked.limit, now_us)
            order.details["records"] = len(page.records)
            return protocol.write_records(page)

        order = self._order_on_shard(serve, iterator.stream_arn, iterator.shard_id, limit=asked.limit)
        return order

    def _order_on_shard(self, serve: Callable[[int], bytes], arn: str, shard_id: str, **details: Any) -> Order:
        """An order about a shard, which goes by the test's name for it, and by its id."""
        stream = self._service.streams.get(arn)
        shard = stream.shards.get(shard_id) if stream else None
        names = (shard.name, shard_id) if shard else (shard_id,)
        return Order(serve, names, details | {"table": _table(arn), "shard": names[0]})


def _table(arn: str) -> str:
    return arn.partition(":table/")[2].partition("/")[0]
