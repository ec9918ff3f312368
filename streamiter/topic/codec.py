"""Codecs: a topic's values as bytes and back; what does not fit the topic's record is refused on the way in."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, NamedTuple, Protocol, is_typeddict

import msgspec

from streamiter.errors import InvalidOption


class Codec(Protocol):
    """Turns values into bytes and back. If either raises, the value or the payload counts as one that does not fit."""

    def encode(self, value: Any) -> bytes:
        """The payload."""

    def decode(self, payload: bytes) -> Any:
        """The value."""


class Misfit(Exception):
    """A value does not fit the topic. The message never quotes the value."""

    def __init__(self, what: str, attribute: str = "", column: int | None = None) -> None:
        super().__init__(what)
        self.attribute = attribute
        self.column = column  # where a text cannot be read, counted from 1


class Encoded(NamedTuple):
    """A value that fits: its payload, and the value as readers will get it."""

    payload: bytes
    value: Any


class Shape(ABC):
    """The kind of a topic's values."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def encode(self, value: Any) -> Encoded:
        """The payload of a value; Misfit if it does not fit."""

    @abstractmethod
    def decode(self, payload: bytes) -> Any:
        """The value of a payload; errors of the decoder are not translated."""

    def read(self, text: bytes) -> Encoded:
        """A value given as JSON text. The text becomes the payload, so numbers keep their digits."""
        try:
            return Encoded(text, self.decode(text))
        except msgspec.ValidationError as error:
            raise _misfit(str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _unreadable(str(error)) from None

    def convert(self, row: Mapping[str, str]) -> Encoded:
        """A value whose attributes are all written as text, as in a row of a CSV file."""
        return self.encode(row)


def shape_of(record: Any, codec: Codec | None) -> Shape:
    """The shape that `record=` and `codec=` mean; InvalidOption if they mean none."""
    if codec is not None:
        missing = [name for name in ("encode", "decode") if not callable(getattr(codec, name, None))]
        if missing:
            raise InvalidOption(
                f"codec= takes an object with encode(value) and decode(payload); it has no {missing[0]}()"
            )
        return _Coded(record, codec)
    if record is None:
        return _Json()
    if record is bytes:
        return _Bytes()
    if callable(getattr(record, "model_validate_json", None)):
        return _Pydantic(record)
    return _Typed(record)


def fields_of(record: Any) -> frozenset[str] | None:
    """The names of a record's fields; None if they are not known."""
    if callable(getattr(record, "model_validate_json", None)):
        return frozenset(record.model_fields)
    if isinstance(record, type) and issubclass(record, msgspec.Struct):
        return frozenset(record.__struct_fields__)
    if is_dataclass(record):
        return frozenset(record.__dataclass_fields__)
    return frozenset(record.__annotations__) if is_typeddict(record) else None


class _Json(Shape):
    """Anything that JSON can say."""

    def __init__(self) -> None:
        super().__init__("JSON")

    def encode(self, value: Any) -> Encoded:
        return Encoded(_to_json(value), value)

    def decode(self, payload: bytes) -> Any:
        return msgspec.json.decode(payload)


class _Typed(Shape):
    """A msgspec Struct, a dataclass, a TypedDict, or any other type that msgspec reads, as JSON."""

    def __init__(self, record: Any) -> None:
        super().__init__(_name(record))
        try:
            self._decoder = msgspec.json.Decoder(record)
        except TypeError as error:
            raise InvalidOption(
                f"record={self.name} cannot be read from JSON: {error}; take a dataclass, a msgspec.Struct, a TypedDict or a "
                "pydantic model, or say codec="
            ) from error
        self._record = record
        self._class = _class_of(record)

    def convert(self, row: Mapping[str, str]) -> Encoded:
        try:
            made = msgspec.convert(row, self._record, strict=False)
        except msgspec.ValidationError as error:
            raise _misfit(str(error)) from None
        return self.encode(made)

    def encode(self, value: Any) -> Encoded:
        if self._class is not None and not isinstance(value, self._class | Mapping):
            raise Misfit(f"it is of type {type(value).__name__}")
        payload = _to_json(value)
        try:
            return Encoded(payload, self._decoder.decode(payload))
        except msgspec.ValidationError as error:
            raise _misfit(str(error)) from None

    def decode(self, payload: bytes) -> Any:
        return self._decoder.decode(payload)


class _Pydantic(Shape):
    """A pydantic model, as JSON."""

    def __init__(self, record: Any) -> None:
        super().__init__(_name(record))
        self._model = record

    def encode(self, value: Any) -> Encoded:
        if not isinstance(value, self._model | Mapping):
            raise Misfit(f"it is of type {type(value).__name__}")
        try:
            made = self._model.model_validate(value) if isinstance(value, Mapping) else value
            payload = made.model_dump_json(by_alias=True).encode()
            return Encoded(payload, self._model.model_validate_json(payload))
        except ValueError as error:
            raise _told_by_pydantic(error) from None

    def read(self, text: bytes) -> Encoded:
        _Json().read(text)  # which tells where it is no JSON
        try:
            return Encoded(text, self._model.model_validate_json(text))
        except ValueError as error:
            raise _told_by_pydantic(error) from None

    def decode(self, payload: bytes) -> Any:
        return self._model.model_validate_json(payload)


class _Bytes(Shape):
    """Bytes as they are."""

    def __init__(self) -> None:
        super().__init__("bytes")

    def encode(self, value: Any) -> Encoded:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise Misfit(f"it is of type {type(value).__name__}")
        return Encoded(bytes(value), bytes(value))

    def decode(self, payload: bytes) -> Any:
        return payload

    def convert(self, row: Mapping[str, str]) -> Encoded:
        raise Misfit("a row of a CSV file has attributes, and bytes have none")


class _Coded(Shape):
    """By the caller's own codec."""

    def __init__(self, record: Any, codec: Codec) -> None:
        super().__init__(type(codec).__name__ if record is None else _name(record))
        self._class = _class_of(record)
        self._codec = codec

    def encode(self, value: Any) -> Encoded:
        if self._class is not None and not isinstance(value, self._class):
            raise Misfit(f"it is of type {type(value).__name__}")
        try:
            payload = self._codec.encode(value)
        except Exception as error:
            raise Misfit(f"its codec raised {type(error).__name__}") from error
        if not isinstance(payload, bytes):
            raise Misfit(f"its codec made a {type(payload).__name__} of it, which is not bytes")
        return Encoded(payload, value)

    def decode(self, payload: bytes) -> Any:
        return self._codec.decode(payload)

    def read(self, text: bytes) -> Encoded:
        value = _Json().read(text).value
        return self.encode(value if self._class is None else self._made(value))

    def convert(self, row: Mapping[str, str]) -> Encoded:
        return self.encode(row if self._class is None else self._made(row))

    def _made(self, value: Any) -> Any:
        try:
            return msgspec.convert(value, self._class, strict=False)
        except (msgspec.ValidationError, TypeError) as error:
            raise _misfit(str(error)) from None


def _to_json(value: Any) -> bytes:
    try:
        payload = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise Misfit(f"it cannot be written as JSON: {_unquoted(str(error))}") from None
    if b"null" in payload and _has_odd_float(msgspec.to_builtins(value)):
        raise Misfit("JSON knows no NaN and no infinity, and has null for them")
    return payload


def _has_odd_float(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else ()
    return any(map(_has_odd_float, parts))


def _misfit(message: str) -> Misfit:
    """msgspec's message, without its quotes of the value."""
    what, _, path = message.partition(" - at `$")
    attribute = path.rstrip("`").lstrip(".")
    return Misfit(_unquoted(what) + (f" at {attribute}" if attribute else ""), attribute)


def _told_by_pydantic(error: ValueError) -> Misfit:
    """What pydantic says of a value, without the value, which its text quotes."""
    told: list[Any] = getattr(error, "errors", list)()
    first = told[0] if told else {"loc": (), "type": type(error).__name__}
    path = ".".join(map(str, first["loc"]))
    return Misfit(f"{first['type']}{f' at {path}' if path else ''}", path)


def _unreadable(message: str) -> Misfit:
    """msgspec's words about text that is no JSON: `JSON is malformed: expected ',' or '}' (byte 12)`."""
    what, _, place = message.rpartition(" (byte ")
    number = place.rstrip(")")
    return Misfit(what or "it is not JSON", column=int(number) + 1 if number.isdigit() else None)


def _unquoted(what: str) -> str:
    """Enumerations are quoted in a message: 'Invalid enum value ...'."""
    return what.partition(" value ")[0] + " value" if what.startswith("Invalid ") and " value " in what else what


def _class_of(record: Any) -> type | None:
    return record if isinstance(record, type) and not is_typeddict(record) else None


def _name(record: Any) -> str:
    return str(getattr(record, "__name__", None) or record)
