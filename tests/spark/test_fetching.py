"""Fetching: calls go on while pages are worked on; what goes wrong ahead is told in its turn, and nothing comes twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from streamiter import TransientError
from streamiter.errors import IteratorExpired, PositionTrimmed
from streamiter.position import Horizon, Position
from streamiter.reading.schedule import UNPAUSED_EMPTIES
from streamiter.source.base import Page, ShardIterator, Source
from streamiter.spark.tasks.fetching import EMPTY_PAUSE_SECONDS, pages
from streamiter.testing import ManualClock
from tests.stream.helpers import soon

SECOND = 1_000_000


class Script:
    """A source of one shard whose calls go as they are written: an error, or a page of its number; the last one ends it."""

    page_limit = 1000

    def __init__(self, *calls: Exception | int, rest_us: int = 0) -> None:
        self.opened: list[Position] = []
        self.asked = 0
        self.last = max(call for call in calls if isinstance(call, int))
        self._calls = list(calls)
        self._rest_us = rest_us

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        self.opened.append(position)
        return ShardIterator(shard_id, None)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        call = self._calls[self.asked]
        self.asked += 1
        if isinstance(call, Exception):
            raise call
        following = None if call == self.last else ShardIterator("S0", call)
        return Page([], following, call, rest_us=self._rest_us)


class Reading:
    """Reads the shard of a script, and notes what came."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.clock = ManualClock()
        self.came: list[int | None] = []

    def place(self) -> Position:
        return Horizon(len(self.came))  # as a lane would: behind what was worked on

    def read(self, each: Callable[[], None] = lambda: None) -> list[int | None]:
        source: Source = self.script
        with closing(pages(source, "S0", self.place, self.clock)) as told:
            for page in told:
                self.came.append(page.service_us)
                each()
        return self.came


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "streamiter-ahead"]


def test_calls_go_on_while_a_page_is_worked_on():
    reading = Reading(Script(1, 2, 3, 4, 5))
    ahead: list[int] = []

    def work() -> None:
        wanted = min(len(reading.came) + 2, 5)
        soon(lambda: reading.script.asked == wanted)
        ahead.append(wanted)

    assert reading.read(work) == [1, 2, 3, 4, 5]
    assert ahead == [3, 4, 5, 5, 5], "two pages ahead, not more"


def test_an_iterator_that_expired_ahead_is_renewed_behind_what_came():
    reading = Reading(Script(1, 2, IteratorExpired("too old"), 3))
    assert reading.read(lambda: soon(lambda: reading.script.asked >= 3)) == [1, 2, 3]
    assert reading.script.opened == [Horizon(0), Horizon(2)]
    assert reading.clock.monotonic() == 0


def test_iterators_that_expire_at_once_are_not_asked_for_without_a_pause_nor_for_ever():
    expired = IteratorExpired("too old")
    reading = Reading(Script(1, expired, expired, 2))
    assert reading.read() == [1, 2]
    assert 0 < reading.clock.monotonic() < 1
    with pytest.raises(IteratorExpired, match="gave nothing but errors for 60 s"):
        Reading(Script(*[expired] * 1000, 1)).read()


def test_a_fault_is_waited_out_and_the_same_page_asked_for_again():
    fault = TransientError("cut off")
    reading = Reading(Script(1, fault, fault, 2, fault, 3))
    assert reading.read() == [1, 2, 3]
    assert reading.script.opened == [Horizon(0)]
    assert 0.1 + 0.2 + 0.1 <= reading.clock.monotonic() <= 1.5 * (0.1 + 0.2 + 0.1), "the pauses of a stream's calls"


def test_a_fault_that_lasts_is_told_after_all_that_came_before_it():
    reading = Reading(Script(1, 2, *[TransientError("cut off")] * 100, 3))
    told = "shard S0 gave nothing but errors for 60 s .*; nothing is lost, the query can be started again; .*cut off"
    with pytest.raises(TransientError, match=told):
        reading.read()
    assert reading.came == [1, 2]
    soon(lambda: not threads())


def test_what_cannot_be_waited_out_is_told_in_its_turn():
    reading = Reading(Script(1, 2, PositionTrimmed("trimmed"), 3))
    with pytest.raises(PositionTrimmed):
        reading.read(lambda: soon(lambda: reading.script.asked >= 3))
    assert reading.came == [1, 2]
    soon(lambda: not threads())


def test_a_shard_is_left_alone_as_long_as_the_service_wants():
    reading = Reading(Script(1, 2, 3, rest_us=2 * SECOND))
    asked: list[int] = []
    assert reading.read(lambda: asked.append(reading.script.asked)) == [1, 2, 3]
    assert asked == [1, 2, 3], "nothing is asked for ahead of its time"
    assert reading.clock.monotonic() == 4


def test_a_shard_whose_end_does_not_show_is_asked_less_often():
    reading = Reading(Script(*range(UNPAUSED_EMPTIES + 9)))
    reading.read()
    assert reading.clock.monotonic() == 8 * EMPTY_PAUSE_SECONDS


def test_who_stops_in_the_middle_leaves_no_thread():
    source: Source = Script(*range(20))
    told = pages(source, "S0", Horizon, ManualClock())
    assert next(told).service_us == 0
    assert threads()
    told.close()
    soon(lambda: not threads())
