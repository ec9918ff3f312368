"""Aggregates are taken apart exactly; what is broken in any byte is passed on whole."""

from __future__ import annotations

from hashlib import md5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.source.kinesis_aggregate import MAGIC, Part, take_apart
from streamiter.source.kinesis_page import Row, read_payloads
from streamiter.testing.kinesis.aggregate import pack

keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
rows = st.one_of(
    st.tuples(keys, st.binary(max_size=300)),
    st.tuples(keys, st.binary(max_size=20), st.integers(0, 2**128 - 1).map(str)),
)


def sealed(message: bytes) -> bytes:
    return MAGIC + message + md5(message).digest()


@given(st.lists(rows, min_size=1, max_size=8))
def test_what_was_packed_comes_apart(packed):
    parts = take_apart(pack(packed))
    assert parts == [Part(row[0], row[2] if len(row) > 2 else None, row[1]) for row in packed]


def test_long_tables_and_payloads_come_apart():
    packed = [(f"key {number}", b"x" * number, str(number)) for number in range(300)]
    assert take_apart(pack(packed)) == [Part(key, hashed, payload) for key, payload, hashed in packed]


@given(st.lists(rows, min_size=1, max_size=3), st.data())
def test_a_broken_aggregate_is_none(packed, data):
    whole = pack(packed)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytes([whole[at] ^ data.draw(st.integers(1, 255))])
    assert take_apart(whole[:at] + changed + whole[at + 1 :]) is None
    assert take_apart(whole[:at]) is None
    assert take_apart(whole + b"x") is None


@given(st.binary(max_size=60))
def test_no_bytes_upset_it(message: bytes):
    assert take_apart(message) is None
    take_apart(sealed(message))  # a sealed message that is none is none, too, and raises nothing


@pytest.mark.parametrize(
    "message",
    [
        b"",  # no records at all
        b"\x0a\x01a",  # a key, and no record
        b"\x0a\x01a\x1a\x04\x08\x01\x1a\x00",  # a key that is not there
        b"\x0a\x01a\x1a\x06\x08\x00\x10\x00\x1a\x00",  # an explicit hash key that is not there
        b"\x0a\x01a\x1a\x02\x08\x00",  # a record without a payload
        b"\x0a\x01a\x1a\x02\x1a\x00",  # a record without a key
        b"\x0a\x01\xff\x1a\x04\x08\x00\x1a\x00",  # a key that is no text
        b"\x0a\x7fa",  # longer than all of it
        b"\x0a",  # it breaks off
        b"\x0b\x00",  # a kind of field that there is not
        b"\x08\x00",  # a number in the place of a key
        b"\x1a\x03\x0a\x01a",  # bytes in the place of a number
        b"\x00\x00",  # the field 0
        b"\x0a\x01a\x1a\x04\x08\x00\x1a\x00\x00\x00",  # the field 0, behind a record
        b"\x80" * 11,  # a number without end
    ],
)
def test_a_message_that_is_none_is_passed_on_whole(message: bytes):
    assert take_apart(sealed(message)) is None
    [record] = read_payloads("S", [Row("1", sealed(message), "k", 1.5)])
    assert record.payload == sealed(message)
    assert record.partition_key == "k"
    assert record.created_us == 1_500_000


def test_fields_that_nobody_knows_are_passed_over():
    message = b"\x0a\x01a" + b"\x20\x05" + b"\x29" + b"\xff" * 8 + b"\x35" + b"\xff" * 4 + b"\x3a\x01x"
    record = b"\x08\x00\x1a\x01p\x22\x03\x0a\x01t"  # with a tag
    assert take_apart(sealed(message + b"\x1a" + bytes([len(record)]) + record)) == [Part("a", None, b"p")]


def test_the_records_of_an_aggregate_share_its_number_and_its_time():
    packed = pack([("a", b"1"), ("b", b"2", "77"), ("a", b"3")])
    records = read_payloads("S", [Row("1", b"0", "z", 1.0), Row("2", packed, "x", 2.0), Row("3", b"4", "y", 3.0)])
    told = [
        (r.sequence_number, r.sub_sequence_number, r.partition_key, r.explicit_hash_key, r.payload) for r in records
    ]
    assert told == [
        ("1", 0, "z", None, b"0"),
        ("2", 0, "a", None, b"1"),
        ("2", 1, "b", "77", b"2"),
        ("2", 2, "a", None, b"3"),
        ("3", 0, "y", None, b"4"),
    ]
    assert [record.created_us for record in records] == [1_000_000, 2_000_000, 2_000_000, 2_000_000, 3_000_000]
