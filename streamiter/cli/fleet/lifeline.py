"""The lifeline: a pipe from the supervisor to each worker process; its end tells the worker to stop, even after a kill."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from streamiter.app import App
from streamiter.clock import SECOND_US

_EVERY_SECONDS = 0.1
_SLACK_SECONDS = 5.0
_ASKING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def held_back() -> Iterator[None]:
    """Signals wait meanwhile, and in a process that is started meanwhile until it calls `hear_signals`.

    A terminal that closes, or a process manager, signals the supervisor's processes, too: one that has not yet said what is
    to happen then would be killed, as if it had failed.
    """
    if os.name == "nt":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ASKING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def hear_signals() -> None:
    """In a process that was started so: signals are heard from now on. SIGHUP does nothing: the lifeline tells it, too."""
    if os.name == "nt":
        return
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: None)  # not SIG_IGN, which what this process starts would inherit
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ASKING)


class Lifeline:
    """The worker's end: standard input, which nothing that the worker starts gets to see.

    Being told here counts as no signal: a process manager that signals all processes at once, as systemd does, would make
    the second one of it, which ends a worker at once.
    """

    def __init__(self) -> None:
        self._pipe = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._app: App | None = None
        threading.Thread(target=self._watch, name="streamiter-lifeline", daemon=True).start()

    def hold(self, app: App) -> None:
        """This app is to be stopped; before it is known there is nothing that would have to be ended."""
        self._app = app

    def _watch(self) -> None:
        os.read(self._pipe, 1)
        if self._app is None:
            os._exit(0)
        self._stop(self._app)

    def _stop(self, app: App) -> None:
        pace = app.pace
        left = (pace.grace_us + 2 * pace.failover_us) / SECOND_US + _SLACK_SECONDS
        until = time.monotonic() + left
        while time.monotonic() < until:  # the app may not run yet
            app.stop()
            time.sleep(_EVERY_SECONDS)
        os._exit(1)  # a function of the user's app blocks its event loop
