"""Tests of Stream run indoors, most of them: its laws need neither sockets nor threads."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, drain, write

ROOT = Path(__file__).parents[2]
COLLECTED = re.compile(r"^(\d+)/(\d+) tests collected", re.MULTILINE)


def test_at_most_a_third_of_the_tests_here_goes_outdoors():
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--collect-only", "-m", "outdoors"]
    done = subprocess.run(
        [*command, "tests/stream"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=250
    )
    found = COLLECTED.search(done.stdout)
    assert found, done.stdout + done.stderr
    outdoors, all_of_them = map(int, found.groups())
    assert 0 < outdoors <= all_of_them / 3


@pytest.mark.parametrize("way", ["bind", "connect"])
def test_a_socket_is_an_error(way: str):
    with socket.socket() as one, pytest.raises(AssertionError, match="outdoors"):
        getattr(one, way)(("127.0.0.1", 0))


def test_a_stream_starts_no_thread(sim: Simulator, open_stream: Open, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threading.Thread, "start", lambda thread: pytest.fail(f"{thread.name} was started"))
    sim.shape("S0 => {S1, S2}")
    write(sim, "S0", "S1", "S2")
    assert_all_came(drain(open_stream(), sim.clock), sim)


@pytest.mark.outdoors
def test_outdoors_it_does(sim: Simulator, open_stream: Open, monkeypatch: pytest.MonkeyPatch):
    started: list[str] = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread.name), start(thread))[1])
    sim.shape("S0 => {S1, S2}")
    write(sim, "S0", "S1", "S2")
    assert_all_came(drain(open_stream(), sim.clock), sim)
    assert "streamiter" in started
