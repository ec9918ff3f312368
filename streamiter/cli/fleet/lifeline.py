"""The lifeline: a pipe from the supervisor to each worker process; its end tells the worker to stop, even after a kill."""

from __future__ import annotations

import os
import threading
import time

from streamiter.app import App
from streamiter.clock import SECOND_US

_EVERY_SECONDS = 0.1
_SLACK_SECONDS = 5.0


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
