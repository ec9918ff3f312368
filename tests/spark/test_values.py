"""Values: exactly what the attribute is, or an error that says where, and never what."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T

from streamiter import InvalidOption
from streamiter.spark.columns.values import Misfit, converter

numbers = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40).map(
    lambda number: +number.normalize()
)


STRING, INT = T.StringType(), T.IntegerType()
STRUCT = T.StructType([T.StructField("a", INT), T.StructField("b", STRING)])
KINDS = {
    "string": STRING,
    "boolean": T.BooleanType(),
    "binary": T.BinaryType(),
    "double": T.DoubleType(),
    "float": T.FloatType(),
    "tinyint": T.ByteType(),
    "int": INT,
    "bigint": T.LongType(),
    "array<int>": T.ArrayType(INT),
    "array<string>": T.ArrayType(STRING),
    "array<binary>": T.ArrayType(T.BinaryType()),
    "map<string,int>": T.MapType(STRING, INT),
    "struct<a: int, b: string>": STRUCT,
    **{f"decimal({p},{s})": T.DecimalType(p, s) for p in range(1, 39) for s in range(p + 1)},
}


def convert(text: str, typed):
    return converter(KINDS[text], "x")(typed, "x")


@pytest.mark.parametrize(
    "kind, typed, value",
    [
        ("string", {"S": "a"}, "a"),
        ("string", {"N": "1E+125"}, "1E+125"),
        ("boolean", {"BOOL": False}, False),
        ("binary", {"B": "aGk="}, b"hi"),
        ("decimal(38,0)", {"N": "1.2E+3"}, Decimal(1200)),
        ("decimal(5,2)", {"N": "-0"}, Decimal("0.00")),
        ("tinyint", {"N": "-128"}, -128),
        ("bigint", {"N": "9223372036854775807"}, 2**63 - 1),
        ("double", {"N": "0.1"}, 0.1),
        ("float", {"N": "0.5"}, 0.5),
        ("array<int>", {"L": [{"N": "1"}, {"NULL": True}]}, [1, None]),
        ("array<string>", {"SS": ["a", "b"]}, ["a", "b"]),
        ("array<binary>", {"BS": ["aGk="]}, [b"hi"]),
        ("map<string,int>", {"M": {"a": {"N": "1"}}}, [("a", 1)]),
        ("struct<a: int, b: string>", {"M": {"b": {"S": "x"}, "c": {"S": "y"}}}, {"a": None, "b": "x"}),
        ("int", {"NULL": True}, None),
    ],
)
def test_what_fits(kind, typed, value):
    assert convert(kind, typed) == value


@pytest.mark.parametrize(
    "kind, typed, told",
    [
        ("int", {"S": "1"}, "it is a string, the column is int"),
        ("string", {"BOOL": True}, "it is a boolean, the column is string"),
        ("int", {"N": "1.5"}, "it has a fraction"),
        ("tinyint", {"N": "128"}, "out of the range of tinyint"),
        ("decimal(5,2)", {"N": "1000"}, "too large for decimal(5,2)"),
        ("decimal(38,38)", {"N": "1"}, "too large"),
        ("decimal(5,2)", {"N": "1.001"}, "more than 2 digits after the point"),
        ("double", {"N": "0.12345678901234567890123"}, "more digits than double keeps"),
        ("double", {"N": "9007199254740993"}, "more digits than double keeps"),
        ("float", {"N": "1E+100"}, "out of the range of float"),
        ("float", {"N": "16777217"}, "more digits than float keeps"),
    ],
)
def test_what_does_not_fit(kind, typed, told):
    with pytest.raises(Misfit) as raised:
        convert(kind, typed)
    assert raised.value.where == "x"
    assert told in raised.value.what


def test_the_path_leads_to_the_attribute():
    inner = T.ArrayType(T.StructType([T.StructField("b", INT)]))
    convert = converter(T.StructType([T.StructField("a", inner)]), "x")
    with pytest.raises(Misfit) as raised:
        convert({"M": {"a": {"L": [{"M": {"b": {"S": "x"}}}]}}}, "x")
    assert raised.value.where == "x.a[0].b"


@pytest.mark.parametrize(
    "kind, typed, where",
    [
        (T.ArrayType(INT, containsNull=False), {"L": [{"N": "1"}, {"NULL": True}]}, "x[1]"),
        (T.MapType(STRING, INT, valueContainsNull=False), {"M": {"a": {"NULL": True}}}, "x.a"),
    ],
)
def test_null_does_not_fit_where_the_schema_has_none(kind, typed, where):
    with pytest.raises(Misfit) as raised:
        converter(kind, "x")(typed, "x")
    assert (raised.value.where, raised.value.what) == (where, "it is null, and the column may not hold null there")


def test_a_type_that_no_attribute_becomes_is_told_at_once():
    with pytest.raises(InvalidOption, match=r"column x\.a: no attribute becomes a date"):
        converter(T.StructType([T.StructField("a", T.DateType())]), "x")


@given(numbers, st.integers(1, 38), st.integers(0, 38))
def test_a_decimal_is_exact_or_refused(number, precision, scale):
    scale = min(scale, precision)
    try:
        value = convert(f"decimal({precision},{scale})", {"N": str(number)})
    except Misfit:
        digits = number.as_tuple()
        fits = -digits.exponent <= scale and len(digits.digits) + digits.exponent <= precision - scale
        assert not fits
    else:
        assert value == number
        assert -value.as_tuple().exponent == scale


@given(numbers)
def test_a_double_reads_back_as_the_same_number_or_is_refused(number):
    try:
        value = convert("double", {"N": str(number)})
    except Misfit:
        assert Decimal(repr(float(number))) != number
    else:
        assert Decimal(repr(value)) == number
