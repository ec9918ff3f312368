"""What reads a stream reads a log: async streams, tables, the command line, processors, and models."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamiter import App, AsyncStream, LogRecord, Stream
from streamiter.app.events import GapStands
from streamiter.cli.catalogue import streamiter
from streamiter.log import Entry, SqliteLog
from streamiter.store import Table, open_store

COUNT = 30


@dataclass
class Order:
    order_id: int
    total: float


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    log = SqliteLog(tmp_path / "orders.db", "orders")
    log.grow(4)
    for number in range(COUNT):
        payload = json.dumps({"order_id": number, "total": number / 2}).encode()
        headers = (("source", b"shop"), ("odd", b"\xff")) if number == 3 else ()
        log.append(number % 4, [Entry(payload, b"customer-%d" % (number % 5), headers)])
    return log


@pytest.fixture
def url(log: SqliteLog, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'orders.db'}?topic=orders"


def test_a_stream_reads_it_by_its_url_and_goes_on_from_a_token(url):
    with Stream(url) as stream:
        first = [next(stream) for _ in range(10)]
        token = json.loads(json.dumps(stream.token))
    with Stream(url, token) as stream:
        rest = list(stream.follow(until="caught_up"))
    numbers = [json.loads(record.payload)["order_id"] for record in (*first, *rest)]
    assert numbers == list(range(COUNT)) and all(type(record) is LogRecord for record in rest)


def test_a_token_costs_little(url):
    with Stream(url) as stream:
        list(stream.follow(until="caught_up"))
        assert len(json.dumps(stream.token)) < 150 + 4 * 100


def test_an_async_stream_reads_it(log):
    async def read() -> list[LogRecord[Order]]:
        async with AsyncStream(log, model=Order) as stream:
            return [record async for record in stream.follow(until="caught_up")]

    assert [record.payload.order_id for record in asyncio.run(read())] == list(range(COUNT))


def test_tables_have_its_columns(url):
    with Stream(url) as stream:
        table = stream.to_arrow()
    assert table.column_names[-3:] == ["key", "payload", "headers"] and table.num_rows == COUNT
    row = table.slice(3, 1).to_pylist()[0]
    assert row["key"] == b"customer-3" and json.loads(row["payload"])["order_id"] == 3
    assert json.loads(row["headers"]) == [{"name": "source", "value": "shop"}, {"name": "odd", "base64": "/w=="}]
    assert table.slice(4, 1).to_pylist()[0]["headers"] is None


def test_tables_have_the_payload_whatever_a_model_made_of_it(log):
    with Stream(log, model=Order) as stream:
        assert json.loads(stream.to_arrow().slice(7, 1).to_pylist()[0]["payload"])["order_id"] == 7


def command(*arguments: object) -> str:
    """A command's output."""
    done = CliRunner().invoke(streamiter, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


ALL = ("--from", "trim_horizon", "--until", "caught_up")


def test_tail_prints_it(url):
    lines = [json.loads(line) for line in command("tail", url, *ALL, "--json").splitlines()]
    assert [line["sequence_number"] for line in lines[:5]] == ["1", "1", "1", "1", "2"]
    assert "customer-3" in command("tail", url, *ALL)
    where = ("--where", "key = customer-2 and payload.total > 5")
    assert len(command("tail", url, *ALL, "--json", *where).splitlines()) == 4  # 12, 17, 22 and 27


def test_shards_and_doctor_tell_of_it(url):
    assert "4 shards" in command("shards", url)
    assert "until they are trimmed" in " ".join(command("doctor", url).split())


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_it_is_exported(url, tmp_path, kind):
    assert f"{COUNT} records" in command("export", url, "--to", tmp_path / "out", "--format", kind)
    (written,) = (tmp_path / "out").glob(f"*.{kind}")
    if kind == "jsonl":
        rows = [json.loads(line) for line in written.read_text().splitlines()]
        assert len(rows) == COUNT and rows[3]["headers"][0] == {"name": "source", "value": "shop"}


@pytest.mark.parametrize("order", ["shard", "key", "total"])
def test_processors_read_it(url, tmp_path, order):
    app = App("shop", store=f"sqlite:///{tmp_path / 'shop.db'}")
    seen: list[tuple[bytes | None, int]] = []

    @app.processor(url, order=order, model=Order, where=lambda record: record.key != b"customer-0")
    def count(record: LogRecord[Order]) -> None:
        seen.append((record.key, record.payload.order_id))
        if len(seen) == COUNT * 4 // 5:
            app.stop()

    app.run()
    wanted = [(b"customer-%d" % (number % 5), number) for number in range(COUNT) if number % 5]
    assert sorted(seen) == sorted(wanted)
    if order == "total":
        assert seen == wanted
    if order == "key":
        for key in {key for key, _ in seen}:
            of_shard = [[n for k, n in seen if k == key and n % 4 == shard] for shard in range(4)]
            assert all(numbers == sorted(numbers) for numbers in of_shard)


def test_a_processor_gets_values(url, tmp_path):
    app = App("shop", store=f"sqlite:///{tmp_path / 'shop.db'}")
    seen: list[int] = []

    @app.processor(url, model=Order)
    def count(value: Order) -> None:
        seen.append(value.order_id)
        if len(seen) == COUNT:
            app.stop()

    app.run()
    assert sorted(seen) == list(range(COUNT))


def test_a_lease_that_read_nothing_tells_what_it_lost(log, url, tmp_path):
    for partition in range(4):
        log.trim(partition, (log.ends(partition).last or 0) + 1)

    def run(done) -> None:
        """Runs an app until that is so."""
        store = f"sqlite:///{tmp_path / 'shop.db'}"
        app = App("shop", store=store, failover=1.0, on_event=lambda event: events.append(event))

        @app.processor(url)
        def count(record: LogRecord) -> None:
            seen.append(record.shard_id)

        @app.timer(0.05)
        def look() -> None:
            with open_store(store) as rows:
                if done([row.fields["checkpoint"] for row in rows.scan(Table("leases", "shop", "count"))]):
                    app.stop()

        app.run()

    events: list[object] = []
    seen: list[str] = []
    run(lambda places: len(places) == 4 and "TRIM_HORIZON" not in places)
    log.append(2, [Entry(b"lost")])
    log.trim(2, 1000)
    log.append(1, [Entry(b"held")])
    run(lambda _: seen == ["1"] and any(isinstance(event, GapStands) and event.lease == "2" for event in events))


def test_workers_and_streams_hand_over_to_each_other(log, url, tmp_path):
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    app = App("shop", store=store)
    seen: list[int] = []

    @app.processor(url)
    def count(record: LogRecord) -> None:
        seen.append(json.loads(record.payload)["order_id"])
        if len(seen) == COUNT:
            app.stop()

    with Stream(url) as stream:
        first = [json.loads(next(stream).payload)["order_id"] for _ in range(2)]  # nothing of two partitions yet
        token = json.loads(json.dumps(stream.token))
    app.seed("count", token)
    seen += first
    app.run()
    assert sorted(seen) == list(range(COUNT))
    log.append(1, [Entry(b"{}")])
    with Stream(url, app.token("count")) as stream:
        assert [record.payload for record in stream.follow(until="caught_up")] == [b"{}"]
