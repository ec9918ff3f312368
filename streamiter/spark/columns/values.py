"""Values: DynamoDB's typed attributes as the values of Spark's types: exactly, or not at all."""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from pyspark.sql import types

from streamiter.errors import InvalidOption

Convert = Callable[[Any, str], Any]  # a typed attribute ({"N": "1"}), and its path for messages

_EXACT = Context(prec=60)
_WIDTHS: dict[type[types.DataType], int] = {
    types.ByteType: 8,
    types.ShortType: 16,
    types.IntegerType: 32,
    types.LongType: 64,
}
_WORDS = {
    "S": "a string",
    "N": "a number",
    "B": "binary",
    "BOOL": "a boolean",
    "M": "a map",
    "L": "a list",
    "SS": "a set of strings",
    "NS": "a set of numbers",
    "BS": "a set of binaries",
}


class Misfit(Exception):
    """What does not fit, and where. It never tells the value: messages and logs must not hold what records hold."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(where, what)
        self.where = where
        self.what = what


def converter(kind: types.DataType, name: str) -> Convert:
    """What turns attributes into values of a type; InvalidOption where no attribute can become one."""
    convert = _converter(kind, name)

    def with_null(typed: Any, where: str) -> Any:
        return None if "NULL" in typed else convert(typed, where)

    return with_null


def _converter(kind: types.DataType, name: str) -> Convert:
    if isinstance(kind, types.StringType):
        return lambda typed, where: _told(typed, where, kind, "S", "N")
    if isinstance(kind, types.BooleanType):
        return lambda typed, where: _told(typed, where, kind, "BOOL")
    if isinstance(kind, types.BinaryType):
        return lambda typed, where: b64decode(_told(typed, where, kind, "B"))
    if isinstance(kind, types.DecimalType):
        return lambda typed, where: _decimal(_told(typed, where, kind, "N"), where, kind)
    for whole, bits in _WIDTHS.items():
        if type(kind) is whole:
            return lambda typed, where: _whole(_told(typed, where, kind, "N"), where, kind, bits)
    if isinstance(kind, types.DoubleType | types.FloatType):
        return lambda typed, where: _float(_told(typed, where, kind, "N"), where, kind)
    if isinstance(kind, types.StructType):
        return _struct(kind, name)
    if isinstance(kind, types.MapType) and isinstance(kind.keyType, types.StringType):
        return _map(kind, name)
    if isinstance(kind, types.ArrayType):
        return _array(kind, name)
    raise InvalidOption(
        f"column {name}: no attribute becomes a {kind.simpleString()}; there are string, boolean, binary, decimal, the "
        "integers, double, float, array, struct and map<string, ...>"
    )


def _struct(kind: types.StructType, name: str) -> Convert:
    members = [(field.name, member(field, f"{name}.{field.name}")) for field in kind.fields]

    def to_struct(typed: Any, where: str) -> Any:
        told = _told(typed, where, kind, "M")
        return {name: convert(told.get(name), f"{where}.{name}") for name, convert in members}

    return to_struct


def member(field: types.StructField, name: str) -> Convert:
    """What turns an attribute that may be missing into a value of a field."""
    convert = converter(field.dataType, name)

    def to_member(typed: Any, where: str) -> Any:
        value = None if typed is None else convert(typed, where)
        if value is None and not field.nullable:
            raise Misfit(where, "it is missing, and the column may not be null")
        return value

    return to_member


def _element(kind: types.DataType, name: str, *, holds_null: bool) -> Convert:
    """What turns an element of a list or a map into a value."""
    convert = converter(kind, name)

    def to_element(typed: Any, where: str) -> Any:
        value = convert(typed, where)
        if value is None:
            raise Misfit(where, "it is null, and the column may not hold null there")
        return value

    return convert if holds_null else to_element


def _map(kind: types.MapType, name: str) -> Convert:
    convert = _element(kind.valueType, f"{name}.*", holds_null=kind.valueContainsNull)
    return lambda typed, where: [
        (member, convert(value, f"{where}.{member}")) for member, value in _told(typed, where, kind, "M").items()
    ]


def _array(kind: types.ArrayType, name: str) -> Convert:
    convert = _element(kind.elementType, f"{name}[]", holds_null=kind.containsNull)

    def to_array(typed: Any, where: str) -> Any:
        told = _told(typed, where, kind, "L", "SS", "NS", "BS")
        of = {"SS": "S", "NS": "N", "BS": "B"}.get(next(iter(typed)))
        values = told if of is None else [{of: value} for value in told]
        return [convert(value, f"{where}[{index}]") for index, value in enumerate(values)]

    return to_array


def _told(typed: Any, where: str, kind: types.DataType, *tags: str) -> Any:
    [(tag, value)] = typed.items()
    if tag not in tags:
        raise Misfit(where, f"it is {_WORDS.get(tag, 'of an unknown type')}, the column is {kind.simpleString()}")
    return value


def _decimal(text: str, where: str, kind: types.DecimalType) -> Decimal:
    number = Decimal(text)
    if number:
        _, digits, exponent = number.normalize(_EXACT).as_tuple()
        assert isinstance(exponent, int)
        if -exponent > kind.scale:
            raise Misfit(
                where, f"it has more than {kind.scale} digits after the point, the column is {kind.simpleString()}"
            )
        if len(digits) + exponent > kind.precision - kind.scale:
            raise Misfit(where, f"it is too large for {kind.simpleString()}")
    return number.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)


def _whole(text: str, where: str, kind: types.DataType, bits: int) -> int:
    number = Decimal(text)
    if number != number.to_integral_value(context=_EXACT):
        raise Misfit(where, f"it has a fraction, the column is {kind.simpleString()}")
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise Misfit(where, f"it is out of the range of {kind.simpleString()}")
    return int(number)


def _float(text: str, where: str, kind: types.DataType) -> float:
    """A number that reads back as the same one: 0.1 does, though no binary fraction is exactly that; 0.1 + 2^-60 does not."""
    value = float(text)
    if isinstance(kind, types.FloatType):
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            raise Misfit(where, "it is out of the range of float") from None
        shown = _shortest_float(value)
    else:
        shown = repr(value)
    if Decimal(shown) != Decimal(text):
        raise Misfit(
            where, f"it has more digits than {kind.simpleString()} keeps; decimal(38, ...) or string keep them"
        )
    return value


def _shortest_float(value: float) -> str:
    """The fewest digits that give this 32-bit number again."""
    for digits in range(1, 10):
        shown = f"{value:.{digits}g}"
        if struct.unpack("<f", struct.pack("<f", float(shown)))[0] == value:
            return shown
    return repr(value)
