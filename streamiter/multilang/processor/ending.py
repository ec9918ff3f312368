"""Endings: how a child ends other than by the end of its input: by a signal, or because the daemon died while it worked."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from types import FrameType

from streamiter.clock import Clock

GRACE = 30.0
KILLED = 137  # as shells report a process that was killed


class Watch:
    """Ends the process `grace` seconds after the daemon is gone, or after SIGTERM, if it still runs then.

    Ctrl-C reaches a daemon and its children at once, and so does SIGTERM under systemd. The daemon then asks its children to
    leave, one by one, so that their work is kept: a child that ended by itself would lose it. So SIGINT and SIGHUP are left to
    the daemon, and SIGTERM counts once the daemon did nothing about it for `grace` seconds. A second SIGTERM ends the process
    at once. On a terminal, where there is no daemon, Ctrl-C ends the child as any program.
    """

    def __init__(self, descriptor: int, grace: float, clock: Clock) -> None:
        self._descriptor = descriptor
        self._grace = grace
        self._clock = clock
        self._is_terminating = False
        self._is_over = False

    def begin(self) -> None:
        """Begins to watch the daemon, and handles signals, if this thread may and the program has no handlers of its own."""
        if threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL or _is_of_the_command(signal.SIGTERM):
                signal.signal(signal.SIGTERM, self._terminate)
            ctrl_c = signal.getsignal(signal.SIGINT)
            if not os.isatty(self._descriptor) and (
                ctrl_c is signal.default_int_handler or _is_of_the_command(signal.SIGINT)
            ):
                signal.signal(signal.SIGINT, _leave_it_to_the_daemon)
            if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
                signal.signal(signal.SIGHUP, _leave_it_to_the_daemon)  # of a terminal that closes
        if hasattr(select, "poll"):
            self._start(self._wait_for_hang_up)

    def end(self) -> None:
        """Ends the watch: the conversation is over. The program may go on for as long as it likes, except after SIGTERM."""
        self._is_over = not self._is_terminating

    def _start(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name="streamiter-watch", daemon=True).start()

    def _wait_for_hang_up(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, 0)  # a hang-up is told without being asked for
        try:
            told = poll.poll()
        except OSError:
            return
        if any(event & select.POLLHUP for _, event in told):
            self._leave_within("the daemon is gone")

    def _terminate(self, number: int, _: FrameType | None) -> None:
        if self._is_terminating:
            os._exit(128 + number)
        self._is_terminating = True
        self._start(lambda: self._leave_within("SIGTERM came", 128 + number))

    def _leave_within(self, why: str, code: int = KILLED) -> None:
        self._clock.sleep(self._grace)
        if not self._is_over:
            still = f"the processor still works after {self._grace:g} s: the child ends, and its records come again"
            told = f"streamiter: {why}, and {still}\n"
            os.write(2, told.encode())
            os._exit(code)


def end_within(grace: float, code: int, clock: Clock) -> None:
    """Ends the process with this code after so many seconds, if threads of the processor keep it alive."""

    def end() -> None:
        clock.sleep(grace)
        os._exit(code)

    threading.Thread(target=end, name="streamiter-end", daemon=True).start()


def _leave_it_to_the_daemon(_: int, __: FrameType | None) -> None:
    """Ignores a signal. It is not SIG_IGN, which the processor's own subprocesses would inherit: Ctrl-C must end them."""


def _is_of_the_command(number: int) -> bool:
    """Whether our command line has set the handler of this signal."""
    return getattr(signal.getsignal(number), "__module__", "").startswith("streamiter.cli.")
