"""The journal: what was printed, and the token after it: first the lines go out, then the token is saved.

However a reader ends, killed or not, the saved token is never beyond what was printed: running it again may print some
lines twice, and skips none.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any, TextIO

from streamiter.cli.files.tokenfile import TokenFile
from streamiter.cli.terminal.status import StatusLine
from streamiter.clock import Clock

MOST_LINES = 500  # printed together
FLUSH_SECONDS = 0.05  # while records pour in
SAVE_SECONDS = 0.5  # while records pour in; at each pause anyway
IDLE_SECONDS = 60.0  # where nothing comes: the token of a quiet stream moves, too, and an old one would be a gap


class Journal:
    """Collects lines, prints them, and saves the token after them."""

    def __init__(self, out: TextIO, clock: Clock, token_file: TokenFile | None, status: StatusLine) -> None:
        self.token: Callable[[], dict[str, Any]] | None = None  # gives the stream's token
        self._out = out
        self._clock = clock
        self._token_file = token_file
        self._status = status if out.isatty() else None  # else they are not on the same terminal
        self._lines: list[str] = []
        self._is_ahead = False  # records were taken since the last flush, printed or left out
        self._printed: dict[str, Any] | None = None  # the token after all that is printed, where it is not saved yet
        self._flushed = self._saved = clock.monotonic()

    def add(self, line: str | None) -> None:
        """A record was taken: its line, or None where it is not to be printed."""
        self._is_ahead = True
        if line is not None:
            self._lines.append(line)
        now = self._clock.monotonic()
        # The first line after a pause goes out at once; those right behind it together.
        if now - self._flushed >= FLUSH_SECONDS or len(self._lines) >= MOST_LINES:
            self.flush()
            if now - self._saved >= SAVE_SECONDS:
                self.save()

    def say(self, line: str) -> None:
        """A line that is no record's."""
        self._lines.append(line)

    def flush(self) -> None:
        """Prints. Only to be called where every record that was taken was added."""
        if not self._is_ahead and self._clock.monotonic() - self._flushed < IDLE_SECONDS:
            return
        # Taken before printing: a Ctrl-C right after that is to find it here.
        printed = self.token() if self._token_file is not None and self.token is not None else None
        if self._lines:
            self._print("\n".join(self._lines) + "\n")
        self._printed = printed
        self._lines.clear()
        self._is_ahead = False
        self._flushed = self._clock.monotonic()

    def _print(self, text: str) -> None:
        if self._status is not None:
            self._status.hide()
        self._out.write(text)
        self._out.flush()
        if self._status is not None:
            self._status.show()

    def save(self) -> None:
        """Saves the token after what is printed; also safe in the middle of an ending."""
        if self._printed is not None and self._token_file is not None:
            self._token_file.save(self._printed)
            self._printed = None
            self._saved = self._clock.monotonic()

    def settle(self) -> None:
        """Prints and saves: all is done, or there is a pause. A reader that is gone is noticed, though nothing is printed."""
        self.flush()
        self.save()
        if is_broken_pipe(self._out):
            raise BrokenPipeError


def is_broken_pipe(out: TextIO) -> bool:
    """Whether the reader at the other end is gone."""
    try:
        poll = select.poll()
        poll.register(out.fileno(), 0)  # errors are told unasked
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (OSError, ValueError, AttributeError):  # no file, or a system without poll
        return False
