"""Ctrl-C at any instruction of ours: a batch or a table comes whole or not at all, and the token says which."""

from __future__ import annotations

import dis
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import streamiter
from streamiter import ChangeRecord, Stream
from streamiter.testing import ManualClock
from tests.stream.family import drained, family, numbers, read

pytestmark = pytest.mark.outdoors

OURS = str(Path(streamiter.__file__).parent)
NOT_TRIED = str(Path(OURS, "testing"))  # the clock turned by hand is the caller's
ALL = list(range(1, 13))


class Interrupt:
    """Raises KeyboardInterrupt before the nth instruction of ours on this thread; counts them where it is never reached."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.seen = 0
        self.where = ""

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(OURS) or path.startswith(NOT_TRIED):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._look

    def _look(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "opcode":
            self.seen += 1
            if self.seen == self.at:
                name = next((i.opname for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti), "")
                self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_qualname} {name}"
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._look

    @contextmanager
    def running(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            yield
        finally:
            sys.settrace(before)


# What comes is taken over by a C function: not an instruction of Python's lies between ours and the list.


def followed(stream: Stream, came: list[int]) -> None:
    records: list[ChangeRecord] = []
    try:
        records.extend(stream.follow(until="caught_up"))
    finally:
        came.extend(numbers(records))


def looped(stream: Stream, came: list[int]) -> None:
    records: list[ChangeRecord | None] = []
    try:
        while len(records) < 2 or records[-2:] != [None, None]:
            records.extend(islice(stream, 3))
    finally:
        came.extend(numbers([record for record in records if record is not None]))


def batches_of(size: int) -> Callable[[Stream, list[int]], None]:
    def read_on(stream: Stream, came: list[int]) -> None:
        batches: list[list[ChangeRecord]] = []
        try:
            batches.extend(stream.batches(size, until="caught_up"))
        finally:
            came.extend(numbers([record for batch in batches for record in batch]))

    return read_on


def table(stream: Stream, came: list[int]) -> None:
    found = stream.to_arrow()
    came.extend(map(int, found["sequence_number"].to_pylist()))


def leaves_no_choice(interrupt: Interrupt) -> bool:
    """Whether Ctrl-C came between the last instruction of ours and the caller: no signal's handler runs there."""
    return interrupt.where.endswith("Stream.to_arrow RETURN_VALUE")


def tried(read_on: Callable[[Stream, list[int]], None], at: int, **options: Any) -> Interrupt:
    """Reads with an interrupt at that instruction, then what is left; checks all that is promised."""
    clock, interrupt, came = ManualClock(), Interrupt(at), []
    with read(family(stays_open=True), clock=clock, **options) as stream:
        try:
            with interrupt.running():
                read_on(stream, came)
        except KeyboardInterrupt:
            pass
        if leaves_no_choice(interrupt):
            return interrupt
        token = json.loads(json.dumps(stream.token))
        assert token.get("clock", 0) == stream.stats.records == len(came), interrupt.where
        rest = drained(stream, clock, ALL[-1]) if len(came) < len(ALL) else []
        assert came + numbers(rest) == ALL, interrupt.where
        assert [record.clock for record in rest] == ALL[len(came) :], interrupt.where
        assert stream.stats.records == len(ALL), interrupt.where
    with read(family(stays_open=True), token, clock=clock) as again:
        assert came + [int(record.number) for record in again.follow(until="caught_up")] == ALL, interrupt.where
    return interrupt


WAYS = {"follow": followed, "loop": looped, "batches": batches_of(5), "batches of one": batches_of(1), "a table": table}
OPTIONS: dict[str, dict[str, Any]] = {"plain": {}, "model": {"model": dict}, "told": {"on_event": lambda event: None}}
TRIED = 25  # of each; of the 70,000 to 145,000 that a way takes, each 17th was tried once, in an hour


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_all_comes_or_nothing(way: str, options: str):
    whole = tried(WAYS[way], 0, **OPTIONS[options])
    assert not whole.where
    step = whole.seen // TRIED
    for at in range(1 + zlib.crc32(f"{way} {options}".encode()) % step, whole.seen, step):
        tried(WAYS[way], at, **OPTIONS[options])


@pytest.mark.parametrize("way", ["batches", "batches of one", "follow"])
def test_all_comes_or_nothing_on_the_last_way_out(way: str):
    """The instructions through which the first batch leaves: each of them."""
    at = first_way_out(WAYS[way])
    for instruction in range(max(1, at - 60), at + 10):
        tried(WAYS[way], instruction)


def first_way_out(read_on: Callable[[Stream, list[int]], None]) -> int:
    """About which instruction is the last one before the first records are given."""
    interrupt = Interrupt(0)
    with read(family(stays_open=True)) as stream, interrupt.running():
        if read_on is WAYS["follow"]:
            next(stream.follow(until="caught_up"))
        else:
            next(stream.batches(5 if read_on is WAYS["batches"] else 1, until="caught_up"))
        return interrupt.seen
