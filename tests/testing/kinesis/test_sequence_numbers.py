"""Sequence numbers say which shard they are of: real ones are read, ours are as real ones."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.kinesis.sequence_numbers import GREATEST_SERIAL, SequenceNumber, parse, spelled

seconds = st.integers(0, (1 << 35) - 1)
serials, shards = st.integers(0, GREATEST_SERIAL), st.integers(0, (1 << 31) - 1)
numbers = st.tuples(seconds, serials, seconds, shards).map(lambda parts: SequenceNumber(*parts))


def test_a_number_that_the_service_gave_out_tells_its_shard_and_its_times():
    # As a user of Spring Integration reported it; the record's arrival is told as 1496242509.589.
    found = parse(49573594932519422285515180003318172542847248863894437890)
    assert found is not None
    assert (found.version, found.shard) == (2, 0)
    assert datetime.fromtimestamp(found.made_seconds, UTC).date().isoformat() == "2017-05-27"
    assert datetime.fromtimestamp(found.seconds, UTC).date().isoformat() == "2017-05-31"


@given(numbers)
def test_a_number_says_what_was_put_into_it(number: SequenceNumber):
    assert parse(int(number)) == number
    assert len(str(int(number))) == 56
    assert spelled(int(number)) == int(number)


@given(numbers, numbers)
def test_numbers_of_a_shard_rise_with_their_serials(one: SequenceNumber, other: SequenceNumber):
    other = other._replace(made_seconds=one.made_seconds, shard=one.shard)
    if one.serial < other.serial:
        assert int(one) < int(other)
    child = other._replace(made_seconds=one.made_seconds + 1)  # a child is made later than its parents
    assert int(one) < int(child)


@given(st.integers(0, 10**129))
def test_any_other_number_is_none_or_an_old_one(number: int):
    found = parse(number)
    assert found is None or found.version in (0, 1, 2)
