"""`streamiter sendmany` as a process of its own: stopped by Ctrl-C, killed, and begun again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from streamiter import Stream
from streamiter.topic import Topic
from tests.cli.conftest import command_line, environment
from tests.cli.terminal import on_terminal
from tests.stream.helpers import soon

LINES = [f'{{"order_id": {number}}}\n' for number in range(1, 10_001)]


@pytest.fixture
def topic(tmp_path: Path) -> Topic:
    made = Topic(f"sqlite:///{tmp_path}/orders.db?topic=orders", partitions=4)
    made.name  # noqa: B018 - makes it
    return made


def written(topic: Topic) -> list[int]:
    with Stream(topic) as stream:
        return [record.payload["order_id"] for record in stream.follow(until="caught_up")]


def start(tmp_path: Path) -> subprocess.Popen[str]:
    words = ["sqlite:///orders.db?topic=orders", "-", "--partition-by", "order_id", "--state", "orders.state"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command_line("sendmany", *words), text=True, env=environment(), cwd=tmp_path, **pipes)


def give(process: subprocess.Popen[str], lines: list[str]) -> None:
    assert process.stdin is not None
    process.stdin.writelines(lines)
    process.stdin.flush()


def test_after_a_kill_no_line_is_lost_and_none_comes_twice(topic, tmp_path):
    process = start(tmp_path)
    give(process, LINES[:8000])
    soon(lambda: len(written(topic)) > 5000)
    process.kill()
    process.communicate(timeout=60)
    first = len(written(topic))
    assert first < len(LINES)

    process = start(tmp_path)
    out, errors = process.communicate("".join(LINES), timeout=120)
    assert process.returncode == 0, errors
    assert "that the run before had sent are found, and not sent again" in errors
    assert out == f"{len(LINES) - first:,} values written to orders\n"
    assert sorted(written(topic)) == list(range(1, 10_001))
    state = json.loads((tmp_path / "orders.state").read_text())
    assert (state["line"], state["beyond"], state["ahead"], state["sent"]) == (10_001, [], 0, 10_000)


def test_ctrl_c_says_what_is_written_and_where_it_goes_on(topic, tmp_path):
    process = start(tmp_path)
    give(process, LINES[:100])
    soon(lambda: len(written(topic)) == 100)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "stopped: 100 values written to orders; all before line 101 is written; run it again to go on\n"
    assert json.loads((tmp_path / "orders.state").read_text())["ahead"] == 0

    process = start(tmp_path)
    out, errors = process.communicate("".join(LINES[:150]), timeout=60)
    assert out == "50 values written to orders\n"
    assert errors == "streamiter: going on with line 101\n"
    assert sorted(written(topic)) == list(range(1, 151))


def test_a_terminal_shows_how_far_it_is(served, topic, tmp_path):
    pipe = tmp_path / "orders.jsonl"
    os.mkfifo(pipe)
    is_over = threading.Event()

    def feed() -> None:
        with suppress(BrokenPipeError), open(pipe, "w", buffering=1) as lines:
            for line in LINES:
                lines.write(line)
                if is_over.wait(0.02):
                    break

    thread = threading.Thread(target=feed)
    thread.start()
    url = f"sqlite:///{tmp_path}/orders.db?topic=orders"
    shown, code = on_terminal(served, "sendmany", url, pipe, until="values written · ", columns=100)
    is_over.set()
    thread.join(60)
    assert code == 130
    assert re.search(r"· [\d,]+ values? written · \S+/s · line [\d,]+ · Ctrl-C stops", shown)
    told = re.search(
        r"stopped: ([\d,]+) values? written to orders; all before line (\d+) is written; go on with --from-line", shown
    )
    assert told is not None
    assert sorted(written(topic)) == list(range(1, int(told[2])))
