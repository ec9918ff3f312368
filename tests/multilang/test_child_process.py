"""A child in its own process: what it loads, what its prints, signals and errors do, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streamiter.multilang import wire
from tests.multilang.daemon import START, batch

SECONDS = 120

PROCESSORS = """
import os, subprocess, sys, threading, time
from pathlib import Path

print("printed while it was imported")

def process(batch):
    print("printed", len(batch))
    sys.stdout.write('{"action": "status", "responseFor": "no"}\\\\n')
    os.write(1, b"null\\\\n")
    subprocess.run(["sh", "-c", "cat; echo from a shell"])

def broken(batch):
    raise ValueError("a bug of yours")

def leaves(batch):
    sys.exit(0)

def forks(batch):
    forked = os.fork()
    if forked == 0:
        time.sleep(600)
        os._exit(0)
    Path("forked").write_text(str(forked))

def lingers(batch):
    threading.Thread(target=time.sleep, args=(600,)).start()
    raise ValueError("and its thread goes on")

def waits(batch):
    Path("works").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    Path("done").touch()
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.py").write_text(PROCESSORS.replace("\\\\n", "\\n"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Child:
    """One, with a daemon's hands on its pipes."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "streamiter.multilang", *words]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)

    def say(self, message: wire.ToChild) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(wire.to_child(message))
        self.process.stdin.flush()

    def hear(self) -> wire.ToDaemon | None:
        """The next message; None at the end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip():
                message = wire.from_child(line)
                assert message is not None, line
                return message
        return None

    def end(self) -> tuple[int, str]:
        """Ends its input; its exit code, and what it wrote to standard error."""
        out, errors = self.process.communicate(timeout=SECONDS)
        assert not out.strip()
        return self.process.returncode, errors.decode()


@contextmanager
def child(*words: str) -> Iterator[Child]:
    made = Child(*words)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()
        for pipe in (made.process.stdin, made.process.stdout, made.process.stderr):
            if pipe is not None:
                pipe.close()


def wait_for(file: Path) -> None:
    ends = time.monotonic() + SECONDS
    while not file.exists():
        assert time.monotonic() < ends, f"{file.name} did not come"
        time.sleep(0.01)


def loaded_by(code: str) -> set[str]:
    told = f"import sys; before = set(sys.modules); {code}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=SECONDS)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_the_standard_library_is_all_that_it_loads():
    for code in ("import streamiter.multilang", "import streamiter.multilang.__main__"):
        loaded = loaded_by(code)
        assert loaded - set(sys.stdlib_module_names) == {"streamiter"}
        assert "asyncio" not in loaded


def test_the_command_loads_click_beside_it_and_no_more():
    code = "from streamiter.cli.catalogue import streamiter; import streamiter.cli.commands.child"
    assert loaded_by(code) - set(sys.stdlib_module_names) <= {"streamiter", "click", "colorama", "typing_extensions"}


@pytest.mark.realtime
def test_nothing_that_is_printed_reaches_the_daemon_and_nothing_that_it_says_is_read_by_others():
    with child("shop:process") as running:
        running.say(START)
        assert running.hear() == wire.Status("initialize")
        running.say(batch(1, 2))
        asked = running.hear()
        assert isinstance(asked, wire.Ask)
        running.say(wire.Answer(asked.sequence_number, asked.sub_sequence_number))
        assert running.hear() == wire.Status("processRecords")
        code, errors = running.end()
    assert code == 0
    assert errors.splitlines() == [
        "printed while it was imported",
        "printed 2",
        '{"action": "status", "responseFor": "no"}',
        "null",
        "from a shell",
    ]


@pytest.mark.realtime
@pytest.mark.parametrize("words, code", [(("shop:broken",), 1), (("shop:leaves",), 0)])
def test_a_processor_that_fails_ends_the_child_and_its_batch_is_not_answered(words, code):
    with child(*words) as running:
        running.say(START)
        assert running.hear() == wire.Status("initialize")
        running.say(batch(1))
        assert running.hear() is None
        ended, errors = running.end()
    assert ended == code
    if code:
        lines = errors.splitlines()
        assert lines[-1] == "ValueError: a bug of yours"
        assert "shop.py" in lines[2]  # the traceback begins with the processor's own code


@pytest.mark.realtime
def test_the_daemon_sees_its_end_though_a_thread_of_its_own_goes_on_and_that_is_not_for_long():
    with child("shop:lingers", "--grace", "0.1") as running:
        running.say(START)
        running.hear()
        running.say(batch(1))
        assert running.hear() is None
        assert running.process.wait(SECONDS) == 1


@pytest.mark.realtime
def test_what_it_forks_does_not_hold_the_pipe(here):
    with child("shop:forks", "--checkpoint", "never") as running:
        running.say(START)
        running.hear()
        running.say(batch(1))
        assert running.hear() == wire.Status("processRecords")
        running.process.kill()
        assert running.hear() is None  # though the forked process lives on
        os.kill(int((here / "forked").read_text()), signal.SIGKILL)
        assert running.process.stderr is not None
        running.process.stderr.close()


@pytest.mark.realtime
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_is_left_to_the_daemon(here, number):
    """Ctrl-C reaches the children before the daemon does; systemd's SIGTERM as well. What is under way is kept."""
    with child("shop:waits", "--checkpoint", "never") as running:
        running.say(START)
        running.hear()
        running.say(batch(1))
        wait_for(here / "works")
        running.process.send_signal(number)
        (here / "go").touch()
        assert running.hear() == wire.Status("processRecords")
        running.say(wire.ShutdownRequested())
        assert running.hear() == wire.Status("shutdownRequested")
        assert running.end() == (0, "printed while it was imported\n")
    assert (here / "done").exists()


@pytest.mark.realtime
def test_sigterm_ends_it_where_the_daemon_does_nothing_about_it_and_a_second_one_at_once(here):
    for grace, signals in (("0.1", 1), ("600", 2)):
        with child("shop:waits", "--grace", grace) as running:
            running.say(START)
            running.hear()
            running.say(batch(1))
            wait_for(here / "works")
            for _ in range(signals):
                running.process.send_signal(signal.SIGTERM)
                time.sleep(0.2)  # two at once would be one
            assert running.process.wait(SECONDS) == 128 + signal.SIGTERM


@pytest.mark.realtime
def test_a_processor_does_not_outlive_its_daemon(here):
    with child("shop:waits", "--grace", "0.1") as running:
        running.say(START)
        running.hear()
        running.say(batch(1))
        wait_for(here / "works")
        code, errors = running.end()
    assert code == 137
    assert "the daemon is gone" in errors
    assert not (here / "done").exists()


@pytest.mark.realtime
@pytest.mark.parametrize("command", [["-m", "streamiter.multilang"], ["-m", "streamiter", "child"]])
@pytest.mark.parametrize(
    "target, told",
    [
        ("shop", "'shop' names no processor: say MODULE:NAME"),
        ("shop.py:process", "is a file: say its module, shop:process"),
        ("nothing:process", "there is no module 'nothing'"),
        ("shop:nothing", "shop has no 'nothing'"),
        ("shop:os", "a processor is one of"),
        ("shop:process --checkpoint often", "a number of seconds, not 'often'"),
    ],
)
def test_what_cannot_be_run_is_told_before_the_daemon_says_anything(command, target, told):
    done = subprocess.run(
        [sys.executable, *command, *target.split()],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        input="",
        check=False,
    )
    assert done.returncode == 2
    assert not done.stdout
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.realtime
def test_a_module_that_cannot_be_imported_is_told_with_its_traceback(here):
    (here / "torn.py").write_text("import nothing_of_that_name\n")
    done = subprocess.run(
        [sys.executable, "-m", "streamiter.multilang", "torn:x"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        input="",
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: No module named 'nothing_of_that_name'")


@pytest.mark.realtime
def test_run_may_be_called_by_a_program_of_ones_own(here):
    (here / "own.py").write_text(
        "from streamiter import multilang\nprint('before')\nmultilang.run(lambda batch: None)\nprint('after')\n"
    )
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, os.fspath(here / "own.py")],
        env=buffered,  # what was printed before it waits in a buffer as a rule, and is still put aside
        input=wire.to_child(START) + wire.to_child(wire.LeaseLost()),
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    said = [wire.from_child(line) for line in done.stdout.splitlines() if line]
    assert said == [wire.Status("initialize"), wire.Status("leaseLost")]
    assert done.stderr == b"before\nafter\n"
