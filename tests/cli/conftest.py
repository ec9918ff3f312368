"""Fixtures of the commands' tests: commands in this process by a hand-turned clock, and as processes against a simulator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from streamiter import DynamoDBStreams
from streamiter.cli.catalogue import streamiter
from streamiter.cli.setting import Setting
from streamiter.testing import RunningClock, Simulator

Invoke = Callable[..., Result]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def invoke(sim: Simulator) -> Invoke:
    """`invoke("tail", "users", ...)`: the command, on the simulator's stream and by its clock."""

    def find(_: str, **__: Any) -> DynamoDBStreams:
        return DynamoDBStreams(sim.stream_arn, client=sim.client())

    def invoke(*arguments: str, env: Mapping[str, str] | None = None) -> Result:
        setting = Setting(clock=sim.clock, find=find)
        return CliRunner().invoke(streamiter, [str(part) for part in arguments], obj=setting, env=env)

    return invoke


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Where the tests run in a shell's background, Ctrl-C is ignored, by what they start, too: not here."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def environment(**more: str) -> dict[str, str]:
    """Credentials that are none, and nothing of this machine's own AWS configuration or terminal."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}
    keys = {"AWS_ACCESS_KEY_ID": "simulator", "AWS_SECRET_ACCESS_KEY": "simulator", "AWS_DEFAULT_REGION": "us-east-1"}
    files = {"AWS_CONFIG_FILE": "/nowhere/config", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials"}
    return {**kept, **keys, **files, "AWS_EC2_METADATA_DISABLED": "true", "PYTHONUTF8": "1", **more}


@pytest.fixture
def served() -> Iterator[Simulator]:
    """A simulator with ids that boto3 lets pass and a clock that runs: for commands in processes of their own."""
    with Simulator(ids="service", clock=RunningClock()) as simulator:
        yield simulator


def command_line(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "streamiter", *map(str, arguments)]


def run(sim: Simulator, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command to its end, as a process of its own, against the simulator."""
    options = {"env": environment(AWS_ENDPOINT_URL=sim.endpoint_url), "timeout": 60, **options}
    return subprocess.run(command_line(*arguments), capture_output=True, text=True, check=False, **options)


def start(sim: Simulator, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """A command as a process of its own, against the simulator."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options = {"env": environment(AWS_ENDPOINT_URL=sim.endpoint_url), **pipes, **options}
    return subprocess.Popen(command_line(*arguments), text=True, **options)


def token_in(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@contextmanager
def in_context(setting: Setting) -> Iterator[None]:
    """What runs inside of a command finds this setting."""
    with click.Context(streamiter, obj=setting):
        yield
