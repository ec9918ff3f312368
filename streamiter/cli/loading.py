"""Loading: while Python loads us, or takes itself down, Ctrl-C leaves at once and without a word; imports next to nothing."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 128 + 2  # of SIGINT, as shells have it


def leave_on_ctrl_c() -> None:
    """From now on: there is nothing that would have to be ended first. Where Ctrl-C is ignored, it stays so."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


class Loading:
    """Inside of it a Ctrl-C leaves at once, where a command would be interrupted: Python's imports swallow some of them."""

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        self._is_ours = getattr(self._before, "__module__", None) == "streamiter.cli.ending"
        if self._is_ours:  # else it is somebody else's process, a test's
            signal.signal(signal.SIGINT, _leave)

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, self._before)


def _leave(_: int, __: object) -> None:
    os._exit(INTERRUPTED)
