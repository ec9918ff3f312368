"""Loading: while Python loads us, or takes itself down, Ctrl-C leaves at once and without a word; imports nothing of ours."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 128 + 2  # of SIGINT, as shells have it


def leave_on_ctrl_c() -> None:
    """From now on: there is nothing that would have to be ended first. Where Ctrl-C is ignored, it stays so."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


@contextmanager
def loading() -> Iterator[None]:
    """Inside of it a Ctrl-C leaves at once, where a command would be interrupted: Python's imports swallow some of them."""
    before = signal.getsignal(signal.SIGINT)
    if getattr(before, "__module__", None) != "streamiter.cli.ending":
        yield  # somebody else's process, a test's
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(_: int, __: FrameType | None) -> None:
    os._exit(INTERRUPTED)
