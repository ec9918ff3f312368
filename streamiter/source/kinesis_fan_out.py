"""Enhanced fan-out: what Kinesis sends to a registered consumer, as the pages that GetRecords would give.

A subscription is a connection on which events come for five minutes; a thread takes them off it, ahead of the reader. When
the events that wait take as much memory as they may, in all shards together, the threads leave what comes on their
connections, and Kinesis stops sending; only the event that a shard is being asked for is still read. Which place
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
from streamiter.source.ahead import Ahead
from streamiter.source.aws import service_time_us
from streamiter.source.clients import Clients
from streamiter.source.kinesis_page import RawPage, parsed_page

WAITS_SECONDS = 0.25  # for an event, before a page says that none came
MOST_AHEAD_BYTES = 32 * 1024 * 1024  # of events that wait, in all shards together
RECORD_BYTES = 500  # that a record takes in memory besides its payload, about
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
        self.ahead = Ahead(MOST_AHEAD_BYTES)
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
        else:
            live.close()
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
        return _Subscription(response, text, self.clock, self.ahead)


class _Subscription:
    """One connection, and the events that came on it."""

    def __init__(self, response: Mapping[str, Any], text: str, clock: Clock, ahead: Ahead) -> None:
        self.text = text  # of the place where the next page begins
        self._stream = response["EventStream"]
        self._service_us = service_time_us(response)  # when it began, by the service's clock ...
        self._clock = clock
        self._began = clock.monotonic()  # ... and by ours
        self._rest: RawPage | None = None  # of an event that had more records than were asked for
        self._size = 0  # of the event that the rest is of
        self._is_closed = False
        self._is_wanted = True  # somebody asks for the next event
        self._ahead = ahead
        self._lock = threading.Lock()  # over putting events, and over closing
        self._events: queue.SimpleQueue[tuple[Any, float, int]] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="streamiter:fan-out", daemon=True).start()

    def take(self, limit: int) -> tuple[RawPage, int | None, bool]:
        """The next page, its time, and whether more may come on this connection."""
        came = self._began
        page = self._rest
        if page is None:
            try:
                event, came, size = self._next()
            except queue.Empty:
                return RawPage([], self.text, None), None, True
            self._size = size
            if event is None:  # Five minutes are over.
                return RawPage([], self.text, None), None, False
            if isinstance(event, BaseException):
                raise event
            page = self._page(event)
        page, self._rest = _cut(page, limit)
        if self._rest is None:
            self._release()
        self.text = page.NextShardIterator or ""
        service_us = None if self._service_us is None else self._service_us + microseconds(came - self._began)
        return page, service_us, page.NextShardIterator is not None

    def _next(self) -> tuple[Any, float, int]:
        """The next event, when it came, and its size."""
        with contextlib.suppress(queue.Empty):
            return self._events.get_nowait()
        self._is_wanted = True
        self._ahead.look_again()
        return self._events.get(timeout=WAITS_SECONDS)

    def _release(self) -> None:
        self._ahead.remove(self._size)
        self._size = 0

    def close(self) -> None:
        """Takes no more of it."""
        with self._lock:
            self._is_closed = True
        self._release()
        with contextlib.suppress(queue.Empty):
            while True:
                self._ahead.remove(self._events.get_nowait()[2])
        # To close a connection here would wait until the thread that reads it gets its next event, seconds later. To
        # shut it down wakes the thread at once, and the thread closes it. (urllib3 can do so from version 2.3 on.)
        raw: Any = getattr(self._stream, "_raw_stream", None)
        with contextlib.suppress(Exception):  # the connection may have ended already
            raw.shutdown()

    def _listen(self) -> None:
        """Takes events off the connection while there is room for them; runs on a thread of its own."""
        try:
            for event in self._stream:
                if not self._put(event, _size_of(event)):
                    return
                self._ahead.hold_up(self._needs_more)
            self._put(None)
        except BaseException as error:
            self._put(error)
        finally:
            with contextlib.suppress(Exception):
                self._stream.close()

    def _needs_more(self) -> bool:
        return self._is_wanted or self._is_closed

    def _put(self, event: Any, size: int = 0) -> bool:
        with self._lock:
            if not self._is_closed:
                self._is_wanted = False
                self._ahead.add(size)
                self._events.put((event, self._clock.monotonic(), size))
            return not self._is_closed

    def _page(self, event: Mapping[str, Any]) -> RawPage:
        told = event["SubscribeToShardEvent"]
        number = told.get("ContinuationSequenceNumber")
        following = None if number is None else Start("AFTER_SEQUENCE_NUMBER", number).text
        return parsed_page({**told, "NextShardIterator": following})


def _size_of(event: Any) -> int:
    """About what an event takes in memory."""
    records = event.get("SubscribeToShardEvent", {}).get("Records") or ()
    return sum(len(record.get("Data", b"")) + RECORD_BYTES for record in records)


def _cut(page: RawPage, limit: int) -> tuple[RawPage, RawPage | None]:
    """The first records of a page, and the page of those that are left."""
    if len(page.Records) <= limit or getattr(page, "spoiled", None):
        return page, None
    first, rest = page.Records[:limit], page.Records[limit:]
    following = Start("AFTER_SEQUENCE_NUMBER", first[-1].SequenceNumber).text
    behind = max(1, page.MillisBehindLatest or 0)
    return RawPage(first, following, behind), msgspec.structs.replace(page, Records=rest)
