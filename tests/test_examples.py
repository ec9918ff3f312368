"""docs/examples: whole programs, run as a reader runs them, each in a process of its own, against a simulated service."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from streamiter.testing import RunningClock, Simulator

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "examples"
PAGE = (EXAMPLES / "index.md").read_text("utf-8")


@pytest.fixture
def sim():
    with Simulator(table=None, ids="service", clock=RunningClock()) as sim:
        yield sim


@pytest.fixture
def run(sim, tmp_path):
    """Runs a program to its end."""

    def run(name: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "PYTHONPATH": str(ROOT / "tests/docs_guard"),
            "AWS_ENDPOINT_URL": sim.endpoint_url,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
        }
        command = [sys.executable, "-P", "-W", "error", str(EXAMPLES / name), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def make_table(sim: Simulator, name: str, key: str, *, stream: bool) -> None:
    specification = (
        {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"} if stream else {"StreamEnabled": False}
    )
    sim.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification=specification,
    )


def order(sim: Simulator, number: int, customer: str) -> None:
    item = {"id": {"S": f"order {number}"}, "customer": {"S": customer}, "tags": {"SS": ["b", "a"]}}
    sim.client("dynamodb").put_item(
        TableName="orders", Item=item | {"total": {"N": "12.50"}, "seal": {"B": b"\x00\xff"}}
    )


# -- the audit log


def logged(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_audit_log_has_each_change_once_and_in_order(sim, run, tmp_path):
    make_table(sim, "orders", "id", stream=True)
    for number in range(510):
        order(sim, number, "ann")
    run("audit_log.py", "orders", "orders.jsonl", "--once")
    sim.client("dynamodb").delete_item(TableName="orders", Key={"id": {"S": "order 3"}})
    run("audit_log.py", "orders", "orders.jsonl", "--once")
    lines = logged(tmp_path / "orders.jsonl")
    assert [line["clock"] for line in lines] == list(range(1, 512))
    assert [line["key"]["id"] for line in lines] == [record.key["id"] for record in sim.table("orders").history]
    assert lines[0]["new"] == {"id": "order 0", "customer": "ann", "tags": ["a", "b"], "total": "12.5", "seal": "00ff"}
    assert lines[-1]["event"] == "REMOVE"
    assert lines[-1]["new"] is None


def test_the_audit_log_cuts_off_what_a_crash_left(sim, run, tmp_path):
    make_table(sim, "orders", "id", stream=True)
    for number in range(3):
        order(sim, number, "ann")
    log = tmp_path / "orders.jsonl"
    run("audit_log.py", "orders", log.name, "--once")
    whole = log.read_text()
    order(sim, 3, "bob")
    with open(log, "a") as file:  # written, but the token was not saved after them; and a half line
        file.write(whole.splitlines()[2].replace('"clock": 3', '"clock": 4') + '\n{"clock": 5, "ti')
    run("audit_log.py", "orders", log.name, "--once")
    assert log.read_text().startswith(whole)
    assert [line["key"]["id"] for line in logged(log)] == ["order 0", "order 1", "order 2", "order 3"]


def test_the_audit_log_stops_at_a_gap(sim, run, tmp_path):
    make_table(sim, "orders", "id", stream=True)
    for number in range(5):
        order(sim, number, "ann")
    run("audit_log.py", "orders", "orders.jsonl", "--once")
    for number in range(5, 8):
        order(sim, number, "ann")
    history = sim.table("orders").history
    sim.table("orders").trim(history[0].shard_id, before=7)
    for _ in range(2):
        done = run("audit_log.py", "orders", "orders.jsonl", "--once", code=2)
        assert "may be lost" in done.stderr
    assert len(logged(tmp_path / "orders.jsonl")) == 5


# -- poll and resume


def totals(sim: Simulator) -> dict[str, int]:
    rows = sim.client("dynamodb").scan(TableName="totals")["Items"]
    return {row["name"]["S"]: int(row["orders"]["N"]) for row in rows if row["name"]["S"] != "#token"}


def test_each_order_counts_once_over_many_runs(sim, run):
    make_table(sim, "orders", "id", stream=True)
    make_table(sim, "totals", "name", stream=False)
    for number in range(250):
        order(sim, number, f"customer {number % 7}")
    assert "{'changes': 250}" in run("poll_and_resume.py", "orders", "totals").stdout
    for number in range(0, 70, 7):
        sim.client("dynamodb").delete_item(TableName="orders", Key={"id": {"S": f"order {number}"}})
    assert "{'changes': 10}" in run("poll_and_resume.py", "orders", "totals").stdout
    assert "{'changes': 0}" in run("poll_and_resume.py", "orders", "totals").stdout
    wanted = Counter(f"customer {number % 7}" for number in range(250))
    wanted["customer 0"] -= 10
    assert totals(sim) == wanted


def test_a_run_that_comes_second_changes_nothing(sim, run, monkeypatch):
    """Between its token and its save, another run counts the same orders."""
    make_table(sim, "orders", "id", stream=True)
    make_table(sim, "totals", "name", stream=False)
    order(sim, 1, "ann")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    poll_and_resume = importlib.import_module("poll_and_resume")
    tables = sim.client("dynamodb")
    run("poll_and_resume.py", "orders", "totals")
    token = poll_and_resume.load_token(tables, "totals")
    assert token is not None
    assert not poll_and_resume.save(tables, "totals", Counter(ann=1), token, clock=0)
    assert totals(sim) == {"ann": 1}


# -- the cache


def product(sim: Simulator, name: str, price: str | None) -> None:
    value = {"N": price} if price is not None else {"S": "ask us"}
    sim.client("dynamodb").put_item(TableName="products", Item={"id": {"S": name}, "price": value})


def test_the_cache_has_the_last_price_of_each_product(sim, run):
    make_table(sim, "products", "id", stream=True)
    for name, price in [("honey", "8.75"), ("rice", "2.35"), ("honey", "9.00"), ("olives", "4")]:
        product(sim, name, price)
    sim.client("dynamodb").delete_item(TableName="products", Key={"id": {"S": "rice"}})
    assert run("cache.py", "products", "--once").stdout == "honey 9\nolives 4\n"
    product(sim, "figs", "3")
    assert run("cache.py", "products", "--once").stdout == "figs 3\n", "it goes on after the token"


def test_the_cache_forgets_a_row_that_it_cannot_read(sim, run):
    make_table(sim, "products", "id", stream=True)
    for name, price in [("honey", "8.75"), ("rice", "2.35"), ("honey", None), ("olives", "4")]:
        product(sim, name, price)
    done = run("cache.py", "products", "--once")
    assert done.stdout == "olives 4\nrice 2.35\n"
    (line,) = done.stderr.splitlines()
    assert (
        line
        == f"poison: shard {sim.table('products').history[2].shard_id}, record {sim.table('products').history[2].number}"
    )


def test_the_cache_forgets_everything_after_a_gap(sim, run):
    make_table(sim, "products", "id", stream=True)
    product(sim, "honey", "8.75")
    run("cache.py", "products", "--once")
    for name in ("rice", "figs", "olives"):
        product(sim, name, "1")
    sim.table("products").trim(sim.table("products").history[0].shard_id, before=3)
    done = run("cache.py", "products", "--once")
    assert done.stdout == "olives 1\n"
    assert done.stderr.startswith("gap: ")
    assert run("cache.py", "products", "--once").stderr == "", "the gap is behind it"


def test_the_page_names_each_program():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert len(names) == 9
    for name in names:
        assert f"({name})" in PAGE
