"""HTTP/2 with prior knowledge, spoken by h2's client half: the same calls on the same port, side by side."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes

from streamiter.testing import Simulator
from streamiter.testing.http import server

pytestmark = pytest.mark.outdoors


class Client:
    """A connection; each call is a stream of it."""

    def __init__(self, sim: Simulator, *, window: int = 65535) -> None:
        host, _, port = sim.endpoint_url.removeprefix("http://").partition(":")
        self.host = f"{host}:{port}"
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.h2 = H2Connection(H2Configuration(client_side=True))
        self.h2.initiate_connection()
        self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.answers: dict[int, dict[str, Any]] = {}
        self.ended: list[int] = []
        self.is_over = False
        self.send_out()

    def send_out(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def ask(self, target: str, body: bytes = b"{}", **headers: str) -> int:
        stream = self.h2.get_next_available_stream_id()
        fields = {":method": "POST", ":scheme": "http", ":path": "/", ":authority": self.host, "x-amz-target": target}
        self.h2.send_headers(stream, [*(fields | headers).items()])
        self.answers[stream] = {"status": None, "body": b"", "reset": False}
        place = 0
        while place < len(body):
            if stream in self.ended or self.is_over:
                return stream
            windows = self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size
            room = min(*windows, len(body) - place)
            if not room:
                self.take()
                continue
            self.h2.send_data(stream, body[place : place + room])
            place += room
            self.send_out()
        self.h2.end_stream(stream)
        self.send_out()
        return stream

    def take(self) -> None:
        try:
            received = self.socket.recv(65536)
        except ConnectionResetError:
            received = b""
        self.is_over = self.is_over or not received
        for event in self.h2.receive_data(received):
            if isinstance(event, ResponseReceived):
                self.answers[event.stream_id]["status"] = int(dict(event.headers)[b":status"])
            elif isinstance(event, DataReceived):
                self.answers[event.stream_id]["body"] += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded | StreamReset):
                self.answers[event.stream_id]["reset"] = isinstance(event, StreamReset)
                self.ended.append(event.stream_id)
            elif isinstance(event, ConnectionTerminated):
                self.is_over = True
        if not self.is_over:
            self.send_out()

    def answer(self, stream: int) -> dict[str, Any]:
        while stream not in self.ended:
            assert not self.is_over
            self.take()
        return self.answers[stream]

    def call(self, target: str, **asked: Any) -> Any:
        answer = self.answer(self.ask(target, json.dumps(asked).encode()))
        return json.loads(answer["body"] or b"{}")


@pytest.fixture
def sim():
    with Simulator("S0") as simulator:
        yield simulator


@pytest.fixture
def client(sim: Simulator):
    client = Client(sim)
    yield client
    client.socket.close()


LIST = "DynamoDBStreams_20120810.ListStreams"
DESCRIBE = "DynamoDBStreams_20120810.DescribeStream"


def test_calls_are_answered_beside_http_1(sim: Simulator, client: Client):
    assert client.call(LIST)["Streams"][0]["StreamArn"] == sim.stream_arn
    assert sim.client().list_streams()["Streams"]
    assert client.answer(client.ask(DESCRIBE))["status"] == 400


def test_a_call_that_hangs_holds_up_no_other_on_its_connection(sim: Simulator, client: Client):
    fault = sim.fault("DescribeStream", kind="hang")
    asked = json.dumps({"StreamArn": sim.stream_arn}).encode()
    hanging = client.ask(DESCRIBE, asked)
    assert client.call(LIST)["Streams"]
    assert hanging not in client.ended
    fault.release()
    assert client.answer(hanging)["status"] == 200


@pytest.mark.parametrize("kind", ["cut", "reset"])
def test_an_answer_that_is_lost_resets_its_stream_alone(sim: Simulator, client: Client, kind: Any):
    sim.fault("ListStreams", kind=kind)
    assert client.answer(client.ask(LIST))["reset"] is True
    assert client.call(LIST)["Streams"]


@pytest.mark.parametrize("window", [1, 100, 65535, 1 << 20])
def test_large_requests_and_answers_go_through_windows_of_any_size(sim: Simulator, window: int):
    size = 2000 if window == 1 else 700_000
    stream = sim.create_stream("s", "S0")
    client = Client(sim, window=window)
    body = json.dumps({"StreamName": "s", "PartitionKey": "k", "Data": "A" * size}).encode()
    assert client.answer(client.ask("Kinesis_20131202.PutRecord", body))["status"] == 200
    place = {"StreamName": "s", "ShardId": stream.shard_id("S0"), "ShardIteratorType": "TRIM_HORIZON"}
    iterator = client.call("Kinesis_20131202.GetShardIterator", **place)["ShardIterator"]
    page = client.call("Kinesis_20131202.GetRecords", ShardIterator=iterator)
    assert page["Records"][0]["Data"] == "A" * size
    client.socket.close()


def test_a_client_that_says_goodbye_gets_the_answers_under_way(sim: Simulator):
    client = Client(sim)
    fault = sim.fault("ListStreams", kind="hang")
    stream = client.ask(LIST)
    client.socket.sendall(b"\0\0\x08\x07\0\0\0\0\0" + bytes(8))  # GOAWAY, without an error
    client.h2.ping(b"12345678")
    client.send_out()
    fault.release()
    assert client.answer(stream)["status"] == 200
    client.socket.close()


def test_a_foreign_host_is_refused_here_too(sim: Simulator, client: Client):
    answer = client.answer(client.ask(LIST, **{":authority": "evil.example"}))
    assert answer["status"] == 403
    answer = client.answer(client.ask(LIST, origin="http://evil.example"))
    assert answer["status"] == 403


def test_a_body_that_is_too_long_is_refused_and_what_is_no_http_2_ends(sim: Simulator, client: Client):
    assert client.answer(client.ask(LIST, b"x" * (17 << 20)))["reset"] is True
    assert client.call(LIST)["Streams"]
    broken = Client(sim)
    broken.socket.sendall(b"\xff" * 100)
    while not broken.is_over:
        broken.take()
    broken.socket.close()


def test_without_the_package_it_says_how_to_get_it(
    sim: Simulator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(server, "has_http2", lambda: False)
    client = Client(sim)
    while not client.is_over:
        client.take()
    client.socket.close()
    assert "h2 is not installed; to get it: " in caplog.text
    assert sim.client().list_streams()["Streams"], "HTTP/1.1 is spoken all the same"


def test_many_calls_at_once_are_all_answered(sim: Simulator, client: Client):
    streams = [client.ask(LIST) for _ in range(100)]
    assert {client.answer(stream)["status"] for stream in streams} == {200}


def test_close_ends_calls_that_hang():
    sim = Simulator("S0")
    client = Client(sim)
    sim.fault("ListStreams", kind="hang", times=None)
    sim.knobs.latency = {"DescribeStream": 1000}
    client.ask(LIST), client.ask(DESCRIBE)
    while len(sim.calls) < 2:
        threading.Event().wait(0.01)
    sim.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("simulator")]
    client.socket.close()
