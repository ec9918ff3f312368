"""Enhanced fan-out: what Kinesis sends to a registered consumer, as the pages that GetRecords would give.

A subscription is a connection on which events come for five minutes; a thread takes them off it, a few ahead. Which place
the next page has to follow is in the iterator's text, so an iterator that is used again, or a connection that broke, only
costs a new subscription from there: nothing is lost and nothing comes twice.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from streamiter.clock import Clock, SystemClock, microseconds
from streamiter.position import AtNumber, AtTime, Horizon, Position
from streamiter.source.aws import service_time_us
from streamiter.source.clients import Clients
from streamiter.source.kinesis_page import RawPage, parsed_page

WAITS_SECONDS = 0.25  # for an event, before a page says that none came
EVENTS_AHEAD = 4  # at most 1 MiB each, waiting unread in each shard
_PREFIX = "fan-out "

_encode = msgspec.json.Encoder().encode


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a subscription begins, as text in place of an iterator."""

    type: str
    number: str | None = None
    time: float | None = None

    @property
    def text(self) -> str:
        """The iterator."""
        return _PREFIX + _encode(self).decode()

    @property
    def position(self) -> dict[str, Any]:
        """As SubscribeToShard is asked for it."""
        asked: dict[str, Any] = {"Type": self.type}
        if self.number is not None:
            asked["SequenceNumber"] = self.number
        if self.time is not None:
            asked["Timestamp"] = datetime.fromtimestamp(self.time, UTC)
        return asked


_decode_start = msgspec.json.Decoder(Start).decode


def is_start(text: str) -> bool:
    """Whether an iterator is one of these."""
    return text.startswith(_PREFIX)


def start_of(asked: Mapping[str, Any]) -> Start:
    """The same place, as GetShardIterator would be asked for it."""
    time = asked.get("Timestamp")
    return Start(
        asked["ShardIteratorType"], asked.get("StartingSequenceNumber"), None if time is None else time.timestamp()
    )


def position_of(text: str) -> Position:
    """The place as a position: what a refusal of it means depends on that."""
    start = _decode_start(text.removeprefix(_PREFIX))
    if start.number is not None:
        return AtNumber(start.number)
    return Horizon() if start.time is None else AtTime(microseconds(start.time))


class FanOut:
    """The subscriptions of one consumer, at most one for each shard."""

    def __init__(self, clients: Clients, consumer: str, clock: Clock | None = None) -> None:
        self._clients = clients
        self._consumer = consumer
        self.clock: Clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._live: dict[str, _Subscription] = {}

    def take(self, shard_id: str, text: str, limit: int) -> tuple[RawPage, int | None]:
        """The page that follows this place, and its time; an empty one, if nothing comes for a moment."""
        with self._lock:
            live = self._live.pop(shard_id, None)
        if live is not None and live.text != text:
            live.close()
            live = None
        if live is None:
            live = self._subscribe(shard_id, text)
        try:
            page, service_us, goes_on = live.take(limit)
        except BaseException:
            live.close()
            raise
        if goes_on:
            with self._lock:
                self._live[shard_id] = live
        return page, service_us

    def close(self) -> None:
        """Ends all subscriptions."""
        with self._lock:
            ended, self._live = list(self._live.values()), {}
        for live in ended:
            live.close()

    def _subscribe(self, shard_id: str, text: str) -> _Subscription:
        position = _decode_start(text.removeprefix(_PREFIX)).position
        response = self._clients.reading.subscribe_to_shard(
            ConsumerARN=self._consumer, ShardId=shard_id, StartingPosition=position
        )
        return _Subscription(response, text, self.clock)


class _Subscription:
    """One connection, and the events that came on it."""

    def __init__(self, response: Mapping[str, Any], text: str, clock: Clock) -> None:
        self.text = text  # of the place where the next page begins
        self._stream = response["EventStream"]
        self._service_us = service_time_us(response)  # when it began, by the service's clock ...
        self._clock = clock
        self._began = clock.monotonic()  # ... and by ours
        self._rest: RawPage | None = None  # of an event that had more records than were asked for
        self._is_closed = False
        self._events: queue.Queue[tuple[Any, float]] = queue.Queue(EVENTS_AHEAD)
        threading.Thread(target=self._listen, name="streamiter:fan-out", daemon=True).start()

    def take(self, limit: int) -> tuple[RawPage, int | None, bool]:
        """The next page, its time, and whether more may come on this connection."""
        came = self._began
        page = self._rest
        if page is None:
            try:
                event, came = self._events.get(timeout=WAITS_SECONDS)
            except queue.Empty:
                return RawPage([], self.text, None), None, True
            if event is None:  # Five minutes are over.
                return RawPage([], self.text, None), None, False
            if isinstance(event, BaseException):
                raise event
            page = self._page(event)
        page, self._rest = _cut(page, limit)
        self.text = page.NextShardIterator or ""
        service_us = None if self._service_us is None else self._service_us + microseconds(came - self._began)
        return page, service_us, page.NextShardIterator is not None

    def close(self) -> None:
        """Takes no more of it."""
        self._is_closed = True
        with contextlib.suppress(Exception):  # whatever a connection that is read by another thread makes of it
            self._stream.close()

    def _listen(self) -> None:
        """Takes events off the connection as fast as they are wanted; runs on a thread of its own."""
        try:
            for event in self._stream:
                if not self._put(event):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)
        finally:
            with contextlib.suppress(Exception):
                self._stream.close()

    def _put(self, event: Any) -> bool:
        while not self._is_closed:
            with contextlib.suppress(queue.Full):
                self._events.put((event, self._clock.monotonic()), timeout=WAITS_SECONDS)
                return True
        return False

    def _page(self, event: Mapping[str, Any]) -> RawPage:
        told = event["SubscribeToShardEvent"]
        number = told.get("ContinuationSequenceNumber")
        following = None if number is None else Start("AFTER_SEQUENCE_NUMBER", number).text
        return parsed_page({**told, "NextShardIterator": following})


def _cut(page: RawPage, limit: int) -> tuple[RawPage, RawPage | None]:
    """The first records of a page, and the page of those that are left."""
    if len(page.Records) <= limit or getattr(page, "spoiled", None):
        return page, None
    first, rest = page.Records[:limit], page.Records[limit:]
    following = Start("AFTER_SEQUENCE_NUMBER", first[-1].SequenceNumber).text
    behind = max(1, page.MillisBehindLatest or 0)
    return RawPage(first, following, behind), msgspec.structs.replace(page, Records=rest)
