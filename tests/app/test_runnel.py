"""Runnel's documented example, its imports changed: over a real Redis, with this library's worker, and by virtual time."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from streamiter.errors import InvalidOption
from streamiter.runnel import App, ExceptionPolicy, Record
from tests.cli.conftest import command_line, environment
from tests.store import servers
from tests.stream.helpers import soon

EXAMPLE = """
from datetime import datetime

from streamiter.runnel import App, Record

app = App(name="myapp", redis_url="redis://127.0.0.1:PORT")


class Order(Record):
    order_id: int
    created_at: datetime
    amount: float


orders = app.stream("orders", record=Order, partition_by="order_id")


@app.timer(interval=0.1, on_leader=True)
async def sender():
    await orders.send(Order(order_id=1, created_at=datetime.utcnow(), amount=9.99))


@app.processor(orders)
async def printer(events):
    async for order in events.records():
        print(f"processed {order.amount}", flush=True)
"""


class Action(Record, primitive=True):
    key: str
    seq: int


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with servers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield port


def test_the_documented_example_runs(port: int, tmp_path: Path):
    (tmp_path / "example.py").write_text(EXAMPLE.replace("PORT", str(port)))
    out = tmp_path / "out.txt"
    with open(out, "w") as told, open(tmp_path / "log.txt", "w") as log:
        command = command_line("worker", "example:app")
        worker = subprocess.Popen(
            command, cwd=tmp_path, env=environment(PYTHONWARNINGS="ignore"), stdout=told, stderr=log
        )
    try:
        value = '{"order_id": 1, "created_at": "2020-07-21T22:09:37Z", "amount": 99}'
        command = command_line("send", "example:app", "orders", value)
        sent = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
        assert sent.returncode == 0, sent.stderr
        (tmp_path / "data.jsonl").write_text(f"{value}\n{value}\n".replace("99", "7.5"))
        command = command_line("sendmany", "example:app", "orders", "data.jsonl")
        subprocess.run(command, cwd=tmp_path, env=environment(), check=True, timeout=60)
        soon(lambda: {"processed 9.99", "processed 99.0", "processed 7.5"} <= set(out.read_text().splitlines()))
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0, (tmp_path / "log.txt").read_text()
    assert out.read_text().splitlines().count("processed 7.5") == 2
    with redis.Redis(port=port, decode_responses=True) as client:
        (key,) = client.keys("__strm:myapp.orders.*")
        assert client.xlen(key) >= len(out.read_text().splitlines())  # the timer may have sent one as it was stopped


def actions_of(**settings: object) -> tuple[App, list[object]]:
    app = App("testapp", **settings)
    actions = app.stream("actions", record=Action, partition_by="key", partition_count=4)
    found: list[object] = []

    @app.processor(actions)
    async def take(events):
        async for batch in events.take(10, within=2).records():
            assert len(batch) <= 10
            found.extend(batch)

    return app, found


def test_lists_have_values():
    app, found = actions_of()
    given = [Action(key=f"k{number % 3}", seq=number) for number in range(40)]
    app.test({"actions": given})
    assert sorted(action.seq for action in found) == list(range(40))


def test_events_themselves_are_records():
    app, _ = actions_of()
    raw: list[bytes] = []

    @app.processor(app.topics["actions"])
    async def look(events):
        async for record in events:
            raw.append(record.raw_payload)

    app.test({"actions": [Action(key="a", seq=1)]})
    assert [json.loads(payload) for payload in raw] == [{"key": "a", "seq": 1}]


def test_policies_go_by_their_old_names():
    app, _ = actions_of()

    @app.processor(app.topics["actions"], exception_policy=ExceptionPolicy.IGNORE)
    async def fail(events):
        async for action in events.records():
            if action.seq == 1:
                raise ValueError

    trial = app.test({"actions": [Action(key="a", seq=number) for number in range(3)]})
    assert len(trial.failed) == 1


def test_timers_send_in_virtual_time():
    app, found = actions_of()

    @app.timer(interval=4)
    async def sender():
        await app.topics["actions"].send(Action(key="a", seq=len(found)))

    @app.processor(app.topics["actions"])
    def each(record):
        assert record.key == b"a"

    trial = app.test({}, until=13)
    assert [action.seq for action in trial.sent["actions"]] == sorted(action.seq for action in found)
    assert len(found) >= 3


def test_a_setting_without_a_meaning_is_refused():
    with pytest.raises(InvalidOption, match="autodiscover="):
        App("x", autodiscover="x/**/streams.py")
    app = App(
        "x", redis_url="redis://h:1/3", default_partition_count=2, default_lock_expiry=5, default_partition_size=9
    )
    stream = app.stream("s", Action, "key")
    assert (app.store, app.pace.failover_us, stream.declared_partitions) == ("redis://h:1/3", 5_000_000, 2)


def test_what_is_not_here_says_what_to_do_instead():
    app = App("testapp")
    with pytest.raises(InvalidOption, match="hasher="):
        app.stream("actions", record=Action, partition_by="key", hasher=hash)
    with pytest.raises(InvalidOption, match=r"before app.run\(\)"):
        app.task(print)
