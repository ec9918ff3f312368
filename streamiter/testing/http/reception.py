"""Reception: one call's way through the service: read it, spoil it or serve it, note it, wrap the answer up."""

from __future__ import annotations

import logging
import math
import threading
import zlib
from dataclasses import dataclass, field
from email.utils import formatdate

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.testing.control import Control
from streamiter.testing.http import protocol
from streamiter.testing.http.calls import Call, Calls
from streamiter.testing.http.orders import Desk, Order
from streamiter.testing.http.refusal import Refusal, internal, unknown_operation
from streamiter.testing.kinesis.api import TARGET as KINESIS
from streamiter.testing.kinesis.desk import KinesisDesk
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.streams.streams_desk import StreamsDesk
from streamiter.testing.tables import TableApi, TablesDesk
from streamiter.testing.trouble.faults import Fault, Faults
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.day import Day
from streamiter.testing.truth.service import REGION, Service

_log = logging.getLogger("streamiter.testing")


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


class Reception:
    """Takes calls from any thread, one at a time."""

    def __init__(self, service: Service, clock: Clock, knobs: Knobs, *, short_ids: bool = False) -> None:
        self.service = service
        self.clock = clock
        self.knobs = knobs
        self.faults = Faults()
        self.calls = Calls()
        self.lock = threading.RLock()
        self.kinesis = KinesisService(knobs, service.region or REGION, service.account)
        self._tables = TableApi(service, knobs, self.kinesis)
        self._day = Day(service, self._tables, knobs)
        self._requests = 0
        self._desks: dict[str, Desk] = {
            protocol.STREAMS: StreamsDesk(service, knobs, short_ids=short_ids),
            protocol.TABLES: TablesDesk(self._tables),
            KINESIS: KinesisDesk(self.kinesis, knobs),
            protocol.CONTROL: Control(service, clock, knobs, self.faults),
        }

    @property
    def now_us(self) -> int:
        """The moment, by the service's clock."""
        return microseconds(self.clock.now())

    def live(self) -> None:
        """Lets everything happen that fell due before this call."""
        with self.lock:
            self._day.live_until(self.now_us)

    def answer(self, target: str, body: bytes, signed_region: str | None = None) -> Answer:
        """The answer to one call, of a client in some region."""
        with self.lock:
            now_us = self.now_us
            service, _, operation = target.partition(".")
            desk = self._desks.get(service, self._desks[protocol.STREAMS])
            order, fault = Order(_nobody), None
            outcome: str = "ok"
            try:
                self._day.live_until(now_us)
                if service not in self._desks:
                    raise unknown_operation()
                order = desk.read(operation, body, signed_region)
                fault = None if desk.is_spared else self._fault(operation, order.shards)
                if fault is not None:
                    outcome = fault.kind
                    fault.refuse()
                answer = Answer(200, order.serve(now_us))
            except Refusal as refusal:
                answer = Answer(refusal.status, desk.write_refusal(refusal))
                outcome = refusal.name
            except Exception as error:
                # A mistake of ours, or of a test's; its client shall hear of it rather than hang up in the dark.
                _log.exception("%s failed", target)
                answer = Answer(500, desk.write_refusal(internal(f"{operation}: {type(error).__name__}: {error}")))
                outcome = "InternalServerError"
            self.calls.add(Call(target.rpartition(".")[2], outcome, now_us / SECOND_US, **order.details))
            answer.headers["Content-Type"] = desk.content_type
            return self._wrap(answer, operation, fault, now_us)

    def _fault(self, operation: str, shards: tuple[str, ...]) -> Fault | None:
        """What spoils a call: as a test laid it out, or else the weather."""
        weather = self.knobs.weather
        return self.faults.take(operation, shards) or (weather.fault(operation, shards) if weather else None)

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
            elif fault.kind == "no_body":
                answer.body = b"{}"
            elif fault.kind == "html":
                answer.status, answer.body = 502, b"<html><body>502 Bad Gateway</body></html>"
                answer.headers["Content-Type"] = "text/html"
        self._requests += 1
        answer.headers |= {"Server": "Server", "x-amzn-RequestId": f"{self._requests:052d}"}
        if self.knobs.date:
            answer.headers["Date"] = formatdate(math.floor(now_us / SECOND_US + self.knobs.skew), usegmt=True)
        if crc != "absent":
            answer.headers["x-amz-crc32"] = str(zlib.crc32(answer.body) ^ (crc == "wrong"))
        return answer


def _nobody(_: int) -> bytes:
    return b""
