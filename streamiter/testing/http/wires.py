"""Wires: the form in which a client speaks, JSON or CBOR; behind this file everything is JSON.

CBOR is the default of Kinesis' clients in Java: the same members, but bytes are bytes, and a time is a number of
milliseconds under tag 1.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import math
from collections.abc import Callable
from typing import Any

import msgspec

from streamiter.installing import install_command
from streamiter.testing.http.descriptions import description
from streamiter.testing.http.eventstream import Happening
from streamiter.testing.http.refusal import Refusal

CBOR_TYPE = "application/x-amz-cbor-1.1"
EMPTY_CBOR = b"\xa0"  # a map without members
MOST_DEPTH = 64
_EPOCH = 1  # the tag of a time
# What cbor2 makes of tags by itself, and no AWS client sends: pictures of objects, references, huge numbers, patterns.
_FOREIGN = (0, 2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004, 43000, 55799)


class CborWire:
    """One call of a service that is asked in CBOR."""

    content_type = CBOR_TYPE

    def __init__(self, service: str, operation: str) -> None:
        self._service = service
        self._shapes = description(service)["shapes"]
        self._operation = description(service)["operations"].get(operation, {})

    def read(self, body: bytes) -> bytes:
        """The request as JSON."""
        if not body:
            return b""
        try:
            asked = decode(body)
        except (ValueError, RecursionError):
            raise Refusal("SerializationException", "The request is not CBOR that can be read") from None
        return msgspec.json.encode(self._asked(self._operation.get("input", {}).get("shape"), asked))

    def write(self, body: bytes, *, is_error: bool = False) -> bytes:
        """An answer as CBOR."""
        kind = None if is_error else self._operation.get("output", {}).get("shape")
        return self._written(body, kind)

    def write_event(self, happening: Happening) -> bytes:
        """The payload of a message as CBOR. Events are shapes of the service; the first message is none."""
        if happening.cbor is not None:
            return happening.cbor()
        return self._written(happening.payload, happening.name if happening.name in self._shapes else None)

    def _written(self, body: bytes, kind: str | None) -> bytes:
        return encode(turned(self._service, kind, body)) if body else b""

    def _asked(self, kind: str | None, value: Any) -> Any:
        """A request's value as JSON has it; what the description does not know stays."""
        if kind is None or value is None:
            return _plain(value)
        shape = self._shapes[kind]
        form = shape["type"]
        if form == "structure" and isinstance(value, dict):
            members = shape["members"]
            return {name: self._asked(members.get(name, {}).get("shape"), part) for name, part in value.items()}
        if form == "list" and isinstance(value, list):
            return [self._asked(shape["member"]["shape"], part) for part in value]
        if form == "blob" and isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if form == "timestamp" and isinstance(value, int | float) and math.isfinite(value):
            return value / 1000
        return _plain(value)


Turn = Callable[[Any], Any]


def turned(service: str, kind: str | None, body: bytes) -> Any:
    """What JSON says, in the values that CBOR has for it; `kind` is the shape of it."""
    turn = None if kind is None else _turn(service, kind)
    answer = msgspec.json.decode(body)
    return answer if turn is None else turn(answer)


@functools.cache
def _turn(service: str, kind: str) -> Turn | None:
    """What makes CBOR's values of an answer's JSON, by its shape; None where they are the same."""
    shape = description(service)["shapes"][kind]
    if shape["type"] == "structure":
        members = {name: _turn(service, member["shape"]) for name, member in shape["members"].items()}
        parts = [(name, turn) for name, turn in members.items() if turn is not None]
        return (lambda value: _with_turned(value, parts)) if parts else None
    if shape["type"] == "list":
        turn = _turn(service, shape["member"]["shape"])
        return None if turn is None else lambda value: list(map(turn, value))
    turns: dict[str, Turn] = {"blob": base64.b64decode, "timestamp": _tagged}
    return turns.get(shape["type"])


def _with_turned(value: dict[str, Any], turns: list[tuple[str, Turn]]) -> dict[str, Any]:
    for name, turn in turns:
        if name in value:
            value[name] = turn(value[name])
    return value


def _tagged(seconds: float) -> Any:
    import cbor2

    return cbor2.CBORTag(_EPOCH, round(seconds * 1000))


def _plain(value: Any) -> Any:
    """A value that JSON has, too; others become what no member takes."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    is_number = isinstance(value, int | float) and math.isfinite(value) and abs(value) < 1 << 63
    return value if value is None or is_number or isinstance(value, str) else []


def decode(body: bytes) -> Any:
    """What one CBOR text says; ValueError where it is none, or has what no client of AWS sends."""
    import cbor2

    try:
        return cbor2.loads(
            body, semantic_decoders=_decoders(), max_depth=MOST_DEPTH, strict_hashable_types=True, tag_hook=_refuse
        )
    except cbor2.CBORError as error:
        raise ValueError(str(error)[:200]) from None


def encode(value: Any) -> bytes:
    """The value in CBOR."""
    import cbor2

    return cbor2.dumps(value)


@functools.cache
def _decoders() -> dict[int, Callable[[Any, bool], Any]]:
    return {**dict.fromkeys(_FOREIGN, _refuse), _EPOCH: _number}


def _number(value: Any, _: bool) -> Any:
    return value


def _refuse(*_: Any) -> Any:
    raise ValueError("a tag that no client of AWS sends")


def check_has_cbor() -> None:
    """Refuses CBOR, in words, where the package for it is not installed."""
    if importlib.util.find_spec("cbor2") is None:
        told = f"this client speaks CBOR, and cbor2 is not installed; to get it: {install_command('testing')}"
        raise Refusal("SerializationException", told)
