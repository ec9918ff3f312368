"""`stream.stats`: what was done so far, and what is waited for, as a value."""

from __future__ import annotations

import pytest

from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import drain, take, write


@pytest.fixture
def written(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=5)
    return sim


def test_calls_are_counted_by_kind_as_the_service_counts_them(written: Simulator, open_stream: Open):
    stream = open_stream()
    drain(stream, written.clock)
    served = written.calls.by_operation
    assert stream.stats.calls == {
        "list_shards": served["DescribeStream"],
        "open_iterator": served["GetShardIterator"],
        "fetch": served["GetRecords"],
    }
    assert stream.stats.pages == served["GetRecords"]


def test_failed_calls_are_counted_too(written: Simulator, open_stream: Open):
    written.fault("GetRecords", kind="500", times=3)
    written.fault("GetShardIterator", kind="500", times=2)
    written.fault("DescribeStream", kind="500", times=2)
    stream = open_stream()
    drain(stream, written.clock)
    served = written.calls.by_operation
    assert stream.stats.calls == {
        "list_shards": served["DescribeStream"],
        "open_iterator": served["GetShardIterator"],
        "fetch": served["GetRecords"],
    }
    assert stream.stats.retries == 7


def test_throttles_are_counted_among_the_retries(written: Simulator, open_stream: Open):
    written.fault("GetRecords", kind="throttle", times=2)
    written.fault("DescribeStream", kind="limit", times=1)
    written.fault("GetShardIterator", kind="500", times=3)
    stream = open_stream()
    drain(stream, written.clock)
    assert (stream.stats.throttles, stream.stats.retries) == (3, 6)


def test_the_lineage_is_what_was_listed_so_far(sim: Simulator, open_stream: Open):
    sim.shape("S0 => {S1, S2}")
    stream = open_stream()
    drain(stream, sim.clock)
    known = stream.lineage
    assert repr(known) == "S0 => {S1, S2}"
    sim.split("S1", "S3", "S4")
    drain(stream, sim.clock, quiet=90)
    assert repr(known) == "S0 => {S1, S2}", "a value of its own"
    assert repr(stream.lineage) == "S0 => {S1, S2}; S1 => {S3, S4}"


def test_records_returned_and_waiting(written: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, written.clock, 4)
    stats = stream.stats
    assert (stats.records, stats.waiting) == (4, 6)
    assert stats.waiting_bytes > 6 * 100
    drain(stream, written.clock)
    assert (stream.stats.records, stream.stats.waiting, stream.stats.waiting_bytes) == (10, 0, 0)


def test_a_snapshot_does_not_change(written: Simulator, open_stream: Open):
    stream = open_stream()
    before = stream.stats
    kept = dict(before.calls)
    take(stream, written.clock, 4)
    assert before.records == 0
    assert before.calls == kept
    with pytest.raises(AttributeError):
        before.records = 3  # type: ignore[misc]


def test_reading_it_calls_nothing(written: Simulator, open_stream: Open):
    stream = open_stream()
    _ = stream.stats, stream.token, stream.ended, repr(stream)
    assert len(written.calls) == 0


def test_held_by_names_the_shard_that_does_not_answer(written: Simulator, open_stream: Open):
    stream = open_stream(patience=1000)
    drain(stream, written.clock)
    assert stream.stats.held_by is None
    written.fault("GetRecords", "S1", kind="500", times=None)
    written.put("S2")
    written.clock.advance(30)
    for _ in range(20):
        assert next(stream) is None
        written.clock.advance(1)
    assert stream.stats.held_by == "S1"


def test_held_by_names_the_listing_before_anything_is_listed(written: Simulator, open_stream: Open):
    written.fault("DescribeStream", kind="500", times=None)
    stream = open_stream(patience=1000)
    next(stream)
    assert stream.stats.held_by == "listing"


def test_lag_is_the_age_of_the_first_record_that_waits(written: Simulator, open_stream: Open):
    written.clock.advance(1000)
    stream = open_stream()
    take(stream, written.clock, 2)
    lag = stream.stats.lag
    assert set(lag) == {"S1", "S2"}
    assert all(lag[shard] == pytest.approx(1005, abs=2) for shard in lag)
    drain(stream, written.clock)
    assert stream.stats.lag == {"S1": 0.0, "S2": 0.0}


def test_lag_counts_what_waits_before_anything_was_returned(written: Simulator, open_stream: Open):
    written.clock.advance(1000)
    written.fault("GetRecords", "S2", kind="500", times=None)
    stream = open_stream()
    assert drain(stream, written.clock, quiet=5) == []
    assert stream.stats.lag["S1"] == pytest.approx(1010, abs=2)


def test_a_first_record_after_hours_of_quiet_is_no_lag_of_hours(written: Simulator, open_stream: Open):
    """A record that waits for two seconds raises no alarm."""
    stream = open_stream()
    drain(stream, written.clock)
    for _ in range(6 * 6):
        written.clock.advance(minutes=10)  # an iterator lives for 15
        assert next(stream) is None
    written.put("S1")
    lags = []
    while next(stream) is None:
        lags.append(stream.stats.lag["S1"])
        written.clock.advance(0.25)
    assert any(lags) and max(lags) < 10


def test_open_shards_and_those_that_ended(written: Simulator, open_stream: Open):
    stream = open_stream()
    drain(stream, written.clock)
    assert stream.stats.open_shards == 2
    written.split("S1")
    drain(stream, written.clock)
    assert stream.stats.open_shards == 3
