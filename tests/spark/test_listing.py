"""Listing for the planner: at the service's pace, and as often as it takes."""

from __future__ import annotations

import pytest

from streamiter import DynamoDBStreams, Throttled
from streamiter.reading.resume import token_at_start
from streamiter.spark.options import Options
from streamiter.spark.planning.listing import latest_token, list_between
from streamiter.testing import Simulator


@pytest.fixture
def source(sim: Simulator) -> DynamoDBStreams:
    return DynamoDBStreams(sim.stream_arn, client=sim.client())


@pytest.fixture
def sim():
    with Simulator() as simulator:
        yield simulator


def options(sim: Simulator) -> Options:
    return Options("dynamodb_streams", sim.stream_arn)


def test_many_shards_are_listed_no_faster_than_the_service_allows(sim: Simulator, source: DynamoDBStreams):
    sim.knobs(describe_rate=10, shards_per_page=4)
    sim.shape(" ~ ".join(f"S{number:03d}" for number in range(100)))
    token = latest_token(source, sim.clock, options(sim))
    assert len(token.lanes) == 100
    sim.clock.advance(1)
    lineage, _ = list_between(source, token_at_start(sim.stream_arn), token, sim.clock)
    assert len(lineage) == 100
    assert sim.calls.by_outcome.keys() == {"ok"}
    assert sim.calls.total("DescribeStream") == 2 * 25, "one listing each, where nothing is in doubt"


def test_faults_are_waited_out_and_a_refusal_that_lasts_is_told(sim: Simulator, source: DynamoDBStreams):
    sim.shape("S0")
    fault = sim.fault("DescribeStream", kind="throttle", times=4)
    assert len(latest_token(source, sim.clock, options(sim)).lanes) == 1
    sim.heal(fault)
    sim.fault("DescribeStream", kind="throttle", times=None)
    with pytest.raises(Throttled):
        latest_token(source, sim.clock, options(sim))


def test_what_a_listing_lacks_is_asked_for_again(sim: Simulator, source: DynamoDBStreams):
    sim.shape("S0 => S1 => S2")
    token = latest_token(source, sim.clock, options(sim))
    assert [lane.shard for lane in token.lanes] == ["S2"]
    sim.hide("S1", seconds=0.9)
    lineage, _ = list_between(source, token_at_start(sim.stream_arn), token, sim.clock)
    assert set(lineage) == {"S0", "S1", "S2"}
