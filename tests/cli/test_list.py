"""`streamiter list`: what there is to read, and what to type for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner, Result

from streamiter.cli.catalogue import streamiter
from streamiter.cli.setting import Setting
from streamiter.testing import Simulator
from tests.cli.conftest import environment

List = Callable[..., Result]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator("S1", ids="service") as simulator:
        yield simulator


@pytest.fixture
def listed(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> List:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)

    def listed(*words: str) -> Result:
        return CliRunner().invoke(
            streamiter, ["list", "--endpoint-url", sim.endpoint_url, *words], obj=Setting(clock=sim.clock)
        )

    return listed


def test_streams_of_tables_and_of_kinesis_are_listed_by_what_to_type(sim: Simulator, listed: List):
    sim.create_table("poor", "S1", view="KEYS_ONLY")
    sim.create_table("bare", stream=False)
    sim.create_stream("clicks", "S1")
    done = listed()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"us-east-1, {sim.endpoint_url}",
        "",
        "stream            status    images",
        "poor              ENABLED   KEYS_ONLY",
        "users             ENABLED   NEW_AND_OLD_IMAGES",
        "kinesis://clicks  ACTIVE",
    ]
    told = json.loads(listed("--json").stdout)
    assert [row["url"] for row in told] == ["poor", "users", "kinesis://clicks"]
    assert told[1] == {
        "url": "users",
        "kind": "dynamodb",
        "status": "ENABLED",
        "view_type": "NEW_AND_OLD_IMAGES",
        "arn": sim.stream_arn,
        "region": "us-east-1",
    }
    assert [row["kind"] for row in json.loads(listed("--json", "--only", "kinesis").stdout)] == ["kinesis"]


def test_what_is_listed_can_be_typed(sim: Simulator, listed: List):
    sim.create_stream("clicks", "S1")
    old = sim.stream_arn
    sim.disable()
    sim.clock.advance(60)
    sim.enable("S2")
    told = {row["url"]: row for row in json.loads(listed("--json").stdout)}
    assert list(told) == ["users", old, "kinesis://clicks"], "the old stream is readable by its ARN"
    assert told["users"]["status"] == "ENABLED" and told[old]["status"] == "DISABLED"
    for url in told:
        words = ["shards", url, "--endpoint-url", sim.endpoint_url]
        assert CliRunner().invoke(streamiter, words, obj=Setting(clock=sim.clock)).exit_code == 0


def test_hundreds_of_tables_are_listed_page_by_page(sim: Simulator, listed: List):
    for number in range(120):
        sim.create_table(f"t{number:03d}", "S1")
    urls = [row["url"] for row in json.loads(listed("--json").stdout)]
    assert urls == [*(f"t{number:03d}" for number in range(120)), "users"]


def test_a_service_that_refuses_does_not_hide_the_other(sim: Simulator, listed: List):
    sim.create_stream("clicks", "S1")
    sim.fault("ListStreams", kind="access_denied", times=1)
    done = listed()
    assert done.exit_code == 1 and "kinesis://clicks" in done.stdout and "users" not in done.stdout
    assert "allow the caller the IAM action dynamodb:ListStreams" in done.stderr
    assert done.stderr.endswith(" [AccessDenied]\n") and done.stderr.count("\n") == 1


def test_where_there_is_nothing_it_says_so_but_not_where_nobody_answers(sim: Simulator, listed: List):
    with Simulator(table=None) as empty:
        words = ["list", "--endpoint-url", empty.endpoint_url]
        done = CliRunner().invoke(streamiter, words, obj=Setting(clock=empty.clock))
    assert done.exit_code == 0 and "There are no streams here. --region NAME" in done.stdout
    done = CliRunner().invoke(streamiter, ["list", "--endpoint-url", "http://127.0.0.1:1"], obj=Setting())
    assert done.exit_code == 1 and "no streams here" not in done.stdout


def test_no_credentials_and_no_region_are_told_once(sim: Simulator, listed: List, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert listed().stderr.count("\n") == 1 and "--region NAME" in listed().stderr
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert listed().stderr.count("\n") == 1 and "boto3 found no AWS credentials" in listed().stderr
