"""Tests of standard output and error as shells hand them over: closed, full, broken: a line or silence, the right exit code."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streamiter.cli.catalogue import streamiter
from streamiter.testing import Simulator
from tests.cli.conftest import command_line, environment, token_in

ALL = "tail users --from trim_horizon --until caught_up"
PIPE_OF_NOBODY = "| true; exit ${PIPESTATUS[0]}"


@pytest.fixture
def users(served: Simulator) -> Simulator:
    served.shape("S1")
    for number in range(3):
        served.put("S1", key=f"u{number}", new={"id": f"u{number}"})
    return served


def shell(sim: Simulator, folder: Path, words: str, redirection: str) -> subprocess.CompletedProcess[str]:
    line = f"{shlex.join(command_line())} {words} {redirection}"
    env = environment(AWS_ENDPOINT_URL=sim.endpoint_url)
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=env, cwd=folder, timeout=250, check=False
    )


def here(sim: Simulator, words: str) -> Result:
    """The same command in this process, where its outputs are no matter."""
    env = environment(AWS_ENDPOINT_URL=sim.endpoint_url)
    return CliRunner().invoke(streamiter, shlex.split(words), env=env)


@pytest.mark.parametrize(
    "redirection,code,says,returned",
    [
        (">&-", 1, "streamiter: standard output: it is closed\n", 0),
        (">&- 2>&-", 1, "", 0),
        ("> /dev/full", 1, "streamiter: standard output: No space left on device\n", 0),
        ("> /dev/full 2> /dev/full", 1, "", 0),
        (PIPE_OF_NOBODY, 141, "", 0),
        ("2>&-", 0, "", 3),
        ("2> /dev/full", 0, "", 3),
        ("<&-", 0, "", 3),
    ],
)
def test_the_token_is_after_what_could_be_printed(users: Simulator, tmp_path: Path, redirection, code, says, returned):
    done = shell(users, tmp_path, f"{ALL} --token-file token", redirection)
    assert (done.returncode, done.stderr) == (code, says)
    assert token_in(tmp_path / "token").get("clock", 0) == returned == len(done.stdout.splitlines())
    again = here(users, f"{ALL} --token-file {tmp_path / 'token'}")
    assert len(again.stdout.splitlines()) == 3 - returned, "run again, it prints what was not printed"


@pytest.mark.parametrize(
    "words,redirection,code,says",
    [
        ("--help", ">&-", 1, "streamiter: standard output: it is closed\n"),
        ("--version", "> /dev/full", 1, "streamiter: standard output: No space left on device\n"),
        ("tail --help", PIPE_OF_NOBODY, 141, ""),
        ("completion bash", "2>&-", 0, ""),
        ("completion bash", "> /dev/full", 1, "streamiter: standard output: No space left on device\n"),
        ("doctor users --policy", PIPE_OF_NOBODY, 141, ""),
        ("doctor users --policy", ">&-", 1, "streamiter: standard output: it is closed\n"),
    ],
)
def test_what_cannot_be_printed_is_told_once(users: Simulator, tmp_path: Path, words, redirection, code, says):
    done = shell(users, tmp_path, words, redirection)
    assert (done.returncode, done.stderr) == (code, says)


@pytest.mark.parametrize(
    "words,code,redirection",
    [
        ("tial", 2, "2>&-"),
        ("tial", 2, "> /dev/full 2> /dev/full"),
        ("tail nosuch", 1, "2> /dev/full"),
        ("tail nosuch", 1, ">&- 2>&-"),
        ("tail users --token-file /dev/null", 1, "2>&-"),
    ],
)
def test_an_error_that_nobody_can_be_told_keeps_its_exit_code(users: Simulator, tmp_path, redirection, words, code):
    done = shell(users, tmp_path, words, redirection)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_an_export_needs_no_output(users: Simulator, tmp_path: Path):
    done = shell(users, tmp_path, "export users --to there --format jsonl", ">&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert len((tmp_path / "there" / "part-000001.jsonl").read_text().splitlines()) == 3


def test_no_file_of_ours_gets_the_number_of_a_closed_output(users: Simulator, tmp_path: Path):
    code = "import os, sys; from streamiter.cli.terminal.outputs import open_closed_outputs; open_closed_outputs(); "
    code += "file = open('x', 'w'); sys.exit(file.fileno())"
    line = f"{shlex.join(command_line()[:1])} -c {shlex.quote(code)}"
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(["bash", "-c", f"{line} {closed}"], cwd=tmp_path, env=environment(), check=False)
        assert done.returncode > 2


@pytest.mark.parametrize(
    "redirection,code,says",
    [("> /dev/full", 1, "the demo: standard output: No space left on device\n"), (PIPE_OF_NOBODY, 141, "")],
)
def test_the_demo_as_a_module_ends_so_too(users: Simulator, tmp_path: Path, redirection, code, says):
    line = f"{command_line()[0]} -m streamiter.demo --fast {redirection}"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=environment(), cwd=tmp_path, timeout=250, check=False
    )
    assert (done.returncode, done.stderr) == (code, says)


def test_a_place_is_not_kept_in_a_pipe(users: Simulator, tmp_path: Path):
    done = shell(users, tmp_path, f"{ALL} --token-file -", "< /dev/null")
    assert done.returncode == 1 and "cannot be kept in a pipe; name a file" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", ["tail users --token-file {}", "token convert token --to {}", "shards users --svg {}"]
)
def test_a_device_is_never_replaced_by_a_file(users: Simulator, tmp_path: Path, words: str):
    assert here(users, f"{ALL} --token-file {tmp_path / 'token'}").exit_code == 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = shell(users, tmp_path, words.format(pipe), "")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "no file" in done.stderr
    assert pipe.is_fifo()


@pytest.mark.parametrize("command", [("--help",), ("completion", "bash")])
def test_a_socket_that_is_reset_is_a_reader_who_has_left(command):
    script = (
        "import sys\n"
        "from streamiter.cli.main import main\n"
        "class Reset(type(sys.stdout)):\n"
        "    def write(self, text): raise ConnectionResetError(104, 'Connection reset by peer')\n"
        "sys.stdout = Reset(sys.stdout.detach())\n"
        f"sys.argv[1:] = {command!r}\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment(), timeout=250)
    assert (done.returncode, done.stderr) == (141, b"")
