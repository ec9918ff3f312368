"""Subscriptions: a shard's records, sent to a consumer as they come, until five minutes are over."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import msgspec

from streamiter.testing.http.eventstream import Happening
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.cbor_pages import write_cbor_page
from streamiter.testing.kinesis.iterators import KinesisIterator
from streamiter.testing.kinesis.pages import told_children, with_records

if TYPE_CHECKING:
    from streamiter.testing.kinesis.consumers import Consumer
    from streamiter.testing.kinesis.service import KinesisPage, KinesisService

LASTS_US = 300_000_000
RENEWED_AFTER_US = 5_000_000  # sooner it is in use
LOOKS_BETWEEN = 10  # so many looks without a record, then an event without records says so

_encode = msgspec.json.Encoder().encode


class Subscription:
    """One of a consumer to a shard."""

    def __init__(self, service: KinesisService, consumer: Consumer, iterator: str, now_us: int) -> None:
        self._service = service
        self._consumer = consumer
        self._iterator = iterator
        self._looks = LOOKS_BETWEEN  # The first event comes at once.
        self.began_us = now_us
        self._number = str(self._start(now_us))
        self.is_over = False

    def take(self, now_us: int) -> list[Happening] | None:
        """The events of this moment; None at its end."""
        if self.is_over:
            return None
        if self._is_replaced() or self._consumer.is_gone:
            self.is_over = True
            name = "ResourceNotFoundException" if self._consumer.is_gone else "ResourceInUseException"
            told = "The consumer is gone" if self._consumer.is_gone else "Another subscription took this one's place"
            return [_error(Refusal(name, told))]
        if now_us - self.began_us >= LASTS_US:
            self.is_over = True
            return None
        try:
            return self._events(now_us)
        except Refusal as refusal:
            self.is_over = True
            return [_error(refusal)]

    def _events(self, now_us: int) -> list[Happening]:
        place = KinesisIterator.decode(self._iterator)
        # An iterator of a subscription does not age.
        page = self._service.page_of(msgspec.structs.replace(place, issued_us=now_us), None, now_us)
        self._looks += 1
        is_read_out = page.next_iterator is None
        if not page.records and not is_read_out and self._looks < LOOKS_BETWEEN:
            return []
        self._looks = 0
        self._iterator = page.next_iterator or ""
        if page.records:
            self._number = page.records[-1].sequence_number
        self.is_over = is_read_out
        return [self._event(page)]

    def _event(self, page: KinesisPage) -> Happening:
        told: dict[str, Any] = {"MillisBehindLatest": page.behind_us // 1000}
        if page.next_iterator is not None:
            told["ContinuationSequenceNumber"] = self._number
        if page.children:
            told["ChildShards"] = told_children(page.children)
        rest = _encode(told)
        in_cbor = functools.partial(write_cbor_page, page.records, rest)
        return Happening("SubscribeToShardEvent", with_records(page.records, rest), cbor=in_cbor)

    def _start(self, now_us: int) -> int:
        place = KinesisIterator.decode(self._iterator)
        shard = self._service.shard(self._service.stream(place.stream, None, now_us), place.shard_id)
        before = shard.records[: max(0, place.place - shard.trimmed)]
        return before[-1].number if before else shard.starting

    def _is_replaced(self) -> bool:
        shard_id = KinesisIterator.decode(self._iterator).shard_id
        return self._consumer.subscriptions.get(shard_id) is not self


def _error(refusal: Refusal) -> Happening:
    return Happening(refusal.name, _encode({"message": refusal.message}), is_error=True)
