"""Loading: while Python imports us or shuts down, Ctrl-C ends the process at once and silently; imports next to nothing."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 128 + 2  # of SIGINT, as shells have it


def leave_on_ctrl_c() -> None:
    """From now on Ctrl-C ends the process at once: nothing has to be finished first. If Ctrl-C is ignored, it stays so."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


class Loading:
    """Inside this block Ctrl-C ends the process at once: an exception could be lost, because some imports swallow it."""

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        self._is_ours = getattr(self._before, "__module__", None) == "streamiter.cli.terminal.ending"
        if self._is_ours:  # else this runs inside a test's process, which must go on
            signal.signal(signal.SIGINT, _leave)

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, self._before)


def _leave(_: int, __: object) -> None:
    os._exit(INTERRUPTED)
