"""The child: one process of the user's command: how we start it, read its lines, write to it, and make sure that it ends.

It runs without a shell, in a process group of its own, so that we can end whatever it starts, too.
"""

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
WAITING_BYTES: Final = 1 << 22  # when so many bytes of lines wait to be taken, we stop reading its output
CLOSED_SECONDS: Final = 1.0  # how long it may live on after it closed its output
TERM_SECONDS: Final = 1.0  # from SIGTERM until SIGKILL
PARTIAL_SECONDS: Final = 1.0  # after so long, we log a line of standard error though its end has not come

NOISE_SHOWN: Final = 1000  # how many lines that are no messages we log
BLANKS: Final = b" \t\r\xef\xbb\xbf"  # also the byte order mark that some runtimes write before their first line
SHOWN: Final = 200  # how many characters of such a line we log

_HERE: Final = Path(__file__).parent


class Child:
    """A process that speaks the protocol. It calls its `listeners` when a line came, and when it ended."""

    def __init__(self, command: Command, guard: Guard, label: str) -> None:
        self.command = command
        self.turn = asyncio.Lock()  # held by the lease whose action the child works on
        self.label = label  # names it in logs
        self.listeners: set[Callable[[], None]] = set()
        self.is_broken = False  # it failed one of its shards, so it has to end
        self.is_closed = False  # it closed its output
        self.is_deaf = False  # it closed its input
        self.noise = 0  # how many lines were no messages
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
        """Starts the process, and the tasks that read from it and wait for its end."""
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

    # -- questions

    @property
    def pid(self) -> int:
        """The process's id, which is its group's id, too; 0 before the start."""
        return 0 if self._transport is None else self._transport.get_pid()

    @property
    def code(self) -> int | None:
        """Its exit code, below 0 for a signal; None while it lives."""
        return None if self._transport is None else self._transport.get_returncode()

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone, and we have read all that it wrote."""
        return self.code is not None and self.is_closed

    @property
    def tail(self) -> str:
        """The last lines of its standard error."""
        return self._stderr.tail

    # -- talking

    def take(self) -> bytes | None:
        """The next line that came; None if none waits."""
        if not self._lines:
            return None
        line = self._lines.popleft()
        self._waiting -= len(line)
        self._room.set()
        return line

    def note_noise(self, line: bytes) -> None:
        """Logs a line that is no message, up to NOISE_SHOWN of them."""
        self.noise += 1
        if self.noise <= NOISE_SHOWN:
            shown = line[:SHOWN].decode("utf-8", "backslashreplace")
            logger.info("%s: no message, ignored: %s", self.label, shown)
        elif self.noise == NOISE_SHOWN + 1:
            logger.warning(
                "%s: it writes more than %d lines that are no messages: no more are shown", self.label, NOISE_SHOWN
            )

    async def write(self, line: bytes) -> None:
        """Sends a line, and returns once the pipe has all of it. If the child has closed its input, sets `is_deaf`."""
        assert self._inlet is not None
        try:
            await self._inlet.write(line)
        except ConnectionError:
            self.is_deaf = True
            self._tell()

    # -- ending

    async def end(self) -> None:
        """Closes its input, and kills it and all that it started if it lives on after its grace. Returns when it is gone."""
        self._close_input()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._tasks[2]), self.command.grace_seconds)
            return
        logger.warning(
            "%s: %s (pid %d) goes on after the end of its input: killed", self.label, self.command.name, self.pid
        )
        await self.kill()

    async def kill(self) -> None:
        """Sends its group SIGTERM, and after TERM_SECONDS SIGKILL. Returns when it is gone."""
        self._close_input()
        if self.code is None:
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._tasks[2]), TERM_SECONDS)
                return
            self._signal(signal.SIGKILL)
        await self._tasks[2]

    def kill_now(self) -> None:
        """Sends SIGKILL, and does not wait."""
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
                self._sort_in(line)
            if lines.too_long > too_long:
                logger.warning("%s: a line above %d bytes is left out", self.label, self.command.line_limit)
            if self._lines:
                self._tell()
            while self._waiting > WAITING_BYTES:
                self._room.clear()
                await self._room.wait()
        self.is_closed = True
        self._tell()

    def _sort_in(self, line: bytes) -> None:
        # A line that cannot be a message is logged at once, so that it takes no room among those that wait: a child may write
        # many of them before it reads our message.
        start = line.lstrip(BLANKS)[:1]
        if start == b"{":
            self._lines.append(line)
            self._waiting += len(line)
        elif start:
            self.note_noise(line)

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
        """Waits until the process is gone. Then kills all that it started, which may hold its pipes open."""
        assert self._transport is not None and self._streams is not None
        await self._streams.exited.wait()
        self._signal(signal.SIGKILL)
        self._close_input()
        self._guard.forget(self.pid)
        _, reading = await asyncio.wait(self._tasks[:2], timeout=CLOSED_SECONDS)
        for task in reading:  # a process that has left the group holds the pipe open
            task.cancel()
        self._transport.close()
        self.is_closed = True
        self._tell()


class _Streams(asyncio.subprocess.SubprocessStreamProtocol):
    """The child's pipes, and its exit. `Process.wait` would also wait until the pipes close; other processes may hold them."""

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit, loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()
