"""Emulators: PutItem and GetRecords beside ministack and moto's server, raw and by boto3; and a million records."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import Any, NamedTuple

import boto3
from botocore.config import Config

from benchmarks.canned.process import ROOT
from benchmarks.measure import Scale
from benchmarks.results import Result, Row

TITLE = "the simulator beside other emulators: PutItem and GetRecords"
HOST = "127.0.0.1"
RAW_TARGETS = {"GetRecords": 10.0, "PutItem": 2.0}  # times ministack
MOST_MEGABYTES, STEADY = 600.0, 0.9
PAGE, BATCH = 1000, 25

_SIMULATOR = """
import sys, time
from streamiter.testing import RunningClock, Simulator
with Simulator(table=None, ids="service", clock=RunningClock(), port=int(sys.argv[1])):
    time.sleep(86400)
"""
_PEERS = {
    "streamiter": [sys.executable, "-c", _SIMULATOR, "{port}"],
    "ministack": [sys.executable, "-W", "ignore", "-m", "ministack"],
    "moto": [sys.executable, "-m", "moto.server", "-H", HOST, "-p", "{port}"],
}
_TABLE = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


class Server(NamedTuple):
    """An emulator that listens."""

    port: int
    pid: int


Call = Callable[[str, dict[str, Any]], tuple[float, Any]]  # an operation and its body: the seconds it took, the answer


def run(scale: Scale) -> Result:
    """The emulators take turns; each has a table of its own for each run."""
    puts = scale.of(500, 20)
    spent: dict[tuple[str, str, str], list[float]] = {}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(_serving(name)) for name in _PEERS}
        for server in servers.values():
            with _raw(server.port) as call:
                _measure(call, "warm", 20)
        for turn in range(scale.runs):
            for name, server in servers.items():
                for way, connect in (("raw", _raw), ("boto3", _boto)):
                    with connect(server.port) as call:
                        for operation, seconds in _measure(call, f"orders-{way}-{turn}", puts).items():
                            spent.setdefault((operation, way, name), []).append(seconds / puts)
    rows = [
        Row(
            f"{operation}, {way}", peer, ratios, RAW_TARGETS[operation] if (way, peer) == ("raw", "ministack") else None
        )
        for operation in RAW_TARGETS
        for way in ("raw", "boto3")
        for peer in ("ministack", "moto")
        if (ratios := _ratios(spent, operation, way, peer))
    ]
    filled = _fill(scale.of(1_000_000, 10_000))
    first, *_, last = filled["seconds"]
    rows.append(Row("a million records: megabytes", "", [filled["megabytes"]], MOST_MEGABYTES, True, True))
    scanned = "a million records: megabytes after a Scan of all"
    rows.append(Row(scanned, "", [filled["scanned"]], MOST_MEGABYTES, True, True))
    rows.append(Row("a million records: the last writes' rate over the first's", "", [first / last], STEADY))
    rates = {" ".join(key): [1 / seconds for seconds in found] for key, found in spent.items()}
    told = {name: {name: version(name)} for name in ("ministack", "moto")}
    return Result(rows, {"per_second": rates, "filled": filled}, told)


def _ratios(spent: dict[tuple[str, str, str], list[float]], operation: str, way: str, peer: str) -> list[float]:
    ours, theirs = (spent[operation, way, name] for name in ("streamiter", peer))
    return [their / our for our, their in zip(ours, theirs, strict=True)]


def _measure(call: Call, table: str, puts: int) -> dict[str, float]:
    """Seconds for so many PutItem, and for as many records read in pages from the start of the stream."""
    tables, streams = "DynamoDB_20120810.", "DynamoDBStreams_20120810."
    call(f"{tables}CreateTable", {**_TABLE, "TableName": table})
    arn = call(f"{tables}DescribeTable", {"TableName": table})[1]["Table"]["LatestStreamArn"]
    written = sum(call(f"{tables}PutItem", {"TableName": table, "Item": _item(number)})[0] for number in range(puts))
    [shard] = call(f"{streams}DescribeStream", {"StreamArn": arn})[1]["StreamDescription"]["Shards"]
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    at, seconds, found = call(f"{streams}GetShardIterator", place)[1]["ShardIterator"], 0.0, 0
    for _ in range(10 + puts // PAGE):
        took, page = call(f"{streams}GetRecords", {"ShardIterator": at, "Limit": PAGE})
        seconds, found, at = seconds + took, found + len(page["Records"]), page.get("NextShardIterator")
        if found >= puts or at is None:
            break
    assert found == puts, f"{found} records of {puts}"
    return {"PutItem": written, "GetRecords": seconds}


@contextmanager
def _raw(port: int) -> Iterator[Call]:
    """A socket: what is measured is the emulator alone. Where it ends connections, opening the next takes no time."""
    connection = _connected(port)

    def call(target: str, body: dict[str, Any]) -> tuple[float, Any]:
        nonlocal connection
        request = _request(port, target, json.dumps(body).encode())
        began = time.perf_counter()
        connection.sendall(request)
        answer, goes_on = _received(connection)
        took = time.perf_counter() - began
        if not goes_on:
            connection.close()
            connection = _connected(port)
        return took, json.loads(answer)

    try:
        yield call
    finally:
        connection.close()


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection((HOST, port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _request(port: int, target: str, body: bytes) -> bytes:
    service = "dynamodb"
    scope = f"Credential=test/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
    head = (
        f"POST / HTTP/1.1\r\nHost: {HOST}:{port}\r\nX-Amz-Target: {target}\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"Authorization: AWS4-HMAC-SHA256 {scope}\r\nX-Amz-Date: 20260101T000000Z\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _received(connection: socket.socket) -> tuple[bytes, bool]:
    """The body of an answer, and whether the connection goes on."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1 << 20)
    head, _, rest = received.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert b" 200" in lines[0], received[:400]
    length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
    parts, missing = [rest], length - len(rest)
    while missing > 0:
        parts.append(connection.recv(1 << 20))
        missing -= len(parts[-1])
    return b"".join(parts), b"connection: close" not in head.lower() and lines[0].startswith(b"http/1.1")


@contextmanager
def _boto(port: int) -> Iterator[Call]:
    session: Any = boto3.session.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
    )
    config = Config(retries={"max_attempts": 0}, proxies={}, read_timeout=60)
    clients = {
        target: session.client(name, endpoint_url=f"http://{HOST}:{port}", config=config)
        for target, name in (("DynamoDB_20120810", "dynamodb"), ("DynamoDBStreams_20120810", "dynamodbstreams"))
    }

    def call(target: str, body: dict[str, Any]) -> tuple[float, Any]:
        service, _, operation = target.partition(".")
        method = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).lstrip("_")
        began = time.perf_counter()
        answer = getattr(clients[service], method)(**body)
        return time.perf_counter() - began, answer

    yield call


@contextmanager
def _serving(name: str) -> Iterator[Server]:
    """An emulator, on a port of its own, until it is measured."""
    with socket.create_server((HOST, 0)) as listener:
        port = int(listener.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        environment |= {"BIND_HOST": HOST, "GATEWAY_PORT": str(port), "SERVICES": "dynamodb,dynamodbstreams"}
        environment |= {"STATE_DIR": folder, "LOG_LEVEL": "WARNING", "PYTHONPATH": str(ROOT)}
        command = [part.format(port=port) if part == "{port}" else part for part in _PEERS[name]]
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until = time.monotonic() + 60
            while not _listens(port):
                assert process.poll() is None, f"{name} ended at once"
                assert time.monotonic() < until, f"{name} does not listen after a minute"
                time.sleep(0.05)
            yield Server(port, process.pid)
        finally:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def _fill(count: int) -> dict[str, Any]:
    """Writes so many items of 130 bytes to a simulator, and scans them: the megabytes, and the seconds of each tenth."""
    with _serving("streamiter") as server, _raw(server.port) as call:
        call("DynamoDB_20120810.CreateTable", {**_TABLE, "TableName": "orders"})
        seconds = [0.0] * 10
        for start in range(0, count, BATCH):
            writes = [{"PutRequest": {"Item": _item(number)}} for number in range(start, start + BATCH)]
            took, answer = call("DynamoDB_20120810.BatchWriteItem", {"RequestItems": {"orders": writes}})
            assert answer["UnprocessedItems"] == {}
            seconds[start * 10 // count] += took
        filled = _megabytes(server)
        search: dict[str, Any] = {"TableName": "orders"}
        found, more = 0, True
        while more:
            page = call("DynamoDB_20120810.Scan", search)[1]
            found, more = found + page["Count"], "LastEvaluatedKey" in page
            search["ExclusiveStartKey"] = page.get("LastEvaluatedKey")
        assert found == count
        return {"megabytes": filled, "scanned": _megabytes(server), "seconds": seconds}


def _megabytes(server: Server) -> float:
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(server.pid)], capture_output=True, text=True, check=True)
    return int(found.stdout) / 1024


def _item(number: int) -> dict[str, Any]:
    return {"id": {"S": f"key-{number:08d}"}, "text": {"S": "x" * 80}, "n": {"N": str(number)}}
