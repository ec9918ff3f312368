"""Reception: one call's way through the service: read it, spoil it or serve it, note it, wrap the answer up."""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.testing import protocol
from streamiter.testing.calls import Call, Calls
from streamiter.testing.control import Control
from streamiter.testing.day import Day
from streamiter.testing.faults import Fault, Faults
from streamiter.testing.iterators import ShardIterator
from streamiter.testing.knobs import Knobs
from streamiter.testing.rates import Rates
from streamiter.testing.refusal import Refusal, limit_exceeded, throttled
from streamiter.testing.service import Service
from streamiter.testing.shapes import check
from streamiter.testing.tables import TableApi


@dataclass
class Answer:
    """What goes back over the wire, and what becomes of it on the way."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0  # real ones
    hangs_on: threading.Event | None = None  # nothing is sent before this is set
    is_cut: bool = False  # only half of the body arrives
    is_lost: bool = False  # nothing arrives


@dataclass
class Subject:
    """What a call is about, and what came of it: for faults, rates and notes."""

    stream_arn: str = ""
    shard_id: str = ""
    iterator: ShardIterator | None = None
    records: int = 0


class Reception:
    """Takes calls from any thread, one at a time."""

    def __init__(self, service: Service, clock: Clock, knobs: Knobs, *, short_ids: bool = False) -> None:
        self.service = service
        self.clock = clock
        self.knobs = knobs
        self.faults = Faults()
        self.calls = Calls()
        self.lock = threading.RLock()
        self._tables = TableApi(service, knobs)
        self._day = Day(service, self._tables, knobs)
        self._control = Control(service, clock, knobs, self.faults)
        self._short_ids = short_ids
        self._rates = Rates()
        self._requests = 0
        self._operations: dict[str, tuple[type[protocol.Request], Callable[[Any, Subject, int], bytes]]] = {
            "ListStreams": (protocol.ListStreams, self._list_streams),
            "DescribeStream": (protocol.DescribeStream, self._describe_stream),
            "GetShardIterator": (protocol.GetShardIterator, self._get_shard_iterator),
            "GetRecords": (protocol.GetRecords, self._get_records),
        }

    @property
    def now_us(self) -> int:
        """The moment, by the service's clock."""
        return microseconds(self.clock.now())

    def live(self) -> None:
        """What came due by itself until now happens, for somebody looks."""
        with self.lock:
            self._day.live_until(self.now_us)

    def answer(self, target: str, body: bytes, signed_region: str | None = None) -> Answer:
        """The answer to one call, of a client in some region."""
        with self.lock:
            now_us = self.now_us
            self._day.live_until(now_us)
            operation = target.rpartition(".")[2]
            details: dict[str, Any] = {}
            fault: Fault | None = None
            outcome: str
            try:
                serve, subject, details = self._read(target, body, signed_region)
                fault = None if target.startswith(protocol.CONTROL) else self._fault(operation, self._names(subject))
                if fault is not None:
                    fault.refuse()
                self._check_rate(operation, subject, now_us)
                answer = Answer(200, serve(now_us))
                outcome = fault.kind if fault is not None else "ok"
                details["records"] = subject.records
            except Refusal as refusal:
                answer = Answer(refusal.status, protocol.write_refusal(refusal))
                outcome = refusal.name
            self.calls.add(Call(operation, outcome, now_us / SECOND_US, **details))
            return self._wrap(answer, operation, fault, now_us)

    # -- reading

    def _read(
        self, target: str, body: bytes, region: str | None
    ) -> tuple[Callable[[int], bytes], Subject, dict[str, Any]]:
        """How to serve a call, what it is about, and what to note of it; a refusal when its form is wrong."""
        service, _, operation = target.partition(".")
        if service == protocol.TABLES and self._tables.knows(operation):
            asked = protocol.parse(body)
            check("dynamodb", operation, asked)
            details = {"table": _table_name(asked), "limit": asked.get("Limit")}
            return (lambda now_us: self._tables.answer(operation, asked, now_us, region)), Subject(), details
        if service == protocol.STREAMS and operation in self._operations:
            kind, serve = self._operations[operation]
            asked = protocol.parse(body)
            check("dynamodbstreams", operation, asked, short_ids=self._short_ids)
            request = protocol.read(asked, kind)
            subject = _subject(request)
            return (lambda now_us: serve(request, subject, now_us)), subject, self._details(request, subject)
        if service == protocol.CONTROL:
            asked = protocol.parse(body)
            return (lambda now_us: self._control.answer(operation, asked, now_us)), Subject(), {}
        raise Refusal("UnknownOperationException", "")

    def _details(self, request: protocol.Request, subject: Subject) -> dict[str, Any]:
        details: dict[str, Any] = {"limit": getattr(request, "limit", None)}
        if subject.stream_arn:
            details["table"] = subject.stream_arn.partition(":table/")[2].partition("/")[0]
        if subject.shard_id:
            details["shard"] = self._names(subject)[0]
        if isinstance(request, protocol.GetShardIterator):
            details |= {
                "iterator_type": request.shard_iterator_type,
                "sequence_number": request.sequence_number,
                "timestamp": request.timestamp,
            }
        elif isinstance(request, protocol.ListStreams):
            details["table"] = request.table_name
        return details

    def _names(self, subject: Subject) -> tuple[str, ...]:
        """What a shard goes by: the test's name for it, and its id."""
        if not subject.shard_id:
            return ()
        stream = self.service.streams.get(subject.stream_arn)
        if stream is not None and subject.shard_id in stream.shards:
            return stream.shards[subject.shard_id].name, subject.shard_id
        return (subject.shard_id,)

    def _fault(self, operation: str, shards: tuple[str, ...]) -> Fault | None:
        """What spoils a call: as a test laid it out, or else the weather."""
        weather = self.knobs.weather
        return self.faults.take(operation, shards) or (weather.fault(operation, shards) if weather else None)

    def _check_rate(self, operation: str, subject: Subject, now_us: int) -> None:
        if operation == "DescribeStream":
            if not self._rates.allows(operation, subject.stream_arn, self.knobs.describe_rate, now_us):
                raise throttled()
        elif operation == "GetRecords":
            target = f"{subject.stream_arn} {subject.shard_id}"
            if not self._rates.allows(operation, target, self.knobs.records_rate, now_us):
                raise limit_exceeded()

    # -- serving

    def _list_streams(self, request: protocol.ListStreams, _: Subject, now_us: int) -> bytes:
        page = self.service.list_streams(request.table_name, request.limit, request.exclusive_start_stream_arn, now_us)
        return protocol.write_streams(*page)

    def _describe_stream(self, request: protocol.DescribeStream, _: Subject, now_us: int) -> bytes:
        children_of = request.shard_filter.children_of if request.shard_filter else None
        stream, page = self.service.describe_stream(
            request.stream_arn, request.limit, request.exclusive_start_shard_id, children_of, now_us
        )
        return protocol.write_description(stream, stream.status(now_us), page)

    def _get_shard_iterator(self, request: protocol.GetShardIterator, _: Subject, now_us: int) -> bytes:
        time_us = None if request.timestamp is None else microseconds(request.timestamp)
        iterator = self.service.get_shard_iterator(
            request.stream_arn, request.shard_id, request.shard_iterator_type, request.sequence_number, time_us, now_us
        )
        return protocol.write_iterator(iterator)

    def _get_records(self, request: protocol.GetRecords, subject: Subject, now_us: int) -> bytes:
        assert subject.iterator is not None
        page = self.service.get_records(subject.iterator, request.limit, now_us)
        subject.records = len(page.records)
        return protocol.write_records(page)

    # -- answering

    def _wrap(self, answer: Answer, operation: str, fault: Fault | None, now_us: int) -> Answer:
        latency = self.knobs.latency
        answer.wait_seconds = latency.get(operation, latency.get("*", 0.0)) if isinstance(latency, dict) else latency
        crc = self.knobs.crc
        if fault is not None:
            answer.is_cut, answer.is_lost = fault.kind == "cut", fault.kind == "reset"
            if fault.kind == "hang":
                answer.hangs_on = fault.is_released
            elif fault.kind == "slow":
                answer.wait_seconds += fault.seconds
            elif fault.kind == "bad_crc":
                crc = "wrong"
            elif fault.kind == "bad_json":
                answer.body = answer.body[: len(answer.body) // 2] + b"\x00"
            elif fault.kind == "html":
                answer.status, answer.body = 502, b"<html><body>502 Bad Gateway</body></html>"
        self._requests += 1
        answer.headers = {
            "Server": "Server",
            "Content-Type": "text/html" if fault is not None and fault.kind == "html" else protocol.CONTENT_TYPE,
            "x-amzn-RequestId": f"{self._requests:052d}",
        }
        if self.knobs.date:
            answer.headers["Date"] = formatdate(math.floor(now_us / SECOND_US + self.knobs.skew), usegmt=True)
        if crc != "absent":
            answer.headers["x-amz-crc32"] = str(zlib.crc32(answer.body) ^ (crc == "wrong"))
        return answer


def _table_name(request: dict[str, Any]) -> str | None:
    name = request.get("TableName")
    return None if name is None else str(name).rpartition(":table/")[2]


def _subject(request: protocol.Request) -> Subject:
    if isinstance(request, protocol.GetRecords):
        iterator = ShardIterator.decode(request.shard_iterator)
        return Subject(iterator.stream_arn, iterator.shard_id, iterator)
    if isinstance(request, protocol.GetShardIterator):
        return Subject(request.stream_arn, request.shard_id)
    if isinstance(request, protocol.DescribeStream):
        return Subject(request.stream_arn)
    return Subject()
