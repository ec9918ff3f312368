"""Faults: calls that fail, as they are told to."""

from __future__ import annotations

import threading
import time

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from streamiter.testing import Simulator
from tests.testing.readers import get, iterator, listed, read, refused


@pytest.fixture
def sim():
    with Simulator("S0 => {S1, S2}") as simulator:
        for shard in ("S0", "S1", "S2"):
            simulator.put(shard, key=shard)
        yield simulator


@pytest.mark.parametrize(
    "kind,name,status",
    [
        ("throttle", "ThrottlingException", 400),
        ("limit", "LimitExceededException", 400),
        ("500", "InternalServerError", 500),
        ("503", "ServiceUnavailableException", 503),
        ("gone", "ResourceNotFoundException", 400),
        ("expired", "ExpiredIteratorException", 400),
        ("trimmed", "TrimmedDataAccessException", 400),
        ("access_denied", "AccessDeniedException", 400),
        ("expired_token", "ExpiredTokenException", 400),
        ("unknown_key", "UnrecognizedClientException", 400),
        ("validation", "ValidationException", 400),
        ("html", "502", 502),
    ],
)
def test_the_service_refuses(sim, kind, name, status):
    sim.fault("GetRecords", kind=kind)
    first = iterator(sim, "S0")
    with pytest.raises(ClientError) as caught:
        get(sim, first)
    assert caught.value.response["Error"]["Code"] == name
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    assert sim.calls[-1].outcome == (kind if kind == "html" else name)
    assert get(sim, first)["Records"], "once is once"


def test_the_connection_ends_without_an_answer(sim):
    first = iterator(sim, "S0")
    client = sim.client()
    client.list_streams()  # the connection is warm
    sim.fault("GetRecords", kind="reset")
    with pytest.raises(ConnectionClosedError):
        client.get_records(ShardIterator=first)
    assert sim.calls[-1].outcome == "reset"
    assert client.get_records(ShardIterator=first)["Records"]


@pytest.mark.parametrize("kind", ["cut", "bad_json"])
def test_half_an_answer_looks_to_plain_boto3_like_the_end_of_the_shard(sim, kind):
    # botocore checks neither the length of a body nor that it is JSON: only the checksum (and a parser of our own) tells.
    client, first = sim.client(), iterator(sim, "S0")
    sim.fault("GetRecords", kind=kind)
    answer = client.get_records(ShardIterator=first)
    assert answer.keys() == {"ResponseMetadata"}
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert sim.calls[-1].outcome == kind
    assert client.get_records(ShardIterator=first)["Records"]


def test_a_checksum_can_be_wrong_while_the_body_is_right(sim):
    sim.fault("GetRecords", kind="bad_crc")
    assert read(sim, "S1") == ["S1"]
    assert sim.calls.by_outcome["bad_crc"] == 1


def test_a_call_hangs_until_it_is_released(sim):
    fault = sim.fault("DescribeStream", kind="hang")
    shown: list[list[str]] = []
    caller = threading.Thread(target=lambda: shown.append(listed(sim)))
    caller.start()
    while not sim.calls:
        caller.join(0.01)
    assert listed(sim) == ["S0", "S1", "S2"], "others go on meanwhile"
    assert caller.is_alive()
    fault.release()
    caller.join()
    assert shown == [["S0", "S1", "S2"]]


def test_a_caller_that_does_not_wait_for_it_gives_up(sim):
    sim.fault("DescribeStream", kind="hang")
    client = sim.client(config=Config(read_timeout=0.05))
    with pytest.raises(ReadTimeoutError):
        client.describe_stream(StreamArn=sim.stream_arn)


def test_a_slow_answer_is_as_of_when_it_was_asked_for(sim):
    sim.fault("DescribeStream", kind="slow", seconds=0.02)
    assert listed(sim) == ["S0", "S1", "S2"]
    assert sim.calls[-1].outcome == "slow"


def outcomes(sim: Simulator, *shards: str) -> str:
    """Reads shards in turn: `x` for each call that fails, `.` for each that does not."""
    seen = ""
    for shard in shards:
        try:
            get(sim, iterator(sim, shard))
            seen += "."
        except ClientError:
            seen += "x"
    return seen


def test_a_fault_is_for_a_shard_and_an_operation(sim):
    sim.fault("GetRecords", "S1", kind="throttle")
    assert outcomes(sim, "S0", "S1", "S1", "S2") == ".x.."
    sim.fault(shard="S2", kind="throttle")
    assert listed(sim), "a call without a shard is not meant"
    with refused("ThrottlingException"):
        iterator(sim, "S2")
    sim.fault(kind="500")
    with refused("InternalServerError"):
        listed(sim)


def test_a_fault_is_for_some_calls_after_some_others(sim):
    fault = sim.fault("GetRecords", "S1", kind="throttle", times=2, after=1)
    assert outcomes(sim, "S1", "S0", "S1", "S0", "S1", "S1") == "..x.x."
    assert (fault.served, fault.is_spent) == (2, True)


def test_a_fault_without_end_lasts_until_it_is_withdrawn(sim):
    fault = sim.fault("GetRecords", kind="throttle", times=None)
    assert outcomes(sim, *["S0"] * 5) == "xxxxx"
    assert not fault.is_spent
    sim.heal(fault)
    assert outcomes(sim, "S0") == "."


def test_the_first_of_several_takes_the_call(sim):
    sim.fault("GetRecords", kind="throttle")
    sim.fault("GetRecords", kind="500")
    for name in ("ThrottlingException", "InternalServerError"):
        with refused(name):
            get(sim, iterator(sim, "S0"))
    sim.fault("GetRecords", kind="throttle", times=None)
    sim.fault("GetRecords", kind="500", times=None)
    sim.heal()
    assert outcomes(sim, "S0") == "."


def test_a_fault_may_name_a_shard_that_is_still_to_come(sim):
    sim.fault("GetRecords", "S3", kind="throttle")
    sim.roll("S1", "S3")
    assert outcomes(sim, "S3", "S3") == "x."


def test_a_refused_call_changes_nothing(sim):
    sim.hide("S1", passes=1)
    sim.fault("DescribeStream", kind="throttle")
    with refused("ThrottlingException"):
        listed(sim)
    assert [listed(sim), listed(sim)] == [["S0", "S2"], ["S0", "S1", "S2"]]


def test_a_kind_that_there_is_not_is_a_mistake_of_the_test(sim):
    with pytest.raises(ValueError, match="throttle"):
        sim.fault(kind="thunder")


# -- rates


def test_listings_have_a_rate_by_the_service_s_clock(sim):
    sim.knobs.describe_rate = 10
    for _ in range(2):
        for _ in range(10):
            listed(sim)
        with refused("ThrottlingException"):
            listed(sim)
        sim.clock.advance(1)
    sim.knobs.describe_rate = None
    for _ in range(20):
        listed(sim)


def test_each_shard_has_a_rate_of_its_own(sim):
    sim.knobs.records_rate = 2
    assert outcomes(sim, "S1", "S2", "S1", "S2", "S1", "S2") == "....xx"
    sim.clock.advance(1)
    assert outcomes(sim, "S1") == "."
    assert sim.calls.total(outcome="LimitExceededException") == 2


# -- latency


def test_calls_take_real_time_by_operation(sim):
    sim.knobs.latency = {"GetRecords": 0.05, "*": 0.0}
    client, first = sim.client(), iterator(sim, "S0")
    started = time.perf_counter()
    client.get_records(ShardIterator=first)
    assert time.perf_counter() - started >= 0.05
    sim.knobs.latency = 0.05
    started = time.perf_counter()
    client.list_streams()
    assert time.perf_counter() - started >= 0.05
