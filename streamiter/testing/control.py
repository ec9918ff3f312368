"""Control: what tests in other languages do to the simulator, as calls of its own beside DynamoDB's.

POST with `X-Amz-Target: Simulator.Advance` and `{"Seconds": 18000}`, say. An unknown member or a wrong value is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from streamiter.testing.clock import ManualClock
from streamiter.testing.http import protocol
from streamiter.testing.http.orders import Order
from streamiter.testing.http.refusal import Refusal, invalid, unknown_operation
from streamiter.testing.names import unknown
from streamiter.testing.trouble.injected import Fault, Faults, Kind
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.trouble.weather import Chances, Weather
from streamiter.testing.truth.service import Service
from streamiter.testing.truth.streams import SimulatedStream

MOST_SECONDS = 10 * 366 * 86400


class Ask(msgspec.Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    """What is asked; each operation takes its own part of it."""


class Advance(Ask, frozen=True):
    seconds: float


class OfTable(Ask, frozen=True):
    table_name: str
    shard_id: str | None = None


class Misbehave(Ask, frozen=True):
    seed: int = 0
    chances: dict[str, float] = {}


class Turn(Ask, frozen=True):
    knobs: dict[str, Any] = {}


class AddFault(Ask, frozen=True):
    kind: str
    operation: str | None = None
    shard_id: str | None = None
    times: int | None = 1
    after: int = 0
    seconds: float = 0.05


class Heal(Ask, frozen=True):
    pass


class Control:
    """A desk: see orders.Desk."""

    content_type = protocol.CONTENT_TYPE
    is_spared = True

    def __init__(self, service: Service, clock: object, knobs: Knobs, faults: Faults) -> None:
        self._service = service
        self._clock = clock
        self._knobs = knobs
        self._faults = faults
        self._operations: dict[str, tuple[type[Ask], Callable[[Any, int], dict[str, Any]]]] = {
            "Advance": (Advance, self._advance),
            "Roll": (OfTable, self._roll),
            "Split": (OfTable, self._split),
            "Trim": (OfTable, self._trim),
            "Fault": (AddFault, self._fault),
            "Turn": (Turn, self._turn),
            "Misbehave": (Misbehave, self._misbehave),
            "Heal": (Heal, self._heal),
        }

    def read(self, operation: str, body: bytes, signed_region: str | None) -> Order:
        if operation not in self._operations:
            raise unknown_operation(unknown("call", operation, self._operations))
        asked = protocol.parse(body)
        return Order(lambda now_us: self._serve(operation, asked, now_us))

    def write_refusal(self, refusal: Refusal) -> bytes:
        return protocol.write_refusal(refusal)

    def _serve(self, operation: str, asked: dict[str, Any], now_us: int) -> bytes:
        kind, serve = self._operations[operation]
        members = [member.encode_name for member in msgspec.structs.fields(kind)]
        for name in asked:
            if name not in members:
                raise invalid(unknown("member", name, members))
        try:
            return msgspec.json.encode(serve(msgspec.convert(asked, kind), now_us))
        except (msgspec.ValidationError, ValueError, TypeError, LookupError) as error:
            raise invalid(str(error)) from None

    def _advance(self, ask: Advance, now_us: int) -> dict[str, Any]:
        if not isinstance(self._clock, ManualClock):
            raise ValueError("this simulator's clock cannot be turned")
        if ask.seconds > MOST_SECONDS:
            raise ValueError(f"Seconds is at most {MOST_SECONDS}, ten years: each shard rolls every few hours")
        self._clock.advance(ask.seconds)
        return {"Now": self._clock.now()}

    def _roll(self, ask: OfTable, now_us: int) -> dict[str, Any]:
        stream = self._stream(ask)
        shards = [stream.shard(ask.shard_id)] if ask.shard_id else stream.open_shards()
        new = [stream.succeed(shard, [None], now_us, self._service.next_number) for shard in shards]
        return {"ShardIds": [shard_id for ids in new for shard_id in ids]}

    def _split(self, ask: OfTable, now_us: int) -> dict[str, Any]:
        stream = self._stream(ask)
        shard = stream.shard(ask.shard_id) if ask.shard_id else stream.open_shards()[0]
        return {"ShardIds": stream.succeed(shard, [None, None], now_us, self._service.next_number)}

    def _trim(self, ask: OfTable, now_us: int) -> dict[str, Any]:
        stream = self._stream(ask)
        for shard in [stream.shard(ask.shard_id)] if ask.shard_id else stream.shards.values():
            shard.trim(shard.end)
        return {}

    def _fault(self, ask: AddFault, now_us: int) -> dict[str, Any]:
        self._faults.add(Fault(cast(Kind, ask.kind), ask.operation, ask.shard_id, ask.times, ask.after, ask.seconds))
        return {}

    def _turn(self, ask: Turn, now_us: int) -> dict[str, Any]:
        self._knobs.turn(ask.knobs)
        return {"Knobs": self._knobs.told()}

    def _misbehave(self, ask: Misbehave, now_us: int) -> dict[str, Any]:
        self._knobs.weather = Weather(ask.seed, **cast(Chances, ask.chances))
        return {}

    def _heal(self, ask: Heal, now_us: int) -> dict[str, Any]:
        self._knobs.weather = None
        self._faults.withdraw()
        return {}

    def _stream(self, ask: OfTable) -> SimulatedStream:
        return self._service.table(ask.table_name).latest
