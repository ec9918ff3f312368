"""Safety: pages in a browser, foreign names, requests made to be quoted back or to go deep: none of them gets anywhere."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from streamiter.testing import Simulator
from streamiter.testing.http.calls import Call, Calls
from streamiter.testing.http.guard import Guard

PORT = 8000


def ask(sim: Simulator, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(sim.endpoint_url.removeprefix("http://"), timeout=60)
    text = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    connection.request("POST", "/", text, {"X-Amz-Target": target, **headers})
    answer = connection.getresponse()
    try:
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000", "sim", "sim:1", "a:9"]
)
def test_names_of_loopback_with_our_port_and_those_added_are_answered(host: str):
    guard = Guard(PORT, ["Sim", "a:9"])
    assert guard.complaint(host, None) is None
    assert guard.complaint("localhost:8000", f"http://{host}") is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:8001",
        "localhost.evil.example:8000",
        "a:8",
        "",
        "[::1]",
        "127.0.0.1:8000 x",
    ],
)
def test_other_names_are_not(host: str):
    guard = Guard(PORT, ["a:9"])
    assert "does not answer to the Host" in str(guard.complaint(host, None))
    assert "has the Origin" in str(guard.complaint("localhost:8000", f"http://{host}"))


def test_a_request_without_a_host_or_from_a_page_without_an_origin_of_its_own_is_refused():
    assert Guard(PORT).complaint(None, None) is not None
    assert Guard(PORT).complaint("localhost:8000", "null") is not None
    assert Guard(80).complaint("localhost", "http://127.0.0.1") is None, "that port goes without saying"


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_a_refused_request_changes_nothing(headers: dict[str, str]):
    with Simulator("S0") as sim:
        status, answer = ask(sim, "Simulator.Misbehave", **headers)
        assert (status, answer["__type"].rpartition("#")[2]) == (403, "AccessDeniedException")
        assert "--allow-host" in answer["message"]
        assert sim.knobs.weather is None and not sim.calls


def test_a_simulator_answers_to_the_names_that_it_was_given():
    with Simulator("S0", hosts=["simulator"]) as sim:
        assert ask(sim, "DynamoDBStreams_20120810.ListStreams", Host="simulator:8000")[0] == 200


def test_control_calls_need_the_token_where_there_is_one():
    with Simulator("S0", token="wind") as sim:
        for given, status in (("wind", 200), ("Wind", 403), ("", 403), ("é", 403)):
            assert ask(sim, "Simulator.Heal", **{"X-Simulator-Token": given})[0] == status
        assert ask(sim, "DynamoDBStreams_20120810.ListStreams")[0] == 200


LONG = "x" * 2_000_000


@pytest.mark.parametrize(
    "target,body",
    [
        ("Kinesis_20131202.CreateStream", {"StreamName": LONG}),
        ("Kinesis_20131202.CreateStream", {"StreamName": "a", "Tags": {LONG: LONG}}),
        ("Kinesis_20131202.PutRecords", {"StreamName": "a", "Records": [{"PartitionKey": LONG}] * 5}),
        ("Kinesis_20131202.GetRecords", {"ShardIterator": LONG}),
        ("Kinesis_20131202.ListShards", {"NextToken": LONG[: 1 << 20]}),
        ("DynamoDBStreams_20120810.DescribeStream", {"StreamArn": LONG}),
        ("DynamoDB_20120810.DescribeTable", {"TableName": LONG}),
        ("Simulator.Turn", {"Knobs": {LONG: 1}}),
        ("Simulator.Turn", {"Knobs": {"crc": LONG}}),
        ("Simulator.Turn", {"Knobs": {"page_size": LONG}}),
        ("Simulator.Fault", {"Kind": LONG}),
    ],
)
def test_an_error_does_not_send_the_request_back(target: str, body: dict[str, Any]):
    with Simulator("S0") as sim:
        status, answer = ask(sim, target, body)
        assert status == 400
        assert 10 < len(json.dumps(answer)) < 8_000


@pytest.mark.parametrize("target", ["Kinesis_20131202.CreateStream", "DynamoDB_20120810.PutItem", "Simulator.Turn"])
@pytest.mark.parametrize("depth", [200, 5_000, 500_000])
@pytest.mark.parametrize("opened,closed", [(b'{"a":', b"}"), (b"[", b"]")])
def test_what_is_nested_too_deep_is_refused(target: str, depth: int, opened: bytes, closed: bytes):
    with Simulator("S0") as sim:
        status, answer = ask(sim, target, b'{"StreamName":' + opened * depth + b"1" + closed * depth + b"}")
        assert (status, answer["__type"].rpartition("#")[2]) == (400, "SerializationException")


def test_the_list_of_calls_keeps_the_latest():
    calls = Calls(most=10)
    for number in range(1000):
        calls.add(Call("GetRecords", "ok", float(number)))
    assert 10 <= len(calls) <= 11
    assert calls[-1].time == 999
