"""`streamiter multilang --try`, as it is typed: its report, its exit codes, and what does not go with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streamiter.cli.catalogue import streamiter
from tests.stream.helpers import soon

pytestmark = pytest.mark.realtime

ROOT = Path(__file__).parent.parent.parent
OURS = ["--env", f"PYTHONPATH={ROOT}"]


def run(*words: str) -> Result:
    return CliRunner().invoke(streamiter, ["multilang", "--try", "--timeout", "60", *words])


@pytest.fixture
def shop(tmp_path: Path) -> list[str]:
    (tmp_path / "shop.py").write_text(
        "import json\n\ndef process(batch):\n    for record in batch:\n        assert json.loads(record.payload)['order'] > 0\n"
    )
    return ["--folder", str(tmp_path), *OURS, "--", sys.executable, "-m", "streamiter", "child", "shop:process"]


def test_a_child_without_a_fault_is_told_so_and_the_code_is_0(shop, tmp_path):
    payloads = tmp_path / "orders.jsonl"
    payloads.write_text('{"order": 1}\n{"order": 2}\n')
    done = run("--payloads", str(payloads), *shop)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "no faults"
    assert done.output.count("\nok ") == len(done.output.splitlines()) - 2


def test_faults_are_told_and_the_code_is_1(shop):
    done = run(*shop)  # our records are no orders
    assert done.exit_code == 1
    assert "FAULT a shard to its end" in done.output
    assert "KeyError: 'order'" in done.output
    assert "faults in" in done.output.splitlines()[-1]


def test_what_is_behind_the_command_is_the_childs_and_json_is_for_programs():
    done = run("--json", sys.executable, "-c", "print('hello')", "--json")
    assert done.exit_code == 1
    told = json.loads(done.output)
    assert told["command"][-1] == "--json"
    rules = [finding["rule"] for finding in told["scenarios"][0]["findings"]]
    assert rules == ["chatter", "died"]


def test_ctrl_c_ends_the_child_too_and_half_a_report_is_no_success(tmp_path):
    noted = tmp_path / "pid"
    code = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid()) + '\\n'); time.sleep(600)"
    command = [
        sys.executable,
        "-m",
        "streamiter",
        "multilang",
        "--try",
        "--timeout",
        "600",
        "--",
        sys.executable,
        "-c",
        code,
    ]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        soon(lambda: noted.exists() and noted.read_text().endswith("\n"), 60)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_what_cannot_be_meant_is_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    for words, told in (
        (["no-such-program"], "there is no program 'no-such-program'"),
        ([], "no command is given"),
        (["--source", "kinesis://clicks", "cat"], "--try and --source do not go together"),
        (["--payloads", str(empty), "cat"], "has no line"),
    ):
        done = run(*words)
        assert done.exit_code == 2, done.output
        assert told in done.output
    done = CliRunner().invoke(streamiter, ["multilang", "--json", "cat"])
    assert done.exit_code == 2
    assert "go with --try" in done.output
