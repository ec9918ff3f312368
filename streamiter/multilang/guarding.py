"""Guarding: starts the guard before the first child, starts another one if it dies, and tells it of the children."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

logger = logging.getLogger("streamiter.multilang")

_SCRIPT: Final = Path(__file__).parent / "guard.py"


class Guard:
    """The process that ends the children if the daemon is killed."""

    GRACE_SECONDS: Final = 1.0
    PAUSE_SECONDS: Final = 1.0  # before we try again to start one
    END_SECONDS: Final = 5.0  # how long it may take to end, its own grace included, before we kill it

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._groups: set[int] = set()  # the process groups of the children that live
        self._pipe: tuple[int, int] | None = None  # the end that it reads, and the end that we and the children write
        self._keeping: asyncio.Task[None] | None = None
        self.pid: int | None = None

    async def start(self) -> int:
        """The pipe through which children tell the guard of themselves. The first call starts the guard."""
        async with self._starting:
            if self._pipe is None:
                theirs, ours = os.pipe()
                try:
                    process = await _spawn(theirs)
                except BaseException:
                    os.close(theirs)
                    os.close(ours)
                    raise
                self._pipe = theirs, ours
                self.pid, self._keeping = process.pid, asyncio.create_task(self._keep(process))
            return self._pipe[1]

    def note(self, group: int) -> None:
        """This group lives. Its process told the guard so itself, but that guard may have died before it read it."""
        self._groups.add(group)
        self._say(b"+%d\n" % group)

    def forget(self, group: int) -> None:
        """This group has ended."""
        self._groups.discard(group)
        self._say(b"-%d\n" % group)

    async def close(self) -> None:
        """Ends the guard: no child is left."""
        if self._pipe is not None and self._keeping is not None:
            (theirs, ours), self._pipe = self._pipe, None
            os.close(ours)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._keeping, self.END_SECONDS)
            os.close(theirs)

    # -- inside

    def _say(self, line: bytes) -> None:
        if self._pipe is not None:
            with suppress(OSError):
                os.write(self._pipe[1], line)

    async def _keep(self, process: asyncio.subprocess.Process) -> None:
        """If the guard dies, starts another one on the same pipe, and tells it of the children that live."""
        while True:
            self.pid = process.pid
            try:
                await process.wait()
            except asyncio.CancelledError:
                process.kill()
                await process.wait()
                raise
            if self._pipe is None:
                return
            told = "the guard (pid %d), which ends the children if this daemon is killed, is gone; another one begins"
            logger.warning(told, process.pid)
            while self._pipe is not None:
                try:
                    process = await _spawn(self._pipe[0])
                    break
                except OSError as error:
                    logger.error("no guard can be started: %s; again in %.0f s", error.strerror, self.PAUSE_SECONDS)
                    await asyncio.sleep(self.PAUSE_SECONDS)
            for group in self._groups:
                self._say(b"+%d\n" % group)


async def _spawn(theirs: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_SCRIPT), str(Guard.GRACE_SECONDS)),
        stdin=theirs,
        stdout=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
