"""Reception: one call's way through the service: read it, spoil it or serve it, note it, wrap the answer up."""

from __future__ import annotations

import base64
import functools
import hmac
import logging
import math
import threading
import zlib
from email.utils import formatdate
from uuid import UUID

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.testing.control import Control
from streamiter.testing.http import eventstream, protocol
from streamiter.testing.http.answer import Answer, Following
from streamiter.testing.http.calls import Call, Calls
from streamiter.testing.http.orders import Desk, Order
from streamiter.testing.http.refusal import Refusal, internal, unknown_operation
from streamiter.testing.http.request import Request
from streamiter.testing.http.wires import CBOR_TYPE, EMPTY_CBOR, CborWire, check_has_cbor
from streamiter.testing.kinesis.api import TARGET as KINESIS
from streamiter.testing.kinesis.desk import KinesisDesk
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.streams.streams_desk import StreamsDesk
from streamiter.testing.tables import TableApi, TablesDesk
from streamiter.testing.trouble.injected import Fault, Faults
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.day import Day
from streamiter.testing.truth.service import REGION, Service

TOKEN_HEADER = "x-simulator-token"
MOST_NAME = 100  # characters of an operation that is noted

# What botocore calls the services, by the beginning of their targets.
_SERVICES = {protocol.STREAMS: "dynamodbstreams", protocol.TABLES: "dynamodb", KINESIS: "kinesis"}

# Kinesis' answers have a second id, of 72 bytes; ours says nothing.
_ID2_HEADER, _ID2 = "x-amz-id-2", base64.b64encode(bytes(72)).decode()

_log = logging.getLogger("streamiter.testing")


class Reception:
    """Takes calls from any thread, one at a time."""

    def __init__(self, service: Service, clock: Clock, knobs: Knobs, *, short_ids: bool = False) -> None:
        self.service = service
        self.clock = clock
        self.knobs = knobs
        self.faults = Faults()
        self.calls = Calls()
        self.token: str | None = None  # what control calls have to know, if anything
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

    def answer(self, request: Request) -> Answer:
        """The answer to one call."""
        with self.lock:
            answer, crc = self._answered(request)
        # That of a whole page takes a while, in which another call may go on.
        if crc != "absent" and answer.following is None:
            answer.headers["x-amz-crc32"] = str(zlib.crc32(answer.body) ^ (crc == "wrong"))
        return answer

    def _answered(self, request: Request) -> tuple[Answer, str]:
        """The answer, and which checksum it is to have."""
        target = request.headers.get("x-amz-target", "")
        service, _, operation = target.partition(".")
        is_cbor = service == KINESIS and "cbor" in request.headers.get("content-type", "")
        now_us = self.now_us
        desk = self._desks.get(service, self._desks[protocol.STREAMS])
        order, fault, wire = Order(_nobody), None, None
        outcome: str = "ok"
        try:
            self._day.live_until(now_us)
            if service not in self._desks:
                raise unknown_operation()
            body = request.body
            if is_cbor:
                check_has_cbor()
                wire = CborWire("kinesis", operation)
                body = wire.read(body)
            if service == protocol.CONTROL:
                self._check_token(request)
            order = desk.read(operation, body, request.signed_region)
            fault = None if desk.is_spared else self._fault(service, operation, order.shards)
            if fault is not None:
                outcome = fault.kind
                fault.refuse()
            answer = Answer(200, order.serve(now_us))
        except Refusal as refusal:
            answer = Answer(refusal.status, desk.write_refusal(refusal))
            outcome = refusal.name
            order.following = None
        except Exception as error:
            # A mistake of ours, or of a test's; its client shall hear of it rather than hang up in the dark.
            _log.exception("%s failed", ascii(target[:MOST_NAME]).strip("'"))
            answer = Answer(500, desk.write_refusal(internal(f"{operation}: {type(error).__name__}: {error}")))
            outcome = "InternalServerError"
            order.following = None
        name = target.rpartition(".")[2][:MOST_NAME]
        self.calls.add(Call(name, outcome, now_us / SECOND_US, **order.details))
        content_type = desk.content_type if wire is None else wire.content_type
        if order.following is not None:
            answer.following = self._following(order, wire, content_type)
            answer.headers["Content-Type"] = eventstream.CONTENT_TYPE
        else:
            if wire is not None:
                is_error = answer.status != 200
                known = None if is_error or order.cbor is None else order.cbor()
                answer.body = wire.write(answer.body, is_error=is_error) if known is None else known
            answer.headers["Content-Type"] = content_type
        if service == KINESIS:
            answer.headers[_ID2_HEADER] = _ID2
        return self._wrap(answer, operation, fault, now_us)

    def _check_token(self, request: Request) -> None:
        given = request.headers.get(TOKEN_HEADER, "")
        if self.token is not None and not hmac.compare_digest(given.encode(), self.token.encode()):
            told = f"control calls need the token that `streamiter simulate` printed, in the header {TOKEN_HEADER}"
            raise Refusal("AccessDeniedException", told, 403)

    def _following(self, order: Order, wire: CborWire | None, content_type: str) -> Following:
        """What an answer goes on with: the messages in the client's form."""
        follow = order.following
        assert follow is not None

        def following() -> bytes | None:
            with self.lock:
                now_us = self.now_us
                self._day.live_until(now_us)
                happenings = follow(now_us)
            if happenings is None:
                return None
            return b"".join(
                eventstream.message(one, one.payload if wire is None else wire.write_event(one), content_type)
                for one in happenings
            )

        return following

    def _fault(self, service: str, operation: str, shards: tuple[str, ...]) -> Fault | None:
        """What spoils a call: as a test laid it out, or else the weather."""
        weather = self.knobs.weather
        return self.faults.take(operation, shards) or (
            weather.fault(operation, shards, _SERVICES[service]) if weather else None
        )

    # -- answering

    def _wrap(self, answer: Answer, operation: str, fault: Fault | None, now_us: int) -> tuple[Answer, str]:
        latency = self.knobs.latency
        answer.wait_seconds = latency.get(operation, latency.get("*", 0.0)) if isinstance(latency, dict) else latency
        crc: str = self.knobs.crc
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
                answer.body = EMPTY_CBOR if answer.headers["Content-Type"] == CBOR_TYPE else b"{}"
            elif fault.kind == "html":
                answer.status, answer.body = 502, b"<html><body>502 Bad Gateway</body></html>"
                answer.headers["Content-Type"] = "text/html"
            if fault.kind in ("bad_json", "no_body", "html"):
                answer.following = None  # what comes instead is all of it
        self._requests += 1
        request_id = f"{self._requests:052d}" if _ID2_HEADER not in answer.headers else str(UUID(int=self._requests))
        answer.headers |= {"Server": "Server", "x-amzn-RequestId": request_id}
        if self.knobs.date:
            answer.headers["Date"] = _date(math.floor(now_us / SECOND_US + self.knobs.skew))
        return answer, crc


@functools.lru_cache(maxsize=8)
def _date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


def _nobody(_: int) -> bytes:
    return b""
