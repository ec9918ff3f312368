"""The inlet: the pipe into a child, which takes lines as it has room for them, without copying them."""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import suppress
from typing import Final

PIPE_BYTES: Final = 1 << 20  # how much we ask the system to let a pipe hold


class Inlet:
    """Made before the child: `theirs` becomes the child's standard input, and then we close our copy of it.

    To be used on the event loop alone.
    """

    # Not a StreamWriter: it copies all that does not fit into the pipe, and moves the copy with each further write. Our lines
    # have megabytes.

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()
        os.set_blocking(self._ours, False)
        widen(self._ours)
        self._is_open = True
        self._turn = asyncio.Lock()  # lines of two shards do not mix
        self._room: asyncio.Future[None] | None = None

    async def write(self, line: bytes) -> None:
        """Returns when all of it is in the pipe; raises ConnectionError if the child reads no more."""
        async with self._turn:
            rest = memoryview(line)
            while rest:
                if not self._is_open:
                    raise BrokenPipeError
                try:
                    rest = rest[os.write(self._ours, rest) :]
                except BlockingIOError:
                    await self._wait_for_room()

    def close(self) -> None:
        """Ends the child's input. What is not in the pipe yet is not written."""
        if self._is_open:
            self._is_open = False
            if self._room is not None:
                self._room.get_loop().remove_writer(self._ours)
                _wake(self._room)
            os.close(self._ours)

    async def _wait_for_room(self) -> None:
        loop = asyncio.get_running_loop()
        self._room = loop.create_future()
        loop.add_writer(self._ours, _wake, self._room)
        try:
            await self._room
        finally:
            self._room = None
            if self._is_open:
                loop.remove_writer(self._ours)


def _wake(room: asyncio.Future[None]) -> None:
    if not room.done():
        room.set_result(None)


def widen(pipe: int) -> None:
    """Lets a pipe hold more, so that a message takes fewer turns."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # the system allows each user so much memory in pipes, and no more
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
