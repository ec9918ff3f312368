"""The clock turned by hand."""

from __future__ import annotations

import pytest

from streamiter.clock import Clock
from streamiter.testing import ManualClock, RunningClock, Simulator


def test_time_stands_still_until_it_is_moved():
    clock = ManualClock(1000)
    assert (clock.now(), clock.monotonic()) == (1000, 0)
    clock.advance(seconds=1.5, minutes=1, hours=1)
    assert (clock.now(), clock.monotonic()) == (4661.5, 3661.5)


def test_sleep_moves_it_and_does_not_wait():
    clock = ManualClock(1000)
    clock.sleep(3600)
    clock.sleep(-1)
    assert (clock.now(), clock.monotonic(), clock.slept) == (4600, 3600, 3600)


def test_many_small_steps_do_not_drift():
    clock = ManualClock(1_750_000_000)
    for _ in range(1000):
        clock.advance(0.001)
    assert clock.now() == 1_750_000_001


def test_only_set_turns_it_back_and_monotonic_stays():
    clock = ManualClock(1000)
    clock.advance(5)
    with pytest.raises(ValueError, match="set"):
        clock.advance(-1)
    clock.set(10)
    assert (clock.now(), clock.monotonic()) == (10, 5)


def test_both_are_clocks_of_ours():
    assert isinstance(ManualClock(), Clock)
    assert isinstance(RunningClock(), Clock)


def test_a_running_clock_goes_by_itself_and_can_be_turned():
    clock = RunningClock(1000)
    first = clock.now()
    assert 1000 <= first <= clock.now() < 1100
    clock.advance(hours=24)
    assert 0 <= clock.now() - first - 24 * 3600 < 100
    assert clock.monotonic() >= 24 * 3600
    clock.sleep(0)


def test_a_simulator_takes_the_clock_it_is_given():
    clock = ManualClock(1_000_000_000)
    with Simulator(clock=clock) as sim:
        assert sim.clock is clock
        assert sim.stream_arn.endswith("/stream/2001-09-09T01:46:40.000")
