"""The protocol as it goes over the wire, without a client between."""

from __future__ import annotations

import http.client
import json
import re
import socket
import zlib
from typing import Any

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import iterator, refused


@pytest.fixture
def sim():
    with Simulator("S0") as simulator:
        simulator.put("S0", key="é")
        yield simulator


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(sim: Simulator, operation: str, body: Any = None, target: str = "DynamoDBStreams_20120810.") -> Answer:
    connection = http.client.HTTPConnection(sim.endpoint_url.removeprefix("http://"), timeout=60)
    text = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    connection.request("POST", "/", text, {"X-Amz-Target": target + operation})
    try:
        return Answer(connection.getresponse())
    finally:
        connection.close()


def test_an_answer_carries_its_checksum_and_the_service_s_time(sim):
    answer = ask(sim, "GetRecords", {"ShardIterator": iterator(sim, "S0")})
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/x-amz-json-1.0"
    assert answer.headers["Date"] == "Sun, 15 Jun 2025 15:06:40 GMT"
    assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
    assert answer.headers["x-amzn-RequestId"]
    assert b'"ApproximateCreationDateTime":1.75E9' in answer.body, "the service's own way to write seconds"


def test_the_date_can_be_ahead_behind_or_absent(sim):
    sim.knobs.skew = 60
    assert ask(sim, "ListStreams").headers["Date"] == "Sun, 15 Jun 2025 15:07:40 GMT"
    sim.knobs.skew = -0.5
    assert ask(sim, "ListStreams").headers["Date"] == "Sun, 15 Jun 2025 15:06:39 GMT"
    sim.clock.advance(0.5)
    assert ask(sim, "ListStreams").headers["Date"] == "Sun, 15 Jun 2025 15:06:40 GMT"
    sim.knobs.date = False
    assert "Date" not in ask(sim, "ListStreams").headers


def test_the_checksum_can_be_wrong_or_absent(sim):
    sim.knobs.crc = "wrong"
    answer = ask(sim, "ListStreams")
    assert int(answer.headers["x-amz-crc32"]) != zlib.crc32(answer.body)
    sim.knobs.crc = "absent"
    assert "x-amz-crc32" not in ask(sim, "ListStreams").headers


def test_errors_have_the_service_s_form(sim):
    answer = ask(sim, "GetRecords", {"ShardIterator": "x"})
    assert answer.status == 400
    assert answer.json == {
        "__type": "com.amazon.coral.validate#ValidationException",
        "message": "Invalid ShardIterator",
    }
    assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
    sim.fault(kind="trimmed")
    assert ask(sim, "ListStreams").json["__type"] == ("com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException")


@pytest.mark.parametrize(
    "target,operation",
    [("DynamoDBStreams_20120810.", "PutRecords"), ("DynamoDB_20120810.", "GetRecords"), ("", "")],
)
def test_other_operations_are_unknown(sim, target, operation):
    answer = ask(sim, operation, target=target)
    assert (answer.status, answer.json["__type"]) == (400, "com.amazon.coral.service#UnknownOperationException")
    assert sim.calls[-1].outcome == "UnknownOperationException"


@pytest.mark.parametrize("target", ["DynamoDB_20120810.", "Kinesis_20131202."])
def test_operations_of_the_service_that_are_not_simulated_are_called_so(sim, target):
    operation = {"DynamoDB_20120810.": "SearchVectors", "Kinesis_20131202.": "CreateChannel"}[target]
    answer = ask(sim, operation, target=target).json
    assert answer["__type"].endswith("UnknownOperationException")
    assert answer["message"] == f"the simulator has no {operation}"


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"StreamArn": }'])
def test_what_is_no_json_is_refused(sim, body):
    assert ask(sim, "DescribeStream", body).json["__type"] == "com.amazon.coral.service#SerializationException"


def test_members_that_lack_are_refused(sim):
    answer = ask(sim, "GetShardIterator", {"StreamArn": sim.stream_arn}).json
    assert answer["__type"] == "com.amazon.coral.validate#ValidationException"
    assert answer["message"] == (
        "2 validation errors detected: "
        "Value null at 'shardId' failed to satisfy constraint: Member must not be null; "
        "Value null at 'shardIteratorType' failed to satisfy constraint: Member must not be null"
    )


@pytest.mark.parametrize(
    "body,words",
    [
        ({"StreamArn": 1}, "NUMBER_VALUE cannot be converted to String"),
        ({"StreamArn": True}, "TRUE_VALUE cannot be converted to String"),
        ({"StreamArn": ["x"]}, "Unrecognized collection type class java.lang.String"),
        ({"StreamArn": "x" * 40, "Limit": "many"}, "STRING_VALUE cannot be converted to Integer"),
        ({"StreamArn": "x" * 40, "Limit": 1.5}, "DECIMAL_VALUE cannot be converted to Integer"),
        ({"StreamArn": "x" * 40, "ShardFilter": "many"}, "Unexpected field type"),
        (
            {"StreamArn": "x" * 40, "ShardFilter": []},
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.ShardFilter",
        ),
    ],
)
def test_members_of_wrong_types_are_refused(sim, body, words):
    answer = ask(sim, "DescribeStream", body).json
    assert answer == {"__type": "com.amazon.coral.service#SerializationException", "message": words}


def test_members_that_nobody_knows_are_let_pass(sim):
    assert ask(sim, "DescribeStream", {"StreamArn": sim.stream_arn, "Later": 1}).status == 200


# -- HTTP


def talk(sim: Simulator, *parts: bytes) -> bytes:
    """Sends raw bytes, and gives all that comes back until the connection ends."""
    port = sim.endpoint_url.rpartition(":")[2]
    with socket.create_connection(("127.0.0.1", int(port)), timeout=60) as connection:
        for part in parts:
            connection.sendall(part.replace(b"PORT", port.encode()))
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
        return received


LIST = b"POST / HTTP/1.1\r\nHOST: 127.0.0.1:PORT\r\nx-AMZ-target: DynamoDBStreams_20120810.ListStreams\r\ncontent-length: 2\r\n"


def test_requests_may_come_in_pieces_or_several_at_once(sim):
    request = LIST + b"\r\n{}"
    assert talk(sim, request[:10], request[10:-1], request[-1:]).count(b"HTTP/1.1 200 OK") == 1
    assert talk(sim, request + request).count(b"HTTP/1.1 200 OK") == 2


def test_a_connection_ends_when_asked_to(sim):
    request = LIST + b"Connection: close\r\n\r\n{}"
    assert talk(sim, request + request).count(b"HTTP/1.1 200 OK") == 1


def test_a_client_that_waits_to_be_asked_for_the_body_is_asked(sim):
    received = talk(sim, LIST + b"Expect: 100-continue\r\n\r\n", b"{}")
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_whoever_looks_whether_it_is_there_finds_it(sim):
    assert talk(sim, b"GET / HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])
def test_whatever_is_asked_has_the_length_that_it_says(sim, method):
    head, _, body = talk(
        sim, f"{method} / HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    ).partition(b"\r\n\r\n")
    [length] = re.findall(rb"Content-Length: (\d+)", head)
    assert int(length) == len(body) or (method == "HEAD" and not body)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: %b\r\n\r\n" % (b"9" * 5000),
        b"x" * 100_000,
    ],
)
def test_what_is_not_our_http_is_turned_away(sim, request_bytes):
    assert talk(sim, request_bytes).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert ask(sim, "ListStreams").status == 200


def test_a_body_that_is_too_long_is_told_so(sim):
    told = talk(sim, b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 413 Request Entity Too Large\r\n")


@pytest.mark.parametrize("request_bytes", [b"", b"POST / HTTP", LIST + b"\r\n{"])
def test_a_client_that_goes_away_is_let_go(sim, request_bytes):
    assert talk(sim, request_bytes) == b""
    assert ask(sim, "ListStreams").status == 200


def test_a_mistake_within_the_simulator_is_answered_and_logged(sim, caplog, monkeypatch):
    sim.put("S0", key="a")
    client, start = sim.client(), iterator(sim, "S0")
    with monkeypatch.context() as broken:
        broken.setitem(vars(sim.knobs), "page_bytes", "many")
        with refused("InternalServerError", "GetRecords: TypeError"):
            client.get_records(ShardIterator=start)
    assert len(client.get_records(ShardIterator=start)["Records"]) == 2
    assert [call.outcome for call in sim.calls.of("GetRecords")] == ["InternalServerError", "ok"]
    assert "DynamoDBStreams_20120810.GetRecords failed" in caplog.text


@pytest.mark.parametrize("shape", ["", "S0,", "S0 =>"])
def test_a_shape_that_is_none_is_refused_when_it_is_set(sim, shape):
    with pytest.raises(ValueError, match="."):
        sim.knobs.starting_shape = shape


def test_names_and_accounts_that_no_arn_can_hold_are_refused():
    for wrong in ({"account": "12"}, {"region": "a/b"}, {"table": "ab"}, {"table": "a b c"}):
        with pytest.raises(ValueError, match="account has 12 digits|table's name has"):
            Simulator(**wrong)


@pytest.mark.parametrize(
    "operation, body",
    [
        ("DescribeTable", {"TableName": "users", "Later": {"N": "x"}}),
        ("BatchWriteItem", {"RequestItems": {"users": [{"PutRequest": {"Item": {"id": {"S": "a"}}}, "Later": 1}]}}),
        ("BatchWriteItem", {"RequestItems": {"users": [{"PutRequest": {"Item": {"id": {"S": "a"}}, "Later": {}}}]}}),
        (
            "BatchWriteItem",
            {"RequestItems": {"users": [{"DeleteRequest": {"Key": {"id": {"S": "a"}}}, "PutRequest": None}]}},
        ),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Put": {"TableName": "users", "Item": {"id": {"S": "a"}}}, "Later": 1}]},
        ),
        ("PutItem", {"TableName": "users", "Item": {"id": {"S": "a", "N": None}}, "ReturnValues": None}),
    ],
)
def test_tables_let_unknown_members_and_nulls_pass_too(sim, operation, body):
    assert ask(sim, operation, body, "DynamoDB_20120810.").status == 200
