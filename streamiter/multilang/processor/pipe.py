"""The pipe: the two descriptors between a daemon and its child, put aside so that no other code of the process uses them."""

from __future__ import annotations

import os
import sys
from typing import Protocol

READ_BYTES = 1 << 18
_PIPE_BYTES = 1 << 20  # what Linux lets anyone ask for: a page of records needs fewer turns
_F_SETPIPE_SZ = 1031


class DaemonGone(SystemExit):
    """The daemon ended, or closed the pipe, while something was asked of it. It ends the process, as SystemExit does."""


class Pipe(Protocol):
    """Lines in, lines out."""

    def read(self) -> bytes | None:
        """The next line; None at the end of input. What follows the last line's end is no message."""

    def write(self, line: bytes) -> None:
        """Writes all of it at once; raises DaemonGone if the daemon reads no more."""


class StandardPipe:
    """Standard input and output, taken away from everything else.

    From here on, what is written to standard output goes to standard error: print(), C code and subprocesses alike.
    Standard input is empty for them, so that a subprocess cannot read the daemon's messages. A process that is forked does not
    keep the pipe open.
    """

    def __init__(self) -> None:
        self._in, self._out = _put_aside(0, os.open(os.devnull, os.O_RDONLY)), _put_aside(1, os.dup(2))
        if sys.stdout is not None and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(line_buffering=True)  # what is printed stands among the lines of the logs
        _enlarge(self._in)
        self._lines = open(self._in, "rb", buffering=READ_BYTES, closefd=False)  # noqa: SIM115 - it lives as long as the process
        self._is_open = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.close)

    @property
    def descriptor(self) -> int:
        """The descriptor that the daemon's messages come from."""
        return self._in

    def read(self) -> bytes | None:
        """The next line, cut at \\n and nowhere else."""
        line = self._lines.readline()
        return line if line.endswith(b"\n") else None

    def write(self, line: bytes) -> None:
        """Writes all of it."""
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._out, rest) :]
        except OSError as error:
            raise DaemonGone("streamiter: the daemon is gone; this child ends") from error

    def close(self) -> None:
        """Closes our output, so that the daemon sees its end at once, even if this process lives on."""
        if self._is_open:
            self._is_open = False
            os.close(self._in)
            os.close(self._out)


def _put_aside(number: int, instead: int) -> int:
    """Moves a descriptor to a new number, which subprocesses do not inherit, and puts `instead` in its old place."""
    kept = os.dup(number)
    os.dup2(instead, number)
    os.close(instead)
    return kept


def _enlarge(descriptor: int) -> None:
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(descriptor, _F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:
            return  # it is no pipe, or this user has too many large ones
