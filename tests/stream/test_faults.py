"""The bad day: throttles, 5xx, time-outs, cut connections. Nothing fetched is dropped, order holds."""

from __future__ import annotations

import pytest
from botocore.config import Config

from streamiter import DynamoDBStreams, SourceError, Stream, Throttled, TransientError
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, assert_came, calls_during, drain, in_order, take, until_raises, write

PASSING = ["throttle", "limit", "500", "503", "cut", "reset", "bad_crc", "bad_json", "no_body", "html"]


@pytest.fixture
def three(sim: Simulator) -> Simulator:
    """Three shards whose records alternate, in pages of four."""
    sim.shape("S1 ~ S2 ~ S3")
    write(sim, "S1", "S2", "S3", rounds=10)
    sim.knobs.page_size = 4
    sim.clock.advance(60)
    return sim


@pytest.mark.outdoors
@pytest.mark.parametrize("kind", PASSING)
@pytest.mark.parametrize("operation", ["GetRecords", "GetShardIterator"])
def test_a_fault_on_one_shard_drops_nothing_of_the_others(three: Simulator, open_stream: Open, operation, kind):
    three.fault(operation, "S2", kind=kind, times=3, after=0 if operation == "GetShardIterator" else 1)
    stream = open_stream()
    assert_all_came(drain(stream, three.clock), three)
    assert stream.stats.retries == 3


@pytest.mark.outdoors
@pytest.mark.parametrize("kind", PASSING)
def test_a_fault_of_the_listing_passes_too(three: Simulator, open_stream: Open, kind):
    three.fault("DescribeStream", kind=kind, times=4)
    stream = open_stream()
    assert_all_came(drain(stream, three.clock), three)
    assert stream.stats.retries == 4


@pytest.mark.outdoors
def test_a_call_that_times_out_is_made_again(three: Simulator, open_stream: Open):
    client = three.client(config=Config(read_timeout=0.3))
    fault = three.fault("GetRecords", "S2", kind="hang", after=1)
    with Stream(DynamoDBStreams(three.stream_arn, client=client), clock=three.clock) as stream:
        assert_all_came(drain(stream, three.clock), three)
    assert fault.served == 1


def test_what_was_fetched_before_a_fault_is_not_fetched_again(three: Simulator, open_stream: Open):
    stream = open_stream()
    came = take(stream, three.clock, 5)
    three.fault("GetRecords", kind="500", times=9)
    came += drain(stream, three.clock)
    assert_all_came(came, three)
    assert sum(call.records for call in three.calls if call.outcome == "ok") == len(three.history)


def test_records_that_need_not_wait_come_while_a_shard_fails(three: Simulator, open_stream: Open):
    """S2 holds the others only from where its own records are missing."""
    three.fault("GetRecords", "S2", kind="500", times=None, after=1)
    stream = open_stream(patience=1000)
    came = []
    for _ in range(100):
        record = next(stream)
        if record is None:
            three.clock.advance(0.5)
        else:
            came.append(record)
    assert_came(came, in_order(three)[: len(came)])
    assert len(came) >= 10
    assert stream.stats.held_by == "S2"
    three.heal()
    assert_came(came + drain(stream, three.clock), in_order(three))


@pytest.mark.parametrize("kind", ["throttle", "500", "reset"])
def test_when_patience_runs_out_the_error_names_the_shard(three: Simulator, open_stream: Open, kind):
    three.fault("GetRecords", "S2", kind=kind, times=None, after=1)
    stream = open_stream(patience=20)
    began = three.clock.monotonic()
    came, error = until_raises(TransientError, stream, three.clock)
    assert 20 <= three.clock.monotonic() - began <= 30
    assert "shard S2" in str(error)
    assert "20 s" in str(error)
    assert "nothing is lost" in str(error)
    assert "calling next() again goes on trying" in str(error)
    assert ("look for other readers of the stream" in str(error)) == (kind == "throttle")
    assert ("look at the network to the service" in str(error)) == (kind != "throttle")
    assert isinstance(error, Throttled) == (kind == "throttle")
    three.heal()
    assert_came(came + drain(stream, three.clock), in_order(three))


def test_after_the_error_it_has_the_same_patience_again(three: Simulator, open_stream: Open):
    three.fault("GetRecords", "S2", kind="500", times=None)
    stream = open_stream(patience=20)
    until_raises(TransientError, stream, three.clock)
    began = three.clock.monotonic()
    until_raises(TransientError, stream, three.clock)
    assert 20 <= three.clock.monotonic() - began <= 30


def test_a_success_in_between_renews_the_patience(three: Simulator, open_stream: Open):
    for passed in range(20):  # every second call fails
        three.fault("GetRecords", "S2", kind="500", after=passed)
    stream = open_stream(patience=3)
    assert_all_came(drain(stream, three.clock, step=0.5), three)


def test_the_time_that_the_caller_was_away_tries_no_patience(three: Simulator, open_stream: Open):
    stream = open_stream(patience=60)
    came = take(stream, three.clock, 5)
    three.fault("GetRecords", "S2", kind="throttle", times=2)
    for _ in range(4):  # with one failure before each pause, there is no error that lasted
        three.clock.advance(3600)
        while (record := next(stream)) is not None:
            came.append(record)
    assert stream.stats.throttles == 2
    assert_came(came + drain(stream, three.clock), in_order(three))


def test_the_listing_is_named_when_it_is_the_listing(three: Simulator, open_stream: Open):
    three.fault("DescribeStream", kind="500", times=None)
    _, error = until_raises(TransientError, open_stream(patience=5), three.clock)
    assert "listing the shards" in str(error)


@pytest.mark.parametrize("position", ["trim_horizon", "latest"])
def test_a_page_of_a_listing_that_fails_is_asked_for_again_not_the_whole_of_it(
    sim: Simulator, open_stream: Open, position: str
):
    sim.shape(" ~ ".join(f"S{number}" for number in range(10, 30)))
    sim.knobs.shards_per_page = 2
    for page in range(10):  # each page fails before it comes
        sim.fault("DescribeStream", kind="throttle", after=page)
    stream = open_stream(position)
    sim.put("S29")
    assert_all_came(drain(stream, sim.clock, quiet=50), sim)
    listed = [call.operation for call in sim.calls].index("GetShardIterator")
    assert listed == (20 if position == "trim_horizon" else 30), "a listing to begin with, and one for the position"


def test_a_listing_that_cannot_go_on_begins_anew(sim: Simulator, open_stream: Open):
    """As where its cursor is not taken any more."""
    sim.shape("S1 ~ S2 ~ S3")
    write(sim, "S1", "S2", "S3")
    sim.knobs.shards_per_page = 1
    sim.fault("DescribeStream", kind="500", after=1, times=4)
    assert_all_came(drain(open_stream(), sim.clock), sim)
    assert sim.calls.total("DescribeStream") >= 1 + 4 + 3


def test_a_listing_that_fails_when_all_is_quiet_does_not_wait_for_the_next_minute(three: Simulator, open_stream: Open):
    stream = open_stream(patience=20)
    drain(stream, three.clock, quiet=300)
    three.calls.clear()
    three.fault("DescribeStream", kind="500", times=3)
    drain(stream, three.clock, quiet=100, step=0.1)
    listings = three.calls.of("DescribeStream")
    assert [call.outcome == "ok" for call in listings[:4]] == [False, False, False, True]
    assert listings[3].time - listings[0].time < 3
    assert len(listings) == 5, "and then once a minute again"


def test_a_failing_shard_is_asked_less_and_less(three: Simulator, open_stream: Open):
    fault = three.fault("GetRecords", "S2", kind="500", times=None)
    stream = open_stream(patience=1000)
    drain(stream, three.clock, quiet=120, step=0.1)
    assert 20 <= fault.served <= 60  # with pauses of 0.1 s it would be a thousand


def test_a_throttled_shard_is_left_alone_for_longer(three: Simulator, open_stream: Open):
    fault = three.fault("GetRecords", "S2", kind="throttle", times=None)
    stream = open_stream(patience=1000)
    drain(stream, three.clock, quiet=1.5, step=0.1)
    assert fault.served <= 3


def test_the_services_own_rates_are_survived(three: Simulator, open_stream: Open):
    three.knobs.describe_rate = 10
    three.knobs.records_rate = 5
    three.roll()
    write(three, *three.open_shards)
    assert_all_came(drain(open_stream(), three.clock), three)


def test_no_call_is_made_while_an_error_pauses_and_the_clock_stands(three: Simulator, open_stream: Open):
    three.fault("GetRecords", kind="500", times=None)
    stream = open_stream(patience=1000)
    next(stream)
    assert calls_during(three, lambda: [next(stream) for _ in range(50)]) == 0


@pytest.mark.parametrize("kind", ["access_denied", "expired_token", "unknown_key", "validation"])
def test_what_no_patience_mends_surfaces_at_once(three: Simulator, open_stream: Open, kind):
    stream = open_stream()
    took = take(stream, three.clock, 3)
    three.fault("GetRecords", kind=kind, times=None)
    began = three.clock.monotonic()
    came, error = until_raises(SourceError, stream, three.clock)
    assert three.clock.monotonic() - began < 3
    assert not isinstance(error, TransientError)
    three.heal()
    assert_came(took + came + drain(stream, three.clock), in_order(three))


def test_a_fault_on_the_parents_last_page_keeps_the_lineage(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    write(sim, "S0", rounds=6)
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2", rounds=6)
    sim.knobs.page_size = 2
    sim.fault("GetRecords", "S0", kind="cut", times=2, after=2)
    sim.fault("GetRecords", "S1", kind="reset", times=2)
    assert_all_came(drain(open_stream(patience=1000), sim.clock, quiet=120, step=1), sim)
