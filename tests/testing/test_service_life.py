"""The service comes and goes, and so do tables and streams."""

from __future__ import annotations

import socket
import threading
from datetime import UTC, datetime

import pytest

from streamiter.testing import Simulator
from streamiter.testing.http.server import Server
from tests.testing.readers import iterator, list_rows, listed, read, refused


def simulator_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("simulator")]


def test_nothing_is_left_after_close():
    sim = Simulator("S0")
    client = sim.client()
    client.describe_stream(StreamArn=sim.stream_arn)
    idle = socket.create_connection(("127.0.0.1", int(sim.endpoint_url.rpartition(":")[2])))
    assert simulator_threads()
    sim.close()
    sim.close()
    assert not simulator_threads()
    assert idle.recv(1) == b""
    idle.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(sim.endpoint_url.rpartition(":")[2])))
    client.close()


def test_close_ends_calls_that_hang_or_take_long():
    sim = Simulator("S0")
    sim.fault("DescribeStream", kind="hang", times=None)
    sim.knobs.latency = {"ListStreams": 1000}
    clients = [sim.client(), sim.client()]

    def call(operation: str, **request: object) -> None:
        try:
            getattr(clients.pop(), operation)(**request)
        except Exception:
            return

    callers = [
        threading.Thread(target=call, args=("describe_stream",), kwargs={"StreamArn": sim.stream_arn}),
        threading.Thread(target=call, args=("list_streams",)),
    ]
    for caller in callers:
        caller.start()
    while len(sim.calls) < 2:
        callers[0].join(0.01)
    sim.close()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
    assert not simulator_threads()


def test_close_waits_for_a_connection_that_is_about_to_end(monkeypatch):
    left, may_end = threading.Event(), threading.Event()
    serve = Server._serve

    def linger(server: Server, connection: socket.socket) -> None:
        serve(server, connection)
        left.set()
        may_end.wait()

    monkeypatch.setattr(Server, "_serve", linger)
    sim = Simulator("S0")
    socket.create_connection(("127.0.0.1", int(sim.endpoint_url.rpartition(":")[2]))).close()
    left.wait()
    closing = threading.Thread(target=sim.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    may_end.set()
    closing.join()
    assert not simulator_threads()


def test_it_listens_on_loopback_alone_each_on_a_port_of_its_own(sim):
    with Simulator() as other:
        assert sim.endpoint_url != other.endpoint_url
        assert sim.endpoint_url.startswith("http://127.0.0.1:")


def test_the_environment_s_proxies_are_not_asked(sim, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert sim.client().list_streams()["Streams"]


def test_a_table_name_resolves_to_its_latest_stream(sim):
    table = sim.client("dynamodb").describe_table(TableName="users")["Table"]
    assert table["LatestStreamArn"] == sim.stream_arn
    assert table["LatestStreamLabel"] == "2025-06-15T15:06:40.000"
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    by_arn = sim.client("dynamodb").describe_table(TableName=sim.table_arn)["Table"]
    assert by_arn["TableName"] == "users"
    assert sim.calls[-1].table == "users"


def test_a_table_without_a_stream_names_none(sim):
    plain = sim.create_table("plain", stream=False)
    table = sim.client("dynamodb").describe_table(TableName="plain")["Table"]
    assert not {"LatestStreamArn", "StreamSpecification"} & table.keys()
    assert plain.stream_arns == []
    with pytest.raises(LookupError, match="no stream"):
        plain.put("S0")


def test_an_unknown_table_is_not_found(sim):
    with refused("ResourceNotFoundException"):
        sim.client("dynamodb").describe_table(TableName="nobody")


def test_tables_are_listed_by_pages(sim):
    for name in ("orders", "visits"):
        sim.create_table(name)
    pages = sim.client("dynamodb").get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
    assert [page["TableNames"] for page in pages] == [["orders", "users"], ["visits"]]
    with pytest.raises(ValueError, match="already"):
        sim.create_table("orders")


def test_streams_are_listed_by_table_and_by_pages(sim):
    orders = sim.create_table("orders", "S0")
    client = sim.client()
    rows = client.list_streams()["Streams"]
    assert [(row["TableName"], row["StreamArn"]) for row in rows] == [
        ("orders", orders.stream_arn),
        ("users", sim.stream_arn),
    ]
    assert rows[1]["StreamLabel"] == "2025-06-15T15:06:40.000"
    assert [row["TableName"] for row in client.list_streams(TableName="orders")["Streams"]] == ["orders"]
    first = client.list_streams(Limit=1)
    assert first["LastEvaluatedStreamArn"] == orders.stream_arn
    second = client.list_streams(Limit=1, ExclusiveStartStreamArn=orders.stream_arn)
    assert [row["TableName"] for row in second["Streams"]] == ["users"]
    assert "LastEvaluatedStreamArn" not in second
    assert client.list_streams(TableName="nobody")["Streams"] == []


def test_tables_do_not_share_shards_or_history(sim):
    orders = sim.create_table("orders", "S0", hash_key="order")
    sim.shape("S0")
    sim.put("S0", key="user")
    orders.put("S0", key=7)
    assert [record.key for record in sim.history] == [{"id": "user"}]
    assert [record.key for record in orders.history] == [{"order": 7}]
    assert read(sim, "S0") == ["user"]


def test_a_description_tells_about_the_stream(sim):
    description = sim.client().describe_stream(StreamArn=sim.stream_arn)["StreamDescription"]
    assert description["StreamStatus"] == "ENABLED"
    assert description["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert description["TableName"] == "users"
    assert description["KeySchema"] == [{"AttributeName": "id", "KeyType": "HASH"}]
    assert description["CreationRequestDateTime"] == datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)
    assert description["Shards"] == []


def status(sim: Simulator, arn: str) -> str:
    return sim.client().describe_stream(StreamArn=arn)["StreamDescription"]["StreamStatus"]


def test_disabling_closes_all_shards_and_leaves_them_readable_for_a_day(sim):
    sim.shape("S0 ~ S1")
    sim.put("S0", key="a")
    sim.disable(takes=5)
    arn = sim.stream_arn
    assert status(sim, arn) == "DISABLING"
    sim.clock.advance(5)
    assert status(sim, arn) == "DISABLED"
    assert all("EndingSequenceNumber" in row["SequenceNumberRange"] for row in list_rows(sim))
    assert read(sim, "S0") == ["a"]
    table = sim.client("dynamodb").describe_table(TableName="users")["Table"]
    assert table["LatestStreamArn"] == arn
    assert "StreamSpecification" not in table
    sim.clock.advance(hours=24)
    with refused("ResourceNotFoundException"):
        status(sim, arn)
    assert sim.client().list_streams()["Streams"] == []


def test_enabling_again_gives_another_stream(sim):
    sim.shape("S0")
    sim.put("S0", key="old")
    old = sim.stream_arn
    sim.disable()
    new = sim.enable("S0", view="KEYS_ONLY", takes=10)
    assert new == sim.stream_arn != old
    assert sim.stream_arns == [old, new]
    assert status(sim, new) == "ENABLING"
    assert listed(sim) == []
    with refused("ResourceNotFoundException"):
        iterator(sim, "S0")
    sim.clock.advance(10)
    assert status(sim, new) == "ENABLED"
    assert listed(sim) == ["S0"]
    assert read(sim, "S0") == []
    assert status(sim, old) == "DISABLED"
    with pytest.raises(ValueError, match="disable"):
        sim.enable()


@pytest.mark.parametrize("arn", ["x" * 40, "arn:aws:dynamodb:us-east-1:000000000000:table/users", "a\nb" * 20])
def test_a_malformed_arn_is_refused(sim, arn):
    with refused("ValidationException"):
        status(sim, arn)


def test_an_unknown_stream_is_not_found(sim):
    with refused("ResourceNotFoundException"):
        status(sim, sim.stream_arn + "1")


def test_several_things_can_happen_at_once(sim):
    sim.shape("S0")
    shown: list[list[str]] = []
    with sim.at_once():
        caller = threading.Thread(target=lambda: shown.append(listed(sim)))
        caller.start()
        sim.split("S0", "S1", "S2")
        sim.hide("S2")
    caller.join()
    assert shown == [["S0", "S1"]]
