"""The desk of Kinesis: its JSON to calls and back, how often they may be made, and what is noted of them."""

from __future__ import annotations

from typing import Any

import msgspec

from streamiter.testing.http import eventstream, protocol
from streamiter.testing.http.orders import Order
from streamiter.testing.http.refusal import Refusal, limit_exceeded, throttled
from streamiter.testing.http.shapes import check, pruned, unserved
from streamiter.testing.kinesis.api import KinesisApi
from streamiter.testing.kinesis.manner import KINESIS
from streamiter.testing.kinesis.pages import page_in_cbor, write_page
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.rates import Rates

# What the faults that all services share are called here.
_OWN_WORDS = {
    "ThrottlingException": "ProvisionedThroughputExceededException",
    "InternalServerError": "InternalFailureException",
    "TrimmedDataAccessException": "InvalidArgumentException",
}
_MESSAGE = {"SerializationException": "Message"}
# What a subscription begins with, before its events.
_FIRST = eventstream.Happening("initial-response", b"{}")


_encode = msgspec.json.Encoder().encode


def _own_words(refusal: Refusal, operation: str) -> Refusal:
    """Gives a refusal the name that Kinesis has for it, also where the call is noted."""
    refusal.name = _OWN_WORDS.get(refusal.name, refusal.name)
    if refusal.name == "ExpiredIteratorException" and operation == "ListShards":
        refusal.name = "ExpiredNextTokenException"
    return refusal


class KinesisDesk:
    """A desk: see orders.Desk."""

    content_type = "application/x-amz-json-1.1"
    is_spared = False

    def __init__(self, service: KinesisService, knobs: Knobs) -> None:
        self._api = KinesisApi(service, knobs)
        self._knobs = knobs
        self._rates = Rates()
        self._operation = ""

    def read(self, operation: str, body: bytes, signed_region: str | None) -> Order:
        self._operation = operation
        if not self._api.knows(operation):
            raise unserved("kinesis", operation)
        if not body:
            raise Refusal("SerializationException", "")
        asked = protocol.parse(body)
        check("kinesis", operation, asked, manner=KINESIS)
        asked = pruned("kinesis", operation, asked)
        stream, shard_id = self._api.subject(operation, asked)
        names = self._api.names(stream, shard_id)
        details: dict[str, Any] = {"table": stream, "limit": asked.get("Limit")}
        if names:
            details["shard"] = names[0]
        if operation == "GetShardIterator":
            details |= {
                "iterator_type": asked["ShardIteratorType"],
                "sequence_number": asked.get("StartingSequenceNumber"),
                "timestamp": asked.get("Timestamp"),
            }
        elif operation == "SubscribeToShard":
            position = asked["StartingPosition"]
            details |= {
                "iterator_type": position["Type"],
                "sequence_number": position.get("SequenceNumber"),
                "timestamp": position.get("Timestamp"),
            }

        def serve(now_us: int) -> bytes:
            self._check_rate(operation, stream, shard_id, now_us)
            if operation == "SubscribeToShard":
                order.following = self._api.subscribe(asked, now_us).take
                return eventstream.message(_FIRST, _FIRST.payload, self.content_type)
            if operation != "GetRecords":
                return self._api.answer(operation, asked, now_us)
            page = self._api.page(asked, now_us)
            order.details["records"] = len(page.records)
            order.cbor = page_in_cbor(page)
            return write_page(page)

        order = Order(serve, names, details)
        return order

    def write_refusal(self, refusal: Refusal) -> bytes:
        refusal = _own_words(refusal, self._operation)
        told = {} if not refusal.message else {_MESSAGE.get(refusal.name, "message"): refusal.message}
        return _encode({"__type": refusal.name, **told})  # Kinesis puts no namespace before the name

    def _check_rate(self, operation: str, stream: str | None, shard_id: str | None, now_us: int) -> None:
        listing, records = operation == "ListShards", operation == "GetRecords"
        if listing and not self._rates.allows(operation, stream or "", self._knobs.describe_rate, now_us):
            raise limit_exceeded()
        if records and not self._rates.allows(operation, f"{stream} {shard_id}", self._knobs.records_rate, now_us):
            raise throttled()
