"""Routing, by its laws: equal keys lead to one place, ranges are even, and nest when the count doubles."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.errors import InvalidOption
from streamiter.topic.routing import canonical, key_hash, partition_of, readable

NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False, places=4)
)
SIMPLE = st.text() | st.binary() | st.booleans() | NUMBERS | st.uuids()
KEYS = SIMPLE | st.lists(SIMPLE | st.none(), max_size=4).map(tuple)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Plain(Enum):
    ONE = 1


@given(NUMBERS, NUMBERS)
def test_equal_numbers_are_one_key_and_others_are_not(one, other):
    assert (canonical(one) == canonical(other)) == (one == other)


@given(st.integers(min_value=-(10**18), max_value=10**18))
def test_a_number_is_the_same_key_in_each_type_that_can_hold_it(number):
    alike = [number, Decimal(number), Decimal(f"{number}.000"), Decimal(number).normalize()]
    if float(number) == number:
        alike.append(float(number))
    assert len({canonical(one) for one in alike}) == 1
    assert {readable(one) for one in alike} == {b"%d" % number}


@given(KEYS, KEYS)
def test_keys_that_differ_are_written_down_differently(one, other):
    if canonical(one) == canonical(other):
        as_text = [str(key) if isinstance(key, UUID) else key for key in (one, other)]
        assert as_text[0] == as_text[1]


def test_one_is_many_keys():
    ones = [1, "1", b"1", True, (1,), ("1",), (True,), ((1,),)]
    assert len({key_hash(key) for key in ones}) == len(ones)


def test_parts_do_not_run_together():
    assert canonical(("ab", "c")) != canonical(("a", "bc"))
    assert canonical(("a", ("b", "c"))) != canonical(("a", "b", "c"))
    assert canonical((None,)) != canonical(())


def test_kinds_of_a_key_are_that_key():
    assert canonical(Colour.RED) == canonical("red")
    assert canonical(Level.HIGH) == canonical(3)
    assert canonical(bytearray(b"x")) == canonical(memoryview(b"x")) == canonical(b"x")
    assert canonical([1, "a"]) == canonical((1, "a"))
    told = "12345678-1234-5678-1234-567812345678"
    assert canonical(UUID(told)) == canonical(told)
    assert canonical(-0.0) == canonical(0)


def test_text_is_not_normalised():
    assert key_hash("é") != key_hash("e\u0301")


@pytest.mark.parametrize(
    "no_key", [None, {}, object(), {"a"}, float("nan"), float("inf"), Decimal("NaN"), Plain.ONE, 1j]
)
def test_what_is_no_key_is_refused(no_key):
    with pytest.raises(InvalidOption):
        canonical(no_key)


@pytest.mark.parametrize("too_long", ["x" * 5000, b"x" * 5000, (["x" * 3000], "x" * 3000), "\ud800"])
def test_what_cannot_be_written_down_is_refused(too_long):
    with pytest.raises(InvalidOption):
        canonical(too_long)


def test_a_number_of_too_many_digits_is_refused():
    with pytest.raises(InvalidOption):
        canonical(10**5000 + 1)


def test_a_number_with_many_zeros_costs_nothing():
    assert canonical(Decimal("1E+1000000")) == b"n:1E1000000"
    assert readable(Decimal("1E+1000000")) == b"1E1000000"


@given(KEYS, st.integers(min_value=1, max_value=5000))
def test_a_key_has_a_partition_that_there_is(key, partitions):
    assert 0 <= partition_of(key, partitions) < partitions


@given(KEYS, st.integers(min_value=1, max_value=500), st.integers(min_value=1, max_value=8))
def test_ranges_nest_when_the_count_is_multiplied(key, partitions, times):
    assert partition_of(key, partitions * times) // times == partition_of(key, partitions)


@pytest.mark.parametrize("partitions", [2, 3, 16, 100])
@pytest.mark.parametrize("make", [lambda n: n, str, lambda n: f"order-{n:08d}", lambda n: (n // 10, n % 10)])
def test_keys_are_spread_evenly(make, partitions):
    keys = 20_000
    counts = Counter(partition_of(make(number), partitions) for number in range(keys))
    fair = keys / partitions
    # Of so many draws, a partition is off by more than five times its deviation once in millions.
    assert all(abs(counts[partition] - fair) < 5 * fair**0.5 for partition in range(partitions))


@pytest.mark.parametrize(
    "key, kept",
    [
        ("straße", "straße".encode()),
        (b"\x00\xff", b"\x00\xff"),
        (17, b"17"),
        (-1700, b"-1700"),
        (1.5, b"1.5"),
        (Decimal("0.050"), b"0.05"),
        (Decimal("12.30"), b"12.3"),
        (0.0, b"0"),
        (True, b"true"),
        (("eu", 7, None, b"\x01", False), b'["eu",7,null,"01",false]'),
        (UUID(int=1), b"00000000-0000-0000-0000-000000000001"),
    ],
)
def test_what_is_kept_can_be_read(key, kept):
    assert readable(key) == kept
