"""Steps: who does them waits; they are broken off at a wait, and time may be up for them."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter.steps import ANSWERS, Answers, Call, Pause, Steps, Wait, by_clock, finish, within
from streamiter.testing import ManualClock


def counting(told: list[Any], waits: list[Wait]) -> Steps[int]:
    """Waits as told; notes what it was given, and how it ended."""
    try:
        for wait in waits:
            told.append((yield wait))
    except BaseException as error:
        told.append(type(error))
        raise
    return len(waits)


def test_what_a_wait_gives_is_what_the_steps_go_on_with():
    told: list[Any] = []
    assert finish(counting(told, [Pause(1), Call(lambda: "called")]), by_clock(ManualClock())) == 2
    assert told == [None, "called"]


def test_pauses_pass_by_the_clock():
    clock = ManualClock()
    finish(counting([], [Pause(2.5), Pause(1)]), by_clock(clock))
    assert clock.slept == 3.5


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_breaks_a_wait_off_is_raised_where_the_steps_wait(kind: type[BaseException]):
    told: list[Any] = []

    def wait(wish: Wait) -> None:
        raise kind

    with pytest.raises(kind):
        finish(counting(told, [Pause(1), Pause(1)]), wait)
    assert told == [kind]


def test_steps_may_go_on_after_an_error():
    def patient() -> Steps[str]:
        try:
            yield Call(lambda: 1 // 0)
        except ZeroDivisionError:
            return (yield Call(lambda: "again"))
        return ""

    assert finish(patient(), by_clock(ManualClock())) == "again"


def test_time_that_is_up_breaks_steps_off():
    clock, told = ManualClock(), []
    assert finish(within(counting(told, [Pause(2)] * 5), clock, 5), by_clock(clock)) is None
    assert clock.slept == 5.0  # the last pause was a shorter one
    assert told == [None, None, None, GeneratorExit]


def test_time_that_is_left_changes_nothing():
    clock, told = ManualClock(), []
    assert finish(within(counting(told, [Pause(2)] * 2), clock, 5), by_clock(clock)) == 2
    assert told == [None, None]


def test_without_time_only_what_waits_for_nothing_is_done():
    clock, told = ManualClock(), []
    assert finish(within(counting(told, []), clock, 0), by_clock(clock)) == 0
    assert finish(within(counting(told, [Pause(1)]), clock, 0), by_clock(clock)) is None
    assert clock.slept == 0


def test_a_wait_for_answers_is_shortened_and_a_call_is_not():
    clock, wishes = ManualClock(), []
    finish(within(counting([], [ANSWERS, Call(int)]), clock, 0.05), wishes.append)
    assert wishes[0] == Answers(0.05)
    assert isinstance(wishes[1], Call)


def test_errors_pass_through_a_limit():
    clock, told = ManualClock(), []

    def wait(wish: Wait) -> None:
        raise ValueError

    with pytest.raises(ValueError):
        finish(within(counting(told, [Pause(1)]), clock, 5), wait)
    assert told == [ValueError]
