"""The width: fewer calls side by side where the processor is what they wait for, more where it is the network."""

from __future__ import annotations

from collections import Counter
from threading import Thread, get_ident
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.clock import Effort
from streamiter.driving.threads import BUSY, IDLE, LEAST, WINDOW_US, Threads, Width


def pass_windows(width: Width, share: float, count: int, now_us: int = 0) -> int:
    """So many windows in which the processor was busy for a share of the time."""
    width.note(0, now_us)
    for _ in range(count):
        now_us += WINDOW_US
        width.note(int(share * WINDOW_US), now_us)
    return now_us


@given(
    st.integers(1, 64),
    st.lists(st.tuples(st.integers(0, 300_000), st.integers(0, 200_000)), max_size=60),
)
def test_it_stays_between_what_is_allowed_and_what_reading_needs(most: int, told: list[tuple[int, int]]):
    width, now_us = Width(most), 0
    for busy_us, passed_us in told:
        now_us += passed_us
        width.note(busy_us, now_us)
        assert min(most, LEAST) <= width.now <= most


def test_where_calls_wait_for_the_processor_alone_two_are_left():
    width = Width(32)
    pass_windows(width, 1.2, 20)
    assert width.now == LEAST


def test_where_they_wait_for_the_network_all_are_made():
    width = Width(32)
    now_us = pass_windows(width, 1.2, 20)
    pass_windows(width, 0.3, 20, now_us)
    assert width.now == 32


@pytest.mark.parametrize("share", [IDLE + 0.01, BUSY - 0.01])
def test_in_between_it_stays_as_it_is(share: float):
    width = Width(32)
    now_us = pass_windows(width, 1.2, 2)
    before = width.now
    pass_windows(width, share, 50, now_us)
    assert LEAST < width.now == before < 32


def test_a_moment_says_nothing():
    width = Width(32)
    for now_us in range(0, WINDOW_US, 1000):
        width.note(1_000_000, now_us)
    assert width.now == 32


def test_calls_that_hang_do_not_keep_others_from_being_made():
    width = Width(32)
    now_us = pass_windows(width, 1.2, 20)
    for _ in range(20):  # nothing is heard, and nothing is busy
        now_us += WINDOW_US
        width.note(0, now_us)
    assert width.now == 32


class HandEffort(Effort):
    """Turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self._busy: Counter[int] = Counter()  # each thread has an account of its own

    def work(self, seconds: float) -> None:
        self._busy[get_ident()] += round(seconds * 1e6)

    def passed_us(self) -> int:
        return round(self.now * 1e6)

    def busy_us(self) -> int:
        return self._busy[get_ident()]


@pytest.fixture
def hand() -> HandEffort:
    return HandEffort()


def passing(hand: HandEffort, made: Threads, *, busy: float, raises: bool = False) -> None:
    """A call of 100 ms, of which the processor is busy for a share."""

    def call() -> Any:
        hand.work(0.1 * busy)
        if raises:
            raise ValueError

    made.submit("job", call)
    hand.now += 0.1
    (answer,) = made.answers(10.0)
    assert isinstance(answer.error, ValueError) is raises


@pytest.mark.parametrize("raises", [False, True])
def test_room_follows_how_busy_calls_were(hand: HandEffort, raises: bool):
    made = Threads(8, hand)
    assert made.room == 8
    for _ in range(12):
        passing(hand, made, busy=1.5, raises=raises)
    assert made.room == LEAST
    for _ in range(12):
        passing(hand, made, busy=0.1, raises=raises)
    assert made.room == 8
    made.close()


def test_so_it_does_how_busy_the_reader_was(hand: HandEffort):
    made = Threads(8, hand)
    for _ in range(12):
        hand.work(0.15)
        hand.now += 0.1
        assert made.answers() == []
    assert made.room == LEAST
    made.close()


def test_a_reader_that_goes_on_in_another_thread_is_not_taken_for_busy(hand: HandEffort):
    made = Threads(8, hand)
    hand.work(100.0)
    for _ in range(12):
        hand.now += 0.1
        reader = Thread(target=made.answers)
        reader.start()
        reader.join()
        hand.now += 0.1
        made.answers()
    assert made.room == 8
    made.close()
