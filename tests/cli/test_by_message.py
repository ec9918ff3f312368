"""docs/operating.md's table by message: its messages stand in the code, and errors as they come are found in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamiter import errors
from streamiter.cli.catalogue import streamiter
from streamiter.cli.setting import Setting
from streamiter.testing import Simulator
from tests.cli.conftest import environment
from tests.test_faq import quoted

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")
TABLE = PAGE.partition("### By message\n")[2].partition("\n### ")[0]
ROWS = re.findall(r"^\| `([^`]+)` \| (.+?) \| .+ \|$", TABLE, re.MULTILINE)


def found(told: str) -> list[str]:
    """The classes of the rows whose message this is."""
    kinds = []
    for message, named in ROWS:
        pattern = ".*".join(re.escape(part.strip()) for part in message.split("…") if part.strip())
        if re.search(pattern, told):
            kinds += re.findall(r"`(\w+)`", named) or ["any other"]
    return kinds


def test_the_table_is_read_whole():
    assert len(ROWS) == TABLE.count("\n| ") - 1 > 15


@pytest.mark.parametrize("message,named", ROWS, ids=[message for message, _ in ROWS])
def test_each_message_stands_in_the_code_and_each_class_is_one(message: str, named: str):
    assert quoted(message)
    for name in re.findall(r"`(\w+)`", named):
        assert issubclass(getattr(errors, name), errors.StreamiterError)


def nothing(_: Simulator) -> None:
    pass


def fault(operation: str, kind: str) -> Callable[[Simulator], object]:
    return lambda sim: sim.fault(operation, kind=kind, times=None)


GONE = "arn:aws:dynamodb:us-east-1:000000000000:table/users/stream/2020-01-01T00:00:00.000"


@pytest.mark.parametrize(
    "trouble,words",
    [
        (nothing, ["user"]),
        (lambda sim: sim.create_table("bare", stream=False), ["bare"]),
        (nothing, [GONE]),
        (fault("DescribeTable", "expired_token"), ["users"]),
        (fault("DescribeStream", "unknown_key"), ["users"]),
        (fault("GetRecords", "access_denied"), ["users", "--from", "trim_horizon"]),
        (fault("DescribeTable", "html"), ["users"]),
        (fault("GetRecords", "500"), ["users", "--from", "trim_horizon"]),
        (fault("GetRecords", "throttle"), ["users", "--from", "trim_horizon"]),
        (nothing, ["users", "--endpoint-url", "http://127.0.0.1:1"]),
        (nothing, ["users", "--endpoint-url", "https://HERE"]),
        (lambda sim: Path("token").write_text('{"streamiter": 1}'), ["users", "--token-file", "token"]),
    ],
)
def test_an_error_as_it_comes_is_found_by_its_message(trouble, words: list[str], monkeypatch, tmp_path: Path):
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    with Simulator("S1", ids="service") as sim:
        trouble(sim)
        words = [word.replace("HERE", sim.endpoint_url.removeprefix("http://")) for word in words]
        endpoint = [] if "--endpoint-url" in words else ["--endpoint-url", sim.endpoint_url]
        done = CliRunner().invoke(streamiter, ["tail", *words, *endpoint], obj=Setting(clock=sim.clock))
    told = done.stderr.splitlines()[-1]
    kind = re.search(r" \[(\w+)\]$", told)
    assert done.exit_code == 1 and kind is not None, told
    assert kind[1] in found(told), told
