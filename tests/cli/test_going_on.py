"""A table's stream that was disabled and enabled again: the commands that are printed go on without losing a record."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streamiter.cli.catalogue import streamiter
from streamiter.cli.setting import Setting
from streamiter.testing import Simulator
from tests.cli.conftest import environment


@pytest.fixture
def users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    with Simulator("S1", ids="service") as sim:
        put(sim, "S1", range(4))
        yield sim


def put(sim: Simulator, shard: str, numbers: range) -> None:
    for number in numbers:
        sim.put(shard, key=f"row-{number}")
        sim.clock.advance(1)


def enable_again(sim: Simulator) -> None:
    sim.disable()
    sim.clock.advance(60)
    sim.enable("S2")
    put(sim, "S2", range(4, 6))
    sim.clock.advance(10)


def call(sim: Simulator, *words: str) -> Result:
    return CliRunner().invoke(streamiter, [*words, "--endpoint-url", sim.endpoint_url], obj=Setting(clock=sim.clock))


def pasted(sim: Simulator, command: str) -> Result:
    """A command of a message, as it stands there."""
    words = shlex.split(command)
    assert words[0] == "streamiter" and words.count("--endpoint-url") == 1
    return CliRunner().invoke(streamiter, [*words[1:], "--until", "caught_up"], obj=Setting(clock=sim.clock))


def rows(text: str) -> list[str]:
    return re.findall(r"row-\d", text)


@pytest.mark.parametrize("name", ["tail", "top", "shards"])
def test_the_printed_commands_read_the_rest_and_go_on(users: Simulator, name: str):
    first = call(users, "tail", "users", "--from", "trim_horizon", "-n", "2", "--token-file", "users.token")
    enable_again(users)
    done = call(users, name, "users", "--token-file", "users.token")
    assert done.exit_code == 1 and done.stderr.endswith(" [InvalidToken]\n")
    rest, then = re.findall(r"streamiter tail .*?(?=;| \[)", done.stderr)
    came = [pasted(users, command).stdout for command in (rest, then)]
    assert rows(first.stdout + "".join(came)) == [f"row-{number}" for number in range(6)]


def test_the_doctor_says_so_too(users: Simulator):
    call(users, "tail", "users", "--from", "trim_horizon", "-n", "2", "--token-file", "users.token")
    enable_again(users)
    found = {
        finding["title"]: finding
        for finding in json.loads(call(users, "doctor", "users", "--token-file", "users.token", "--json").stdout)
    }
    assert "streamiter tail arn:aws:dynamodb" in found["token"]["remedy"]


def test_an_export_names_the_command_that_finishes_it(users: Simulator):
    words = ("export", "users", "--to", "changes", "--format", "jsonl")
    assert call(users, *words).exit_code == 0
    put(users, "S1", range(4, 6))
    users.disable()
    users.clock.advance(60)
    users.enable("S2")
    done = call(users, *words)
    assert done.exit_code == 1 and "it was disabled and enabled again" in done.stderr
    (command,) = re.findall(r"streamiter export .*?(?=;)", done.stderr)
    assert pasted(users, command).exit_code == 0
    lines = [line for part in sorted(Path("changes").glob("part-*")) for line in part.read_text().splitlines()]
    assert [rows(line)[0] for line in lines] == [f"row-{number}" for number in range(6)]
