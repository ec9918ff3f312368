"""Clocks that are wrong: the reader's own, the service's, and those that creation times came from."""

from __future__ import annotations

import pytest

from streamiter.testing import ManualClock, Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, assert_came, assert_none_lost, drain, in_order, take, write


class Wrong(ManualClock):
    """A reader's clock that is minutes off, and runs as the service's does."""

    def __init__(self, right: ManualClock, seconds: float) -> None:
        super().__init__()
        self._right = right
        self._seconds = seconds

    def now(self) -> float:
        return self._right.now() + self._seconds

    def monotonic(self) -> float:
        return self._right.monotonic() + 12345

    def sleep(self, seconds: float) -> None:
        self._right.sleep(seconds)


OFF = pytest.mark.parametrize("seconds", [-300, 300], ids=["5 minutes slow", "5 minutes fast"])


@OFF
def test_a_local_clock_that_is_wrong_changes_no_order(sim: Simulator, open_stream: Open, seconds: float):
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "T0", "S2")
    stream = open_stream(clock=Wrong(sim.clock, seconds))
    came = take(stream, sim.clock, 10)
    write(sim, "S2", "S1", "T0")
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)


@OFF
def test_it_holds_a_record_no_longer_and_no_shorter(sim: Simulator, open_stream: Open, seconds: float):
    sim.shape("S1 ~ S2")
    stream = open_stream(clock=Wrong(sim.clock, seconds), lateness=2.0)
    drain(stream, sim.clock)
    sim.put("S2")
    written = sim.clock.monotonic()
    take(stream, sim.clock, 1, step=0.05)
    assert 2.0 <= sim.clock.monotonic() - written <= 3.5


@OFF
def test_it_makes_no_gap_and_hides_none(sim: Simulator, open_stream: Open, seconds: float):
    """Whether a start is older than retention is told by the service's clock; an idle one lies ten minutes back."""
    sim.shape("S1 ~ S2")
    write(sim, "S1")
    stream = open_stream(clock=Wrong(sim.clock, seconds))
    take(stream, sim.clock, 1)
    token = stream.token
    stream.close()
    sim.clock.advance(hours=23.8)
    write(sim, "S2")
    resumed = open_stream(token, clock=Wrong(sim.clock, seconds))
    assert_came(drain(resumed, sim.clock), in_order(sim)[1:], clock=1)
    assert resumed.stats.gaps == 0


@OFF
def test_a_token_goes_from_one_machine_to_another(sim: Simulator, open_stream: Open, seconds: float):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    stream = open_stream(clock=Wrong(sim.clock, seconds))
    came = take(stream, sim.clock, 3)
    came += drain(open_stream(stream.token, clock=Wrong(sim.clock, -seconds)), sim.clock)
    assert_all_came(came, sim)


def test_a_services_clock_that_is_slow_costs_only_time(sim: Simulator, open_stream: Open):
    sim.knobs.skew = -10
    sim.shape("S1 ~ S2")
    stream = open_stream()
    drain(stream, sim.clock)
    write(sim, "S2", "S1")
    assert_all_came(drain(stream, sim.clock), sim)


def test_a_services_clock_that_is_fast_loses_nothing(sim: Simulator, open_stream: Open):
    sim.knobs.skew = 10
    sim.shape("S1 ~ S2")
    stream = open_stream()
    came = drain(stream, sim.clock)
    write(sim, "S2", "S1", rounds=10, every=0.5)
    came += drain(stream, sim.clock)
    assert_none_lost(came, sim.history)


def test_records_that_turn_up_late_come_at_once_flagged_and_counted(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    stream = open_stream(lateness=1.0)
    drain(stream, sim.clock)
    sim.put("S2")
    first = take(stream, sim.clock, 1)
    sim.put("S1", created=sim.clock.now() - 60)  # older than what is out already
    began = sim.clock.monotonic()
    second = take(stream, sim.clock, 1, step=0.05)
    assert sim.clock.monotonic() - began <= 1.1
    assert [record.late for record in first + second] == [False, True]
    assert second[0].order_key < first[0].order_key
    assert stream.stats.late == 1


def test_a_creation_time_in_the_future_holds_by_as_much(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    stream = open_stream(lateness=1.0)
    drain(stream, sim.clock)
    sim.put("S2", created=sim.clock.now() + 30)
    began = sim.clock.monotonic()
    take(stream, sim.clock, 1, step=0.25)
    assert 31 <= sim.clock.monotonic() - began <= 33


def test_in_a_single_lane_the_future_holds_nothing(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    stream = open_stream()
    drain(stream, sim.clock)
    sim.put("S1", created=sim.clock.now() + 3600)
    began = sim.clock.monotonic()
    take(stream, sim.clock, 1)
    assert sim.clock.monotonic() - began <= 1
