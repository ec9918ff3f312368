"""Variants: images as Spark's VARIANT, for queries that reach into them without a schema."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StringType

_DIGITS = 38  # what a decimal of a variant holds
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def as_variant(image: Column | str) -> Column:
    """A column of images (`keys`, `new_image`, `old_image`) as VARIANT: `as_variant("new_image")`, then `variant_get`.

    Sets become lists, binary its base64 text. Numbers are kept exactly: those that no decimal(38) holds stay text.
    """
    make: Any = arrow_udf  # its stub asks for the function's type, too; but with that, it warns
    column: Column = F.parse_json(make(_plain_texts, StringType())(image))
    return column


def _plain_texts(images: pa.Array) -> pa.Array:
    return pa.array([None if text is None else plain_text(text) for text in images.to_pylist()], pa.string())


def plain_text(image: str) -> str:
    """An image's JSON text without the types that DynamoDB writes into it."""
    text: str = _encode({name: _plain(typed) for name, typed in _decode(image).items()}).decode()
    return text


def _plain(typed: dict[str, Any]) -> Any:
    [(kind, value)] = typed.items()
    if kind == "N":
        return _number(value)
    if kind == "M":
        return {name: _plain(part) for name, part in value.items()}
    if kind == "L":
        return [_plain(part) for part in value]
    if kind == "NS":
        return [_number(part) for part in value]
    return None if kind == "NULL" else value


def _number(text: str) -> Any:
    # Spark reads a number of JSON exactly only where it is written without an exponent.
    plain = f"{Decimal(text):f}"
    whole, _, fraction = plain.lstrip("-").partition(".")
    if len(whole.lstrip("0")) + len(fraction) > _DIGITS:
        return text
    return msgspec.Raw(_tidy(plain).encode())


def _tidy(plain: str) -> str:
    return re.sub(r"\.?0+$", "", plain) if "." in plain else plain
