"""`stream.follow()`: waits, never gives None, ends with close() or a drained stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from streamiter import Stream
from streamiter.clock import SystemClock
from streamiter.testing import ManualClock, Simulator
from tests.indoors import IndoorSimulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, write


class Alarm(ManualClock):
    """A clock on which something happens while the stream sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self.then: list[Callable[[], Any]] = []
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        super().sleep(seconds)
        if self.then:
            self.then.pop(0)()


@pytest.fixture
def clock() -> Alarm:
    return Alarm()


@pytest.fixture
def sim(clock: Alarm, is_indoors: bool) -> Iterator[Simulator]:
    with (IndoorSimulator if is_indoors else Simulator)("S1 ~ S2", clock=clock) as simulator:
        yield simulator


def test_it_waits_by_the_clock_and_never_gives_none(sim: Simulator, clock: Alarm, open_stream: Open):
    write(sim, "S1", "S2")
    clock.then += [lambda: None] * 5 + [lambda: write(sim, "S2", "S1")]
    assert_all_came(list(islice(open_stream().follow(), 12)), sim)
    assert clock.slept > 0


def test_it_ends_when_the_stream_is_closed(sim: Simulator, clock: Alarm, open_stream: Open):
    write(sim, "S1", "S2")
    stream = open_stream()
    clock.then += [lambda: None] * 20 + [stream.close]
    assert_all_came(list(stream.follow()), sim)


def test_it_ends_when_a_disabled_stream_is_drained(sim: Simulator, open_stream: Open):
    write(sim, "S1", "S2")
    sim.disable()
    stream = open_stream()
    assert_all_came(list(stream.follow()), sim)
    assert stream.ended


def test_it_goes_on_where_another_loop_stopped(sim: Simulator, open_stream: Open):
    write(sim, "S1", "S2", rounds=4)
    stream = open_stream()
    records = list(islice(stream.follow(), 3)) + list(islice(stream.follow(), 5))
    assert_all_came(records, sim)


def test_it_sleeps_a_second_at_most(sim: Simulator, clock: Alarm, open_stream: Open):
    write(sim, "S1", "S2")
    clock.then += [lambda: None] * 30 + [lambda: write(sim, "S1")]
    list(islice(open_stream().follow(), 9))
    assert len(clock.pauses) > 30
    assert all(0 < pause <= 1.0 for pause in clock.pauses)


def _followed(stream: Stream, until: Callable[[], object]) -> tuple[bool, list[BaseException]]:
    """Whether a thread that follows the stream ends by what `until` does, long before its sleep does; and what it raised."""
    errors: list[BaseException] = []

    def follow() -> None:
        try:
            for _ in stream.follow():
                pass
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    until()
    thread.join(30)
    return not thread.is_alive(), errors


@pytest.mark.outdoors
def test_close_from_another_thread_wakes_it_from_its_sleep(sim: Simulator, open_stream: Open):
    sleeps = threading.Event()

    class Sleepy(SystemClock):
        def sleep(self, seconds: float) -> None:
            sleeps.set()
            super().sleep(60)  # however long it meant to

    stream = open_stream(clock=Sleepy())
    assert _followed(stream, lambda: (sleeps.wait(10), stream.close())) == (True, [])


@pytest.mark.outdoors
def test_close_from_another_thread_ends_it_while_a_call_hangs(sim: Simulator, open_stream: Open):
    fault = sim.fault("GetRecords", kind="hang", times=None)
    stream = open_stream(clock=SystemClock())

    def close_once_it_hangs() -> None:
        while fault.served < 2:
            threading.Event().wait(0.005)
        stream.close()

    assert _followed(stream, close_once_it_hangs) == (True, [])


@pytest.mark.outdoors
@pytest.mark.parametrize("delay", [0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05])
def test_close_from_another_thread_is_quiet_at_any_moment(sim: Simulator, open_stream: Open, delay: float):
    write(sim, "S1", "S2", rounds=20)
    stream = open_stream(clock=SystemClock())
    assert _followed(stream, lambda: (threading.Event().wait(delay), stream.close())) == (True, [])
