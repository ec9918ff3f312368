"""The inlet: the pipe into a child: lines go in as there is room for them, and are copied nowhere on the way."""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import suppress
from typing import Final

PIPE_BYTES: Final = 1 << 20  # what a pipe holds, where the system lets us have so much


class Inlet:
    """Made before the child is; `theirs` becomes its standard input, and is then closed here. All of it on the loop."""

    # Not a StreamWriter: that copies what the pipe has no room for, and moves it with each further write. Lines have megabytes.

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()
        os.set_blocking(self._ours, False)
        widen(self._ours)
        self._is_open = True
        self._turn = asyncio.Lock()  # lines of two shards do not mix
        self._room: asyncio.Future[None] | None = None

    async def write(self, line: bytes) -> None:
        """Comes back when all of it is in the pipe; ConnectionError where nobody reads it."""
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
        """The child sees the end of its input; what was not written is not."""
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
    """Lets a pipe hold more: a message takes fewer turns then."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # the user has as many pages in pipes as the system allows
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
