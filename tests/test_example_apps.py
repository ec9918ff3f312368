"""docs/examples: the apps, each in processes of its own against a simulated service, killed and stopped."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from streamiter.testing import RunningClock, Simulator
from tests.stream.helpers import soon
from tests.test_examples import EXAMPLES, ROOT, make_table, order

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None, ids="service", clock=RunningClock()) as sim:
        yield sim


@pytest.fixture
def start(sim: Simulator, tmp_path: Path) -> Iterator[Start]:
    """Starts a program; what still runs in the end is killed."""
    processes: list[subprocess.Popen[str]] = []

    def start(name: str, *words: str, **settings: object) -> subprocess.Popen[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "PYTHONPATH": str(ROOT / "tests/docs_guard"),
            "AWS_ENDPOINT_URL": sim.endpoint_url,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "FAILOVER": "1",
        } | {key: str(value) for key, value in settings.items()}
        command = [sys.executable, "-P", str(EXAMPLES / name), *words]
        with open(tmp_path / "out.txt", "a") as out, open(tmp_path / "log.txt", "a") as log:
            process = subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, stdout=out, stderr=log)
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def rows(path: Path, asked: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path, timeout=30)) as db:
        try:
            return db.execute(asked).fetchall()
        except sqlite3.OperationalError:  # the table is not there yet
            return []


def test_the_audit_log_has_each_change_once_and_in_order_though_its_workers_are_killed(sim, start, tmp_path):
    make_table(sim, "orders", "id", stream=True)
    for number in range(120):
        order(sim, number, "ann")
    logged = lambda: rows(tmp_path / "audit.db", "SELECT key FROM audit ORDER BY rowid")  # noqa: E731
    first, standby = start("audit_to_sqlite.py"), start("audit_to_sqlite.py")
    soon(lambda: len(logged()) > 0)
    first.kill()
    for number in range(120, 240):
        order(sim, number, "ann")
    soon(lambda: len(logged()) > 120)
    standby.kill()
    last = start("audit_to_sqlite.py")
    soon(lambda: len(logged()) >= 240)
    stop(last)
    assert logged() == [(repr(dict(record.key)),) for record in sim.table("orders").history]


def test_the_index_finds_what_the_table_holds(sim, start, tmp_path):
    make_table(sim, "products", "id", stream=True)
    table = sim.client("dynamodb")

    def put(row_id: str, name: str, price: str = "1") -> None:
        table.put_item(TableName="products", Item={"id": {"S": row_id}, "name": {"S": name}, "price": {"N": price}})

    put("p1", "acacia honey")
    put("p2", "wild rice")
    put("p1", "acacia honey", price="2")
    put("p2", "brown rice")
    put("p3", "rice wine")
    process = start("search_index.py")
    names = lambda: rows(tmp_path / "index.db", "SELECT id, name FROM products ORDER BY id")  # noqa: E731
    soon(lambda: names() == [("p1", "acacia honey"), ("p2", "brown rice"), ("p3", "rice wine")])
    table.delete_item(TableName="products", Key={"id": {"S": "p3"}})
    soon(lambda: names() == [("p1", "acacia honey"), ("p2", "brown rice")])
    stop(process)


def test_the_report_is_the_leader_s_and_counts_each_order_once(sim, start, tmp_path):
    make_table(sim, "orders", "id", stream=True)
    for number in range(60):
        order(sim, number, f"customer {number % 3}")
    report = lambda: rows(tmp_path / "shop.db", "SELECT text FROM report")  # noqa: E731
    first, second = start("leader_report.py", EVERY=0.2), start("leader_report.py", EVERY=0.2)
    wanted = [("\n".join(f"customer {number}: 20" for number in range(3)),)]
    soon(lambda: report() == wanted)
    first.kill()
    for number in range(60, 90):
        order(sim, number, f"customer {number % 3}")
    wanted = [("\n".join(f"customer {number}: 30" for number in range(3)),)]
    soon(lambda: report() == wanted)
    stop(second)
    counts = Counter(dict(rows(tmp_path / "shop.db", "SELECT customer, orders FROM counts")))
    assert counts.total() == 90


class Hook(BaseHTTPRequestHandler):
    """Refuses order 7 for as long as it is told to, and each other order the first time that it comes."""

    calls: ClassVar[list[tuple[str, str]]] = []  # idempotency key, order
    refuses: ClassVar[set[str]] = set()

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Idempotency-Key"]
        is_first = key not in {known for known, _ in self.calls}
        self.calls.append((key, told["order"]))
        self.send_response(503 if is_first or told["order"] in self.refuses else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hook() -> Iterator[str]:
    Hook.calls.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/orders"
        server.shutdown()
        thread.join()


def test_a_webhook_gets_each_order_and_what_it_refuses_is_kept(sim, start, tmp_path, hook):
    make_table(sim, "orders", "id", stream=True)
    for number in range(20):
        order(sim, number, f"customer {number % 4}")
    ids = [record.key["id"] for record in sim.table("orders").history]
    Hook.refuses = {ids[7]}
    dead = lambda: rows(tmp_path / "dead.db", "SELECT content, error FROM dead")  # noqa: E731
    first = start("webhook.py", HOOK=hook, PAUSES="[0.05, 0.1]")
    soon(lambda: len({key for key, _ in Hook.calls}) > 4)
    first.kill()
    second = start("webhook.py", HOOK=hook, PAUSES="[0.05, 0.1]")
    soon(lambda: len(dead()) == 1 and {told for _, told in Hook.calls} == set(ids))
    stop(second)
    keys = dict(Hook.calls)
    assert len(keys) == 20, "a record has one key, however often it comes"
    content, error = dead()[0]
    assert json.loads(str(content))["order"] == ids[7] and error == "HTTPError"
    Hook.refuses = set()
    again = start("webhook.py", "--again", HOOK=hook)
    assert again.wait(60) == 0
    assert dead() == [] and Hook.calls[-1][1] == ids[7]


def test_each_order_of_a_topic_counts_once_though_workers_are_killed(start, tmp_path):
    rows_of_file = [f"{number},customer {number % 5},{number}.25" for number in range(1, 401)]
    (tmp_path / "orders.csv").write_text("\n".join(["order_id,customer,total", *rows_of_file]) + "\n")
    told = lambda: rows(tmp_path / "totals.db", "SELECT customer, orders, cents FROM totals ORDER BY customer")  # noqa: E731
    first, second = start("order_totals.py"), start("order_totals.py")
    words = ["sendmany", "order_totals:app", "orders", "orders.csv", "--state", "orders.state"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(EXAMPLES)}
    command = [sys.executable, "-m", "streamiter", *words]
    sent = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert sent.stdout == "400 values written to orders\n", sent.stderr
    soon(lambda: rows(tmp_path / "totals.db", "SELECT 1 FROM totals WHERE orders > 10") != [])
    first.kill()
    cents = [sum(number * 100 + 25 for number in range(1, 401) if number % 5 == rest) for rest in range(5)]
    soon(lambda: told() == [(f"customer {rest}", 80, cents[rest]) for rest in range(5)])
    stop(second)


def test_a_kcl_application_goes_on_at_its_checkpoints(sim, start, tmp_path):
    clicks = sim.create_stream("clicks", "S1")
    written = [clicks.put("S1", f"click {number}", key="a") for number in range(5)]
    shard, numbers = written[0].shard_id, [record.sequence_number for record in written]
    table = sim.client("dynamodb")
    table.create_table(
        TableName="clicks-app",
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    table.put_item(
        TableName="clicks-app",
        Item={
            "leaseKey": {"S": shard},
            "leaseCounter": {"N": "41"},
            "leaseOwner": {"S": "java-1"},
            "ownerSwitchesSinceCheckpoint": {"N": "0"},
            "checkpoint": {"S": numbers[1]},
            "checkpointSubSequenceNumber": {"N": "0"},
            "somethingElse": {"S": "kept"},
        },
    )
    process = start("kcl_app.py")
    out = tmp_path / "out.txt"
    soon(lambda: "click 4" in out.read_text())
    stop(process)
    told = out.read_text().splitlines()
    assert [line.partition(": ")[2] for line in told] == [
        "begins",
        *(f"click {number}" for number in (2, 3, 4)),
        "is about to be handed over",
    ]
    item = table.get_item(TableName="clicks-app", Key={"leaseKey": {"S": shard}})["Item"]
    assert item["checkpoint"]["S"] == numbers[4]
    assert "leaseOwner" not in item
    assert item["somethingElse"]["S"] == "kept"
