"""Emulators: PutItem and GetRecords beside ministack and moto's server, raw and by boto3; and a million records.

Each server is a process of its own. The raw client is another, and does the same for all: it sends requests whose bytes were
made before, over one connection or four that are kept alive, receives as many bytes as Content-Length says, and decodes
nothing. So the time is the server's, the kernel's, and what little such a client needs (`client_microseconds` says how much).
Four connections keep a server busy while the client works; with one, server and client wait for each other. The CPU time is
that of the server's process alone.

A call is a PutItem of a new item of 130 bytes in a table with a stream, or a GetRecords of 1,000 of the records that these
wrote: the same item and the same number of records for each server, and it is checked that they tell of the same changes. A
backlog is read page by page from its start, each page from where the one before it ended.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import boto3
from botocore.config import Config

from benchmarks.emulators.raw import Exchange, RawClient, raw_client
from benchmarks.emulators.serving import EMULATORS, HOST, Server, serving
from benchmarks.measure import Scale
from benchmarks.results import Result, Row

TITLE = "the simulator beside other emulators: PutItem and GetRecords"
RAW_TARGETS = {"GetRecords": 10.0, "PutItem": 2.0}  # times ministack
MOST_MEGABYTES, STEADY = 600.0, 0.9
PAGE, BATCH = 1000, 25
CONNECTIONS = (1, 4)
RAW = tuple(f"raw, {count} connection{'s' * (count > 1)}" for count in CONNECTIONS)
BACKLOG = "GetRecords of a backlog"

_TABLES, _STREAMS = "DynamoDB_20120810.", "DynamoDBStreams_20120810."
_TABLE = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}

Call = Callable[[str, dict[str, Any]], Any]  # an operation and its body: the answer


class Spent(NamedTuple):
    """Seconds that a call took."""

    seconds: float
    cpu_seconds: float  # of the server
    client_seconds: float  # CPU time of the client


Found = dict[tuple[str, str, str], list[Spent]]  # by operation, way and emulator


class Sizes(NamedTuple):
    """How much of each is done in a turn."""

    puts: int
    reads: int  # of the same page
    backlog: int  # records


def run(scale: Scale) -> Result:
    """The emulators take turns; each has a table of its own for each run."""
    sizes = Sizes(scale.of(PAGE, 20), scale.of(20, 2), scale.of(20_000, 50))
    found: Found = defaultdict(list)
    with ExitStack() as stack:
        client = stack.enter_context(raw_client())
        servers = {name: stack.enter_context(serving(name)) for name in EMULATORS}
        trials = {name: Trial(name, server, client) for name, server in servers.items()}
        for trial in trials.values():
            trial.fill_backlog(sizes.backlog)
            trial.measure("warm", Sizes(20, 2, sizes.backlog), defaultdict(list))
        for turn in range(scale.runs):
            for trial in trials.values():
                trial.measure(f"orders-{turn}", sizes, found)
        told = {tuple(trial.told) for trial in trials.values()}
        assert len(told) == 1, f"the emulators tell of different changes: {told}"
    rows = list(_rows(found))
    filled = _fill(scale.of(1_000_000, 10_000))
    steadiness, by_cpu = ([filled[name][0] / filled[name][-1]] for name in ("seconds", "cpu_seconds"))
    for what, megabytes in (("memory", filled["megabytes"]), ("memory after a Scan of all", filled["scanned"])):
        asked = f"{MOST_MEGABYTES:.0f} MB"
        rows.append(Row(f"a million records: {what}", asked, [megabytes / MOST_MEGABYTES], 1.0, True, True))
    rows.append(Row("a million records: the last writes' rate over the first's", "", steadiness, STEADY, by_cpu=by_cpu))
    measured = {
        f"{member.removesuffix('seconds')}microseconds": {
            ", ".join(key): [getattr(one, member) * 1e6 for one in spent] for key, spent in found.items()
        }
        for member in Spent._fields
    }
    versions = {name: {name: version(name)} for name in ("ministack", "moto")}
    return Result(rows, {**measured, "filled": filled}, versions)


def _rows(found: Found) -> Iterator[Row]:
    for operation in ("PutItem", "GetRecords", BACKLOG):
        for way in (*RAW, "boto3"):
            for peer in ("ministack", "moto"):
                if (operation, way, peer) not in found:
                    continue
                pairs = list(zip(found[operation, way, "streamiter"], found[operation, way, peer], strict=True))
                target = RAW_TARGETS[operation.split()[0]] if way in RAW and peer == "ministack" else None
                by_time = [theirs.seconds / ours.seconds for ours, theirs in pairs]
                by_cpu = [theirs.cpu_seconds / ours.cpu_seconds for ours, theirs in pairs]
                yield Row(f"{operation}, {way}", peer, by_time, target, by_cpu=by_cpu)


class Trial:
    """One emulator, and what is done with it."""

    def __init__(self, name: str, server: Server, client: RawClient) -> None:
        self._name = name
        self._server = server
        self._client = client
        self._backlog: str | None = None  # its stream's ARN
        self.told: list[str] = []  # the changes of the last page that was read

    def fill_backlog(self, count: int) -> None:
        """Writes the records of a backlog. moto takes a second for a page: it has none."""
        if self._name == "moto":
            return
        self._backlog = self._make("backlog")
        batches = [{"RequestItems": {"backlog": writes}} for writes in _batches(count)]
        self._client.write(self._server.port, f"{_TABLES}BatchWriteItem", list(map(_json, batches)), 1)

    def measure(self, table: str, sizes: Sizes, found: Found) -> None:
        """A turn of it."""
        for way, connections in zip(RAW, CONNECTIONS, strict=True):
            note = partial(self._note, found, way)
            self._measure_raw(f"{table}-raw-{connections}", sizes, connections, note)
            if self._backlog is not None:
                self._measure_backlog(sizes, connections, note)
        with _boto(self._server.port) as call:
            self._measure_boto(f"{table}-boto3", sizes, call, partial(self._note, found, "boto3"))

    def _measure_raw(self, table: str, sizes: Sizes, connections: int, note: Callable[..., Any]) -> None:
        arn = self._make(table)
        puts = [_json({"TableName": table, "Item": _item(number)}) for number in range(sizes.puts)]
        note(
            "PutItem", sizes.puts, lambda: self._client.write(self._server.port, f"{_TABLES}PutItem", puts, connections)
        )
        page = [_json({"ShardIterator": self._iterator(arn), "Limit": PAGE})] * sizes.reads
        asked = f"{_STREAMS}GetRecords"
        found = note("GetRecords", sizes.reads, lambda: self._client.write(self._server.port, asked, page, connections))
        self.told = sorted(_changes(found.bodies[-1]))
        assert len(self.told) == sizes.puts
        assert all(body.count(b'"eventID"') == sizes.puts for body in found.bodies)

    def _measure_backlog(self, sizes: Sizes, connections: int, note: Callable[..., Any]) -> None:
        assert self._backlog is not None
        pages = -(-sizes.backlog // PAGE)
        starts = [self._iterator(self._backlog) for _ in range(connections)]
        asked = f"{_STREAMS}GetRecords"
        found = note(
            BACKLOG, pages * connections, lambda: self._client.read(self._server.port, asked, starts, PAGE, pages)
        )
        assert sum(body.count(b'"eventID"') for body in found.bodies) == sizes.backlog * connections

    def _measure_boto(self, table: str, sizes: Sizes, call: Call, note: Callable[..., Any]) -> None:
        arn = self._make(table)

        def put() -> None:
            for number in range(sizes.puts):
                call(f"{_TABLES}PutItem", {"TableName": table, "Item": _item(number)})

        def read() -> None:
            for _ in range(sizes.reads):
                page = call(f"{_STREAMS}GetRecords", {"ShardIterator": at, "Limit": PAGE})
                assert len(page["Records"]) == sizes.puts

        note("PutItem", sizes.puts, put)
        at = self._iterator(arn)
        note("GetRecords", sizes.reads, read)

    def _note(self, found: Found, way: str, operation: str, calls: int, do: Callable[[], Any]) -> Any:
        """Does it, and notes what each call took."""
        before, began, began_cpu = self._server.cpu_seconds, time.perf_counter(), time.process_time()
        done = do()
        spent = time.perf_counter() - began, self._server.cpu_seconds - before, time.process_time() - began_cpu
        if isinstance(done, Exchange):  # then the client is not this process
            spent = done.seconds, spent[1], done.cpu_seconds
        found[operation, way, self._name].append(Spent(*(seconds / calls for seconds in spent)))
        return done

    def _make(self, table: str) -> str:
        """A table; its stream's ARN."""
        self._call(f"{_TABLES}CreateTable", {**_TABLE, "TableName": table})
        arn: str = self._call(f"{_TABLES}DescribeTable", {"TableName": table})["Table"]["LatestStreamArn"]
        return arn

    def _iterator(self, arn: str) -> str:
        [shard] = self._call(f"{_STREAMS}DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
        place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator: str = self._call(f"{_STREAMS}GetShardIterator", place)["ShardIterator"]
        return iterator

    def _call(self, target: str, body: dict[str, Any]) -> Any:
        return json.loads(self._client.write(self._server.port, target, [_json(body)], 1).bodies[0])


@contextmanager
def _boto(port: int) -> Iterator[Call]:
    session: Any = boto3.session.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
    )
    config = Config(retries={"max_attempts": 0}, proxies={}, read_timeout=60)
    clients = {
        target: session.client(name, endpoint_url=f"http://{HOST}:{port}", config=config)
        for target, name in ((_TABLES, "dynamodb"), (_STREAMS, "dynamodbstreams"))
    }

    def call(target: str, body: dict[str, Any]) -> Any:
        service, dot, operation = target.partition(".")
        method = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).lstrip("_")
        return getattr(clients[service + dot], method)(**body)

    yield call


def _changes(page: bytes) -> Iterator[str]:
    """What a page tells, but for what each emulator makes up by itself: ids, numbers and times."""
    for record in json.loads(page)["Records"]:
        told = record["dynamodb"]
        yield json.dumps([record["eventName"], told["Keys"], told["NewImage"], told.get("OldImage")], sort_keys=True)


def _fill(count: int) -> dict[str, Any]:
    """Writes so many items of 130 bytes to a simulator, and scans them: the megabytes, and the seconds of each tenth."""
    with serving("streamiter") as server, raw_client() as client:

        def ask(operation: str, *bodies: dict[str, Any]) -> tuple[float, list[Any]]:
            found = client.write(server.port, f"{_TABLES}{operation}", list(map(_json, bodies)), 1)
            return found.seconds, list(map(json.loads, found.bodies))

        ask("CreateTable", {**_TABLE, "TableName": "orders"})
        seconds, cpu_seconds = [], []
        for tenth in range(10):
            batches = _batches(count // 10, count * tenth // 10)
            before = server.cpu_seconds
            took, answers = ask("BatchWriteItem", *({"RequestItems": {"orders": writes}} for writes in batches))
            assert all(answer["UnprocessedItems"] == {} for answer in answers)
            seconds.append(took)
            cpu_seconds.append(server.cpu_seconds - before)
        filled = server.megabytes
        search: dict[str, Any] = {"TableName": "orders"}
        found, more = 0, True
        while more:
            [page] = ask("Scan", search)[1]
            found, more = found + page["Count"], "LastEvaluatedKey" in page
            search["ExclusiveStartKey"] = page.get("LastEvaluatedKey")
        assert found == count
        return {"megabytes": filled, "scanned": server.megabytes, "seconds": seconds, "cpu_seconds": cpu_seconds}


def _batches(count: int, start: int = 0) -> Iterator[list[dict[str, Any]]]:
    """The writes of so many items, as BatchWriteItem takes them."""
    for first in range(start, start + count, BATCH):
        numbers = range(first, min(first + BATCH, start + count))
        yield [{"PutRequest": {"Item": _item(number)}} for number in numbers]


def _item(number: int) -> dict[str, Any]:
    return {"id": {"S": f"key-{number:08d}"}, "text": {"S": "x" * 80}, "n": {"N": str(number)}}


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()
