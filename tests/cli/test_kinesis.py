"""The commands on a Kinesis stream: shards that merge, partition keys and payloads instead of rows."""

from __future__ import annotations

import csv
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from streamiter import KinesisStreams
from streamiter.cli.catalogue import streamiter
from streamiter.cli.setting import Setting
from streamiter.testing import KinesisHandle, Simulator, change_payload
from tests.cli.conftest import Invoke, environment

PAYLOADS = [b'{"page": 1}', b"\xff\x00", "é\x1b[2J".encode(), b"", b"last"]


@pytest.fixture
def clicks(sim: Simulator) -> KinesisHandle:
    stream = sim.create_stream("clicks", "S1 ~ S2")
    for number, payload in enumerate(PAYLOADS):
        stream.put("S1" if number % 2 else "S2", payload, key=f"user-{number}")
        sim.clock.advance(60)
    stream.merge("S1", "S2", "S3")
    stream.put("S3", b"merged", key="user-9")
    sim.clock.advance(60)
    return stream


@pytest.fixture
def invoke(sim: Simulator) -> Invoke:
    def invoke(*arguments: object, **_: Any) -> Any:
        client = sim.client("kinesis")
        setting = Setting(
            clock=sim.clock, find=lambda *_, **__: KinesisStreams("clicks", client=client, reads_per_second=None)
        )
        return CliRunner().invoke(streamiter, [str(part) for part in arguments], obj=setting)

    return invoke


ALL = ("tail", "kinesis://clicks", "--from", "trim_horizon", "--until", "caught_up")


def test_tail_prints_keys_and_payloads(clicks: KinesisHandle, invoke: Invoke):
    done = invoke(*ALL)
    assert done.exit_code == 0, done.output
    assert [line.split("  ", 1)[1] for line in done.stdout.splitlines()] == [
        'user-0  {"page": 1}',
        "user-1  <2 bytes /wA=>",
        "user-2  é\\x1b[2J",
        "user-3  ",
        "user-4  last",
        "user-9  merged",
    ]
    told = [json.loads(line) for line in invoke(*ALL, "--json").stdout.splitlines()]
    assert [b64decode(line["payload"]) for line in told] == [*PAYLOADS, b"merged"]
    assert told[0]["key"] == {"partition_key": "user-0"} and told[0]["event"] is None
    assert len(invoke(*ALL, "--where", "key = user-4").stdout.splitlines()) == 1


@pytest.mark.parametrize(
    "expression,numbers",
    [
        ("key ^= user- and key.partition_key != user-9", "01234"),
        ("payload = last", "4"),
        ("payload *= page", "0"),
        ("payload.page = 1", "0"),
        ("payload.page > 0 or payload = merged", "09"),
        ("payload = ''", "3"),
        ("not payload.page = 1", "12349"),
        ("payload != last and late = false", "01239"),
    ],
)
def test_where_reads_keys_and_payloads(clicks: KinesisHandle, invoke: Invoke, expression: str, numbers: str):
    done = invoke(*ALL, "--where", expression)
    assert done.exit_code == 0, done.output
    assert "".join(line.split("user-", 1)[1][0] for line in done.stdout.splitlines()) == numbers


@pytest.mark.parametrize(
    "expression,place,says",
    [
        ("key = a or event = INSERT", 11, "no 'event'; they have key, key.NAME, payload, payload.NAME, shard, late"),
        ("new.total > 3", 0, "no 'new'; they have key,"),
        ("not old.total > 3", 4, "say so: kinesis://STREAM?records=dynamodb"),
        ("key.id = 3", 0, "one key, their partition key: write 'key'"),
    ],
)
def test_where_asks_for_nothing_that_such_records_lack(clicks, invoke: Invoke, tmp_path: Path, expression, place, says):
    done = invoke(*ALL, "--where", expression, "--token-file", tmp_path / "token")
    message, shown, caret = done.stderr.splitlines()
    assert done.exit_code == 2 and done.stdout == ""
    assert message.startswith("streamiter: --where: ") and says in message
    assert (shown, caret) == (f"  {expression}", f"  {' ' * place}^")
    assert not (tmp_path / "token").exists()


def test_where_knows_changes_that_come_by_way_of_kinesis(sim: Simulator):
    stream = sim.create_stream("changes", "S1")
    for number in (1, 2):
        image = {"id": "a", "n": number}
        created_us = round(sim.clock.now() * 1e6)
        stream.put("S1", change_payload({"id": "a"}, new=image, created_us=created_us, event_id=f"e{number}"))

    def tail(expression: str) -> Any:
        source = KinesisStreams("changes", client=sim.client("kinesis"), records="dynamodb", reads_per_second=None)
        setting = Setting(clock=sim.clock, find=lambda *_, **__: source)
        words = ["tail", "x", "--from", "trim_horizon", "--until", "caught_up", "--where", expression]
        return CliRunner().invoke(streamiter, words, obj=setting)

    assert len(tail("event = INSERT and new.n > 1").stdout.splitlines()) == 1
    assert "changes of rows have no payload; they have event, key, key.NAME, new.NAME" in tail("payload = x").stderr


def test_a_stream_is_shown_by_its_plain_name(clicks: KinesisHandle, sim: Simulator, invoke: Invoke, tmp_path: Path):
    done = invoke("shards", "kinesis://clicks", "--svg", tmp_path / "a.svg")
    assert done.stdout.splitlines()[0] == clicks.arn
    assert not re.search(r"@[0-9]", (tmp_path / "a.svg").read_text())
    invoke(*ALL, "-n", "2", "--token-file", tmp_path / "token")
    assert f"{clicks.arn}  made 2025-06-15 15:06:40 UTC\n" in invoke("token", "show", tmp_path / "token").stdout
    assert invoke("token", "check", tmp_path / "token").stdout == f"ours, whole, 2 shards, of {clicks.arn}\n"
    assert "@" not in invoke("doctor", "kinesis://clicks").stdout
    clicks.delete()
    sim.clock.advance(60)
    sim.create_stream("clicks", "S1")
    told = invoke(*ALL, "--token-file", tmp_path / "token").stderr
    assert "deleted and made again" in told and "(made 2025-06-15 15:06:40 UTC)" in told and "@" not in told


def test_arrival_times_are_told_as_exactly_as_they_came(sim: Simulator, clicks: KinesisHandle, invoke: Invoke):
    sim.clock.advance(0.25)
    clicks.put("S3", b"later")
    *_, before, last = [json.loads(line)["created_at"] for line in invoke(*ALL, "--json").stdout.splitlines()]
    assert before.endswith(":40Z") and last.endswith(":40.250000Z")


def test_shards_show_merges(clicks: KinesisHandle, invoke: Invoke, tmp_path: Path):
    invoke(*ALL, "-n", "6", "--token-file", tmp_path / "token")
    done = invoke("shards", "kinesis://clicks", "--token-file", tmp_path / "token", "--svg", tmp_path / "a.svg")
    assert done.exit_code == 0, done.output
    text = done.stdout
    assert "merged from" in text and text.count("read") == 2 and "here, at its tip" in text
    words = [
        element.text for element in ElementTree.fromstring((tmp_path / "a.svg").read_text()).iter() if element.text
    ]
    assert "clicks: its stream's shards over time" in words


def test_export_holds_payloads(clicks: KinesisHandle, invoke: Invoke, tmp_path: Path):
    for name in ("parquet", "jsonl", "csv"):
        done = invoke("export", "kinesis://clicks", "--to", tmp_path / name, "--format", name)
        assert done.exit_code == 0, done.output
    table = pq.read_table(tmp_path / "parquet" / "part-000001.parquet")
    assert table["payload"].to_pylist() == [*PAYLOADS, b"merged"]
    lines = [json.loads(line) for line in (tmp_path / "jsonl" / "part-000001.jsonl").read_text().splitlines()]
    assert [b64decode(line["payload"]) for line in lines] == [*PAYLOADS, b"merged"]
    with open(tmp_path / "csv" / "part-000001.csv", newline="") as file:
        assert [row["partition_key"] for row in csv.DictReader(file)] == [
            f"user-{number}" for number in (0, 1, 2, 3, 4, 9)
        ]


def test_top_and_token_know_it(clicks: KinesisHandle, invoke: Invoke, tmp_path: Path):
    assert "6 records" in invoke("top", "kinesis://clicks", "--from", "trim_horizon", "-n", "2").stdout
    invoke(*ALL, "-n", "2", "--token-file", tmp_path / "token")
    assert "returned  2 records" in invoke("token", "show", tmp_path / "token").stdout
    done = invoke("token", "check", tmp_path / "token", "--url", "kinesis://clicks")
    assert done.exit_code == 0 and "behind; the service holds the rest" in done.stdout


def test_doctor_looks_at_it(clicks: KinesisHandle, sim: Simulator, monkeypatch):
    for name, value in environment().items():
        monkeypatch.setenv(name, value)

    def doctor(*more: str) -> Any:
        arguments = ["doctor", "kinesis://clicks", "--endpoint-url", sim.endpoint_url, *more]
        return CliRunner().invoke(streamiter, arguments, obj=Setting(clock=sim.clock))

    done = doctor()
    assert done.exit_code == 0, done.output
    assert "All is well." in done.stdout and "✓ credentials" in done.stdout
    sim.fault("GetRecords", kind="access_denied", times=None)
    done = doctor()
    assert done.exit_code == 1 and "permission is missing: kinesis:GetRecords" in done.stdout
    policy = json.loads(doctor("--policy").stdout)
    assert policy["Statement"][0]["Resource"] == "arn:aws:kinesis:us-east-1:ACCOUNT:stream/clicks"
    assert "kinesis:ListShards" in policy["Statement"][0]["Action"]
