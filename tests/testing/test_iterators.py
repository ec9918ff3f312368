"""Iterators: where reading starts, how long it may wait, and what is trimmed meanwhile."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from streamiter.testing.clock import START
from tests.testing.readers import get, iterator, read, read_pages, refused


@pytest.fixture
def records(sim):
    """Five records, a second apart, in an open shard S0."""
    sim.shape("S0")
    written = []
    for key in "abcde":
        written.append(sim.put("S0", key=key))
        sim.clock.advance(1)
    return written


def test_trim_horizon_is_the_oldest_record(sim, records):
    assert read(sim, "S0") == list("abcde")


def test_latest_is_what_comes_after(sim, records):
    latest = iterator(sim, "S0", "LATEST")
    sim.put("S0", key="f")
    assert read_pages(sim, latest, most=2) == [["f"], []]


def test_at_and_after_a_sequence_number(sim, records):
    number = records[2].sequence_number
    assert read(sim, "S0", "AT_SEQUENCE_NUMBER", SequenceNumber=number) == list("cde")
    assert read(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=number) == list("de")


def test_numbers_between_records_count_as_their_place(sim, records):
    between = str(records[2].number - 1)
    assert read(sim, "S0", "AT_SEQUENCE_NUMBER", SequenceNumber=between) == list("cde")
    assert read(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=between) == list("cde")


def test_after_the_newest_waits_for_the_next(sim, records):
    after = iterator(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=records[-1].sequence_number)
    assert read_pages(sim, after, most=1) == [[]]
    sim.put("S0", key="f")
    assert read_pages(sim, after, most=1) == [["f"]]


def test_numbers_may_collide_and_then_the_first_counts(sim):
    sim.shape("S0")
    for key, given in zip("abcd", [7, 5, 5, 6], strict=True):
        sim.put("S0", key=key, number=given)
    number = "1" + "5".zfill(20)
    assert read(sim, "S0") == list("abcd"), "whatever the numbers, a shard has its order"
    assert read(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=number) == list("cd")
    assert read(sim, "S0", "AT_SEQUENCE_NUMBER", SequenceNumber=number) == list("bcd")
    sim.trim("S0", before=2)
    with refused("TrimmedDataAccessException"):
        read(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=number)


@pytest.mark.parametrize("number", [None, "12", "x" * 21, "1" * 41])
def test_malformed_numbers_are_refused(sim, records, number):
    options = {} if number is None else {"SequenceNumber": number}
    with refused("ValidationException"):
        iterator(sim, "S0", "AFTER_SEQUENCE_NUMBER", **options)


@pytest.mark.parametrize("place", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
def test_a_number_beside_the_shard_s_range_is_refused(sim, records, place):
    first = sim.shard("S0").starting
    assert read(sim, "S0", place, SequenceNumber=str(first)) == list("abcde")
    with refused("ValidationException", "Invalid SequenceNumber for the shard"):
        iterator(sim, "S0", place, SequenceNumber=str(first - 1))
    beyond = str(records[-1].number + 1)
    assert read(sim, "S0", place, SequenceNumber=beyond) == [], "an open shard has no end"
    sim.close_shard("S0")
    with refused("ValidationException", "Invalid SequenceNumber for the shard"):
        iterator(sim, "S0", place, SequenceNumber=beyond)


def test_a_number_of_the_range_that_is_trimmed_is_trimmed_however_little_is_left(sim, records):
    sim.trim("S0")
    sim.close_shard("S0")
    with refused("TrimmedDataAccessException"):
        iterator(sim, "S0", "AT_SEQUENCE_NUMBER", SequenceNumber=records[0].sequence_number)


# -- times


def test_at_a_timestamp_is_the_first_record_created_then_or_later(sim, records):
    for moment in (START + 2, START + 1.5, datetime.fromtimestamp(START + 2, UTC)):
        assert read(sim, "S0", "AT_TIMESTAMP", Timestamp=moment) == list("cde")
    assert read(sim, "S0", "AT_TIMESTAMP", Timestamp=START + 5) == []


def test_creation_times_are_floored_so_a_moment_within_the_second_is_after_them(sim):
    sim.shape("S0")
    sim.clock.advance(0.9)
    sim.put("S0", key="a")
    assert read(sim, "S0", "AT_TIMESTAMP", Timestamp=START) == ["a"]
    assert read(sim, "S0", "AT_TIMESTAMP", Timestamp=START + 0.5) == []


def test_a_timestamp_before_the_horizon_means_the_horizon(sim, records):
    sim.trim("S0", before=2)
    assert read(sim, "S0", "AT_TIMESTAMP", Timestamp=1) == list("cde")


def test_a_timestamp_in_the_future_is_refused(sim, records):
    iterator(sim, "S0", "AT_TIMESTAMP", Timestamp=sim.clock.now())
    with refused("ValidationException", match="future"):
        iterator(sim, "S0", "AT_TIMESTAMP", Timestamp=sim.clock.now() + 1)
    sim.knobs.refuses_future = False
    assert read(sim, "S0", "AT_TIMESTAMP", Timestamp=sim.clock.now() + 1) == []


def test_a_timestamp_is_needed(sim, records):
    with refused("ValidationException", match="Timestamp"):
        iterator(sim, "S0", "AT_TIMESTAMP")


def test_records_without_creation_time_go_by_when_they_were_written(sim):
    sim.shape("S0")
    sim.put("S0", key="a", created=None)
    sim.clock.advance(2)
    sim.put("S0", key="b", created=None)
    assert read(sim, "S0", "AT_TIMESTAMP", Timestamp=START + 1) == ["b"]


def test_older_services_do_not_know_the_type(sim, records):
    sim.knobs.knows_at_timestamp = False
    with refused(
        "ValidationException", match="enum value set: .AFTER_SEQUENCE_NUMBER, AT_SEQUENCE_NUMBER, LATEST, TRIM"
    ):
        iterator(sim, "S0", "AT_TIMESTAMP", Timestamp=START)


def test_a_type_that_nobody_knows_is_refused(sim, records):
    with refused("ValidationException", match="AT_HOME"):
        iterator(sim, "S0", "AT_HOME")


# -- expiry


def test_an_iterator_expires_fifteen_minutes_after_it_was_handed_out(sim, records):
    first = iterator(sim, "S0")
    sim.clock.advance(minutes=14, seconds=59)
    following = get(sim, first)["NextShardIterator"]
    sim.clock.advance(seconds=1)
    with refused("ExpiredIteratorException"):
        get(sim, first)
    sim.clock.advance(minutes=14)
    get(sim, following)
    sim.clock.advance(minutes=1)
    with refused("ExpiredIteratorException"):
        get(sim, following)


def test_the_lifetime_of_iterators_is_a_knob(sim, records):
    sim.knobs.iterator_lifetime = 5 * 60
    first = iterator(sim, "S0")
    sim.clock.advance(minutes=5)
    with refused("ExpiredIteratorException"):
        get(sim, first)


def swapped(text: str) -> str:
    """With the place in it changed: still base64, still what an iterator looks like inside."""
    sealed = bytearray(base64.b64decode(text.rpartition("|")[2]))
    at = sealed.index(b"S0") + 2
    sealed[at] = 1
    return base64.b64encode(sealed).decode()


@pytest.mark.parametrize(
    "spoil", [lambda text: "x", lambda text: text[:-8] + "AAAAAAA=", swapped, lambda text: text + "é"]
)
def test_malformed_iterators_are_refused(sim, records, spoil):
    with refused("ValidationException", match="Invalid ShardIterator"):
        get(sim, spoil(iterator(sim, "S0")))


# -- trims


def test_records_are_trimmed_a_day_after_they_were_written(sim, records):
    sim.clock.set(START + 24 * 3600 + 1.5)
    assert read(sim, "S0") == list("cde")
    assert sim.shard("S0").trimmed == 2
    assert [record.key["id"] for record in sim.history] == list("abcde"), "history keeps all"


def test_what_was_said_about_creation_does_not_matter_for_trims(sim):
    sim.shape("S0")
    sim.put("S0", key="a", created=1)
    sim.clock.advance(hours=23)
    assert read(sim, "S0") == ["a"]
    sim.knobs.retention = 3600
    assert read(sim, "S0") == []


def test_the_number_of_a_trimmed_record_is_refused_when_the_iterator_is_asked_for(sim, records):
    sim.trim("S0", before=records[3])
    for place in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        for record in records[:3]:
            with refused("TrimmedDataAccessException"):
                iterator(sim, "S0", place, SequenceNumber=record.sequence_number)
    assert read(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=records[3].sequence_number) == ["e"]


def test_or_only_when_it_is_read(sim, records):
    sim.trim("S0", before=records[3].sequence_number)
    sim.knobs.trimmed_at = "GetRecords"
    late = iterator(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=records[0].sequence_number)
    with refused("TrimmedDataAccessException"):
        get(sim, late)


@pytest.mark.parametrize("type", ["TRIM_HORIZON", "AT_TIMESTAMP"])
def test_what_is_trimmed_between_the_two_calls_is_refused(sim, records, type):
    early = iterator(sim, "S0", type, Timestamp=START)
    sim.trim("S0", before=1)
    with refused("TrimmedDataAccessException"):
        get(sim, early)


def test_an_iterator_at_the_tip_outlives_a_trim_of_all_before_it(sim, records):
    tip = get(sim, iterator(sim, "S0"))["NextShardIterator"]
    sim.trim("S0")
    assert read(sim, "S0") == []
    assert read_pages(sim, tip, most=1) == [[]]
    sim.put("S0", key="f")
    assert read_pages(sim, tip, most=1) == [["f"]]


def test_only_what_is_held_can_be_named_for_a_trim(sim, records):
    sim.trim("S0", before=2)
    with pytest.raises(LookupError, match="S0"):
        sim.trim("S0", before=records[0])


def test_a_shard_that_never_was_is_not_found(sim, records):
    with refused("ResourceNotFoundException", match="Shard does not exist"):
        iterator(sim, "S9")


def test_the_truth_ages_without_calls_too(sim, records):
    sim.clock.advance(hours=24)
    assert sim.shard("S0").records == []


def test_an_iterator_of_a_shard_that_is_removed_is_refused(sim, records):
    early = iterator(sim, "S0")
    sim.remove("S0")
    with refused("ResourceNotFoundException"):
        get(sim, early)
