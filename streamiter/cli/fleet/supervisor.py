"""The supervisor: starts worker processes, starts those again that died, and ends them together."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

from streamiter.cli.fleet.lifeline import held_back
from streamiter.cli.fleet.supervision import HALTED, Fate, Supervision

logger = logging.getLogger("streamiter.cli")

_HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # Windows has none


class Supervisor:
    """Runs a command in so many processes. Each gets `--supervised N`, and a pipe whose end means that it is to stop."""

    def __init__(self, command: Sequence[str], processes: int) -> None:
        self._command = list(command)
        self._supervision = Supervision(processes, time.monotonic())
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._news: SimpleQueue[tuple[int, int | None]] = (
            SimpleQueue()
        )  # a process and its exit code; or a signal, None

    def run(self) -> int:
        """Until all have ended; gives the exit code."""
        with self._signals():
            try:
                while not self._supervision.is_over:
                    for number in self._supervision.due(time.monotonic()):
                        self._start(number)
                    self._hear()
            finally:
                self._close_pipes()
        return self._supervision.exit_code

    def _start(self, number: int) -> None:
        with held_back():
            child = subprocess.Popen([*self._command, "--supervised", str(number)], stdin=subprocess.PIPE)
        self._children[number] = child
        self._supervision.started(number, time.monotonic())
        logger.info("process %d started (pid %d)", number, child.pid)
        threading.Thread(target=lambda: self._news.put((number, child.wait())), daemon=True).start()

    def _hear(self) -> None:
        due = self._supervision.next_due
        try:
            told, code = self._news.get(timeout=None if due is None else max(0.0, due - time.monotonic()))
        except Empty:
            return
        if code is None:
            self._take_signal(told)
        else:
            self._take_end(told, code)

    def _take_signal(self, number: int) -> None:
        if self._supervision.is_stopping and number == _HANG_UP:
            return  # a terminal that closes may send several, and systemd one behind SIGTERM
        if self._supervision.is_stopping:
            for child in self._children.values():
                child.kill()
            os._exit(128 + number)
        logger.info("stopping: what runs may finish; a second signal ends it at once")
        self._stop()

    def _take_end(self, number: int, code: int) -> None:
        child = self._children.pop(number)
        _close(child)
        fate, pause = self._supervision.ended(number, code, time.monotonic())
        told = f"process {number} (pid {child.pid}) {_how(code)}"
        if fate is Fate.DONE:
            logger.log(logging.WARNING if code else logging.INFO, "%s", told)
        elif fate is Fate.AGAIN:
            logger.warning("%s; it is started again in %.0f s", told, pause)
        else:
            why = "its processor failed, and its policy is Halt" if code == HALTED else "none would do better"
            logger.error("%s: %s; all stop", told, why)
            self._stop()

    def _stop(self) -> None:
        self._supervision.stop()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for child in self._children.values():
            _close(child)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        heard: list[int] = []

        def hear(number: int, _: FrameType | None) -> None:
            heard.append(number)
            self._news.put((number, None))

        numbers = [signal.SIGINT, signal.SIGTERM]
        if _HANG_UP is not None and signal.getsignal(_HANG_UP) is not signal.SIG_IGN:  # as nohup has it
            numbers.append(_HANG_UP)
        before: dict[int, Any] = {number: signal.signal(number, hear) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                # A SIGHUP that comes yet is the same request, and it was met.
                is_met = number == _HANG_UP and heard and handler == signal.SIG_DFL
                signal.signal(number, signal.SIG_IGN if is_met else handler)


def _close(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        child.stdin.close()


def _how(code: int) -> str:
    if code == 0:
        return "ended"
    if code > 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
