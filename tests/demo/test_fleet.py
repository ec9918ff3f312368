"""The demo of a fleet, as its users run it, and how it counts."""

from __future__ import annotations

import re
import signal
import subprocess

import pytest

from streamiter.demo.fleet.count import Count
from tests.demo.running import ROOT, command, environment, processes_of


def test_a_worker_is_killed_and_nothing_is_lost(tmp_path):
    done = subprocess.run(
        command("--fast", "--fleet"), cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert not list(tmp_path.iterdir()), "files are left behind"
    assert not processes_of(tmp_path), "processes are left behind"
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert re.search(r"✓ \d+ orders: none lost, none billed twice, each customer's in order", done.stdout)
    hands = [
        re.findall(r"\b[ABC]\b|[·✗]", line.partition("  s")[0][14:])
        for line in lines
        if re.match(r" +[\d.]+ s {14}", line)
    ]
    assert any({*found} == {"A", "B", "C"} for found in hands)
    assert {*hands[-1]} == {"A", "C"}
    assert "kill -9 of worker B" in done.stdout
    assert "with exit codes 0, 0" in done.stdout


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    with subprocess.Popen(
        command("--fast", "--fleet"),
        cwd=ROOT,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "partition" in line:
                break
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert errors == ""
    assert not list(tmp_path.iterdir())
    assert not processes_of(tmp_path)


@pytest.mark.parametrize(
    "bills, orders, told",
    [
        (
            [("a", 1, "A"), ("b", 2, "B"), ("a", 3, "C")],
            3,
            "✓ 3 orders: none lost, none billed twice, each customer's in order",
        ),
        ([("a", 1, "A")], 3, "✗ 3 orders: 2 lost, none billed twice, each customer's in order"),
        ([("a", 1, "A"), ("a", 1, "B")], 1, "✗ 1 orders: none lost, 1 billed twice, each customer's in order"),
        ([("a", 2, "A"), ("a", 1, "B")], 2, "✗ 2 orders: none lost, none billed twice, 1 customers' out of order"),
    ],
)
def test_what_is_wrong_is_seen(bills, orders, told):
    assert "".join(span.text for span in Count.of(bills, orders).line) == told
