"""The child: one process, started without a shell, in a group of its own; its lines as they come, and its certain end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from streamiter.multilang.command import Command
from streamiter.multilang.guarding import Guard
from streamiter.multilang.inlet import Inlet
from streamiter.multilang.stderr import Stderr
from streamiter.multilang.wire import Lines

logger = logging.getLogger("streamiter.multilang")

PIECE: Final = 1 << 18
WAITING_BYTES: Final = 1 << 22  # lines that were not looked at yet: above it, no more is read
CLOSED_SECONDS: Final = 1.0  # from the end of its output until it has to be gone
TERM_SECONDS: Final = 1.0  # from SIGTERM until SIGKILL
PARTIAL_SECONDS: Final = 1.0  # after so long, an unfinished line of standard error is shown

NOISE_SHOWN: Final = 1000
SHOWN: Final = 200  # characters of a line that is no message

_HERE: Final = Path(__file__).parent


class Child:
    """A process that speaks the protocol. `on_news` is called when a line came, or it ended."""

    def __init__(self, command: Command, guard: Guard, label: str) -> None:
        self.command = command
        self.turn = asyncio.Lock()  # who holds it has an action out
        self.label = label  # the shards that it works on
        self.listeners: set[Callable[[], None]] = set()
        self.is_broken = False  # it has to end: it failed one of its shards
        self.is_closed = False  # its output ended
        self.is_deaf = False  # it closed its input
        self.noise = 0  # lines that were no messages
        self._guard = guard
        self._transport: asyncio.SubprocessTransport | None = None
        self._streams: _Streams | None = None
        self._inlet: Inlet | None = None
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._room = asyncio.Event()
        self._stderr = Stderr()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Starts it."""
        command, pipe = self.command, await self._guard.start()
        trampoline = (sys.executable, "-I", "-S", str(_HERE / "trampoline.py"), str(pipe), str(command.memory_bytes))
        loop = asyncio.get_running_loop()
        self._inlet = Inlet()
        try:
            self._transport, self._streams = await loop.subprocess_exec(
                lambda: _Streams(PIECE, loop),
                *trampoline,
                *command.words,
                stdin=self._inlet.theirs,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=command.folder,
                env=dict(command.environment),
                pass_fds=(pipe,),
                start_new_session=True,
            )
        except BaseException:
            self._inlet.close()
            raise
        finally:
            os.close(self._inlet.theirs)
        self._guard.note(self.pid)
        self._tasks = [loop.create_task(work) for work in (self._read(), self._read_errors(), self._wait())]

    # -- what it is like

    @property
    def pid(self) -> int:
        """Its process, which its group is named after."""
        return 0 if self._transport is None else self._transport.get_pid()

    @property
    def code(self) -> int | None:
        """What it exited with; None while it lives."""
        return None if self._transport is None else self._transport.get_returncode()

    @property
    def has_ended(self) -> bool:
        """Whether it is gone, and all that it wrote was read."""
        return self.code is not None and self.is_closed

    @property
    def tail(self) -> str:
        """The last lines of its standard error."""
        return self._stderr.tail

    # -- talking

    def take(self) -> bytes | None:
        """The next line that came; None: none is there."""
        if not self._lines:
            return None
        line = self._lines.popleft()
        self._waiting -= len(line)
        self._room.set()
        return line

    def note_noise(self, line: bytes) -> None:
        """Logs a line that is no message; of very many, the first ones."""
        self.noise += 1
        if self.noise <= NOISE_SHOWN:
            shown = line[:SHOWN].decode("utf-8", "backslashreplace")
            logger.info("%s: no message, ignored: %s", self.label, shown)
        elif self.noise == NOISE_SHOWN + 1:
            logger.warning(
                "%s: it writes more than %d lines that are no messages: no more are shown", self.label, NOISE_SHOWN
            )

    async def write(self, line: bytes) -> None:
        """Sends a line; comes back once the pipe has all of it. A child that is gone is noticed by its end."""
        assert self._inlet is not None
        try:
            await self._inlet.write(line)
        except ConnectionError:
            self.is_deaf = True
            self._tell()

    # -- ending

    async def end(self) -> None:
        """The end of its input; after a grace, it and all that it started are killed. Comes back when it is gone."""
        self._close_input()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._tasks[2]), self.command.grace_seconds)
            return
        logger.warning(
            "%s: %s (pid %d) goes on after the end of its input: killed", self.label, self.command.name, self.pid
        )
        await self.kill()

    async def kill(self) -> None:
        """SIGTERM for its group, a moment, and SIGKILL. Comes back when it is gone."""
        self._close_input()
        if self.code is None:
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._tasks[2]), TERM_SECONDS)
                return
            self._signal(signal.SIGKILL)
        await self._tasks[2]

    def kill_now(self) -> None:
        """SIGKILL, without waiting."""
        if self.code is None:
            self._signal(signal.SIGKILL)

    # -- inside

    def _close_input(self) -> None:
        if self._inlet is not None:
            self._inlet.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _tell(self) -> None:
        for listener in list(self.listeners):
            listener()

    async def _read(self) -> None:
        assert self._streams is not None and self._streams.stdout is not None
        lines = Lines(self.command.line_limit)
        while piece := await self._streams.stdout.read(PIECE):
            too_long = lines.too_long
            for line in lines.feed(piece):
                if line and not line.isspace():
                    self._lines.append(line)
                    self._waiting += len(line)
            if lines.too_long > too_long:
                logger.warning("%s: a line above %d bytes is left out", self.label, self.command.line_limit)
            if self._lines:
                self._tell()
            while self._waiting > WAITING_BYTES:
                self._room.clear()
                await self._room.wait()
        self.is_closed = True
        self._tell()

    async def _read_errors(self) -> None:
        assert self._streams is not None and self._streams.stderr is not None
        stream = self._streams.stderr
        read: asyncio.Task[bytes] | None = None
        while True:
            read = read or asyncio.ensure_future(stream.read(PIECE))
            done, _ = await asyncio.wait({read}, timeout=PARTIAL_SECONDS)
            if not done:
                self._log(self._stderr.rest())
                continue
            piece, read = read.result(), None
            if not piece:
                self._log(self._stderr.rest())
                return
            self._log(self._stderr.feed(piece))

    def _log(self, lines: list[tuple[int, str]]) -> None:
        for level, text in lines:
            logger.log(level, "%s: %s", self.label, text)

    async def _wait(self) -> None:
        """Until it is gone; then all that it started is ended, too: it may hold the pipes open."""
        assert self._transport is not None and self._streams is not None
        await self._streams.exited.wait()
        self._signal(signal.SIGKILL)
        self._close_input()
        self._guard.forget(self.pid)
        _, reading = await asyncio.wait(self._tasks[:2], timeout=CLOSED_SECONDS)
        for task in reading:  # something outside of its group holds the pipe
            task.cancel()
        self._transport.close()
        self.is_closed = True
        self._tell()


class _Streams(asyncio.subprocess.SubprocessStreamProtocol):
    """Its pipes, and whether it is gone. `Process.wait` would wait for the pipes' ends, too, which others may hold open."""

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit, loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()
