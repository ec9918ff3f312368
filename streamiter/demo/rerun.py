"""The rerun: the same stream read by a process that is killed, and by another that goes on from its token."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from streamiter.demo.law import Name
from streamiter.demo.reader import load, reading
from streamiter.demo.screen import MARGIN, Screen
from streamiter.terminal import Span
from streamiter.testing import Simulator

PAUSE = 0.03  # seconds a record, so that a reader can follow
LABEL = 10  # characters


class Rerun:
    """Runs the reader, and draws a row of what it reads: for each record, the number of its shard."""

    def __init__(self, screen: Screen, sim: Simulator, file: Path) -> None:
        self._screen = screen
        self._sim = sim
        self._file = file

    @property
    def saved(self) -> list[Name]:
        """The records in the reader's file."""
        return load(self._file).records

    def run_and_kill(self, after: int, hanging: str) -> None:
        """Kills the reader once it told of so many records; its call for a shard hangs, so it cannot be through before."""
        fault = self._sim.fault("GetRecords", hanging, kind="hang", times=None)
        self._begin_row("reader")
        with reading(self._sim.endpoint_url, self._sim.stream_arn, self._file) as process:
            told = 0
            for shard in process.shards():
                self._mark(shard)
                told += 1
                if told == after:
                    process.kill()
            died_of = process.wait()
        self._sim.heal(fault)
        if died_of != signal.SIGKILL:
            raise ChildProcessError(f"the demo's reader ended by itself, after {told} records: it was to be killed")
        for shard, _ in self.saved[told:]:  # It died after it had saved, before it could tell.
            self._mark(shard)
        self._end_row(Span(" ✗ kill -9", "bad"))

    def resume(self) -> None:
        """Another process goes on where the file stands, to the end of what the service holds."""
        self._begin_row("resumed", len(self.saved))
        with reading(self._sim.endpoint_url, self._sim.stream_arn, self._file) as process:
            for shard in process.shards():
                self._mark(shard)
            if process.wait() is not None:
                raise ChildProcessError("the demo's reader was killed, and not by the demo")
        self._end_row()

    def show(self, label: str, names: Sequence[Name]) -> None:
        """A row to compare with."""
        self._begin_row(label)
        self._screen.piece([Span(shard.removeprefix("S"), shard=shard) for shard, _ in names])
        self._end_row()

    # -- rows

    def _begin_row(self, label: str, blanks: int = 0) -> None:
        self._screen.piece([MARGIN, Span(f"{label:{LABEL}}" + " " * blanks, "dim")])

    def _mark(self, shard: str) -> None:
        self._screen.piece([Span(shard.removeprefix("S"), shard=shard)], pause=PAUSE)

    def _end_row(self, *spans: Span) -> None:
        self._screen.line(spans)
