"""Signals that end a process of workers: the first one asks it to stop, the second one ends it at once."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

logger = logging.getLogger("streamiter.app")

_STOPS = "%s stops: what runs may finish; a second signal ends it at once"


class Stoppable(Protocol):
    """An app, or several."""

    name: str

    def stop(self) -> None:
        """Any thread may call it."""


@contextmanager
def stopping_by_signals(app: Stoppable) -> Iterator[None]:
    """SIGTERM, Ctrl-C and SIGHUP stop the app; a second one of the first two ends the process at once.

    A terminal that closes sends SIGHUP, more than once perhaps, and systemd sends it right behind SIGTERM: it never ends the
    process at once, also after the app has stopped. Where it is ignored, as by nohup, it stays so.
    """
    if os.name == "nt" or threading.current_thread() is not threading.main_thread():
        yield  # there Ctrl-C cancels, and nothing else can be caught
        return
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        if number != signal.SIGHUP and any(earlier != signal.SIGHUP for earlier in seen):
            os._exit(128 + number)
        seen.append(number)
        app.stop()
        loop.call_soon_threadsafe(logger.info, _STOPS, app.name)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        for number in numbers:
            loop.add_signal_handler(number, lambda: None)  # wakes the loop, whichever thread got the signal
            signal.signal(number, stop)  # and this is called also where the loop hangs in a function of the user's
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
            handler = before[number] or signal.SIG_DFL
            # A SIGHUP that comes only now repeats the request, which we have met.
            is_met = number == signal.SIGHUP and seen and handler == signal.SIG_DFL
            signal.signal(number, signal.SIG_IGN if is_met else handler)
