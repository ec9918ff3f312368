"""The player: runs a child's process for the judge, with its pipes and a clock, and leaves no process behind."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO

from streamiter.clock import Clock, SystemClock
from streamiter.errors import InvalidOption
from streamiter.multilang.trying.judge import Judge, Wishes
from streamiter.multilang.trying.rules import Finding, Severity
from streamiter.multilang.trying.script import scenarios
from streamiter.multilang.wire import Form

TIMEOUT = 10.0
STDERR_LINES = 20
STDERR_BYTES = 8192
PIECE_BYTES = 1 << 16
MOST_PIECES = 64


class CannotStart(InvalidOption):
    """The command cannot be started."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one scenario."""

    scenario: str
    findings: Sequence[Finding]
    left_out: int  # how many more findings there were, of kinds that are listed
    answers: int
    seconds: float
    first_answer_seconds: float | None
    stderr: Sequence[str] = field(default=())

    @property
    def faults(self) -> int:
        """How many findings break the protocol."""
        return sum(found.severity is Severity.FAULT for found in self.findings)


def try_child(
    command: Sequence[str],
    *,
    payloads: Sequence[bytes] = (),
    timeout: float = TIMEOUT,
    form: Form = Form.NEWER,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    clock: Clock | None = None,
) -> Iterator[Verdict]:
    """Runs the command through each scenario, in a new process each, and gives the results. CannotStart if it cannot run.

    It ends early if a child answers nothing at all.
    `timeout`: the seconds that the child has for each answer, and to exit. The command runs without a shell, and by default
    in this process's environment and folder.
    """
    if not command:
        raise InvalidOption("name the command of the child, such as: python shop.py")
    for scenario in scenarios(payloads):
        player = _Player(command, Judge(scenario, form, timeout), SystemClock() if clock is None else clock)
        verdict = player.play(environment, folder)
        yield verdict
        if not verdict.answers:
            return  # it does not even begin, so the other scenarios would only wait


class _Player:
    """Plays one scenario with one child."""

    def __init__(self, command: Sequence[str], judge: Judge, clock: Clock) -> None:
        self._judge = judge
        self._clock = clock
        self._events: queue.SimpleQueue[Callable[[], Wishes | None]] = queue.SimpleQueue()
        self._room = threading.Semaphore(MOST_PIECES)  # limits the pieces of output that wait for the judge
        self._sending: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr = b""  # the last bytes of it
        self._first_answer: float | None = None
        self._command = command

    def play(self, environment: Mapping[str, str] | None, folder: str | None) -> Verdict:
        """Starts the child, and gives the result."""
        begun = self._clock.monotonic()
        try:
            # It gets a process group of its own, so that whatever it starts can be ended with it.
            self._child = subprocess.Popen(
                list(self._command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise CannotStart(f"{self._command[0]!r} cannot be started: {why}") from error
        threads = [self._start(work) for work in (self._write, self._read_output, self._read_errors, self._wait)]
        try:
            self._do(self._judge.begin(begun))
            while not self._judge.is_over:
                self._turn(begun)
        finally:
            self._end(threads)
        return Verdict(
            self._judge.scenario.name,
            tuple(self._judge.findings),
            self._judge.left_out,
            self._judge.answers,
            self._clock.monotonic() - begun,
            self._first_answer,
            tuple(self._stderr.decode(errors="replace").splitlines()[-STDERR_LINES:]),
        )

    def _turn(self, begun: float) -> None:
        """Tells the judge the next thing that happens, or that nothing did until its deadline."""
        left = self._judge.deadline - self._clock.monotonic()
        try:
            event = self._events.get(timeout=max(0.0, left))
        except queue.Empty:
            self._judge.tick(self._clock.monotonic())
            return
        self._do(event())
        self._judge.tick(
            self._clock.monotonic()
        )  # a child that writes without an end leaves no moment without an event
        if self._judge.answers and self._first_answer is None:
            self._first_answer = self._clock.monotonic() - begun

    def _do(self, wishes: Wishes | None) -> None:
        if wishes is not None:
            if wishes.send:
                self._sending.put(wishes.send)
            if wishes.end_input:
                self._sending.put(None)

    # -- threads, a pipe each

    def _start(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name="streamiter-try", daemon=True)
        thread.start()
        return thread

    def _write(self) -> None:
        pipe = _not_none(self._child.stdin)
        with suppress(OSError):  # the child reads no more; the other threads notice its end
            while (line := self._sending.get()) is not None:
                pipe.write(line)
                pipe.flush()
        with suppress(OSError):
            pipe.close()

    def _read_output(self) -> None:
        descriptor = _not_none(self._child.stdout).fileno()
        with suppress(OSError):
            while piece := os.read(descriptor, PIECE_BYTES):
                self._room.acquire()
                self._events.put(partial(self._said, piece))
        self._events.put(self._closed)

    def _said(self, piece: bytes) -> Wishes:
        self._room.release()
        return self._judge.said(piece, self._clock.monotonic())

    def _closed(self) -> None:
        self._judge.closed_output(self._clock.monotonic())

    def _read_errors(self) -> None:
        descriptor = _not_none(self._child.stderr).fileno()
        with suppress(OSError):
            while piece := os.read(descriptor, PIECE_BYTES):
                self._stderr = (self._stderr + piece)[-STDERR_BYTES:]

    def _wait(self) -> None:
        code = self._child.wait()
        self._events.put(partial(self._judge.exited, code))

    def _end(self, threads: list[threading.Thread]) -> None:
        """Ends the child and all that it started."""
        self._sending.put(None)
        with suppress(OSError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._room.release(MOST_PIECES)
        for thread in threads:
            thread.join(1.0)  # a grandchild that left the group may hold a pipe
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            with suppress(OSError):
                _not_none(pipe).close()


def _not_none(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
