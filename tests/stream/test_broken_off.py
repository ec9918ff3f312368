"""What breaks off in the middle of reading (Ctrl-C, a signal's handler that raises): the token holds, and reading goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamiter import ChangeRecord, Stream
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, drain, write


class TrippingClock:
    """A clock that raises at its nth question from now on: so an interrupt comes anywhere in the caller's thread."""

    def __init__(self, sim: Simulator, kind: type[BaseException]) -> None:
        self.left: int | None = None
        self._clock = sim.clock
        self._kind = kind

    def now(self) -> float:
        self._count()
        return self._clock.now()

    def monotonic(self) -> float:
        self._count()
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self._count()
        self._clock.sleep(seconds)

    def _count(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                self.left = None
                raise self._kind


def by_next(stream: Stream, came: list[ChangeRecord]) -> None:
    record = next(stream)
    if record is not None:
        came.append(record)


def by_follow(stream: Stream, came: list[ChangeRecord]) -> None:
    came.append(next(stream.follow()))


def by_batches(stream: Stream, came: list[ChangeRecord]) -> None:
    batch = next(stream.batches(2))
    came += batch
    assert batch.token == stream.token


def by_heartbeat(stream: Stream, came: list[ChangeRecord]) -> None:
    stream.heartbeat()
    by_next(stream, came)


@pytest.mark.parametrize("kind", [pytest.param(KeyboardInterrupt, marks=pytest.mark.outdoors), RuntimeError])
@pytest.mark.parametrize("read", [by_next, by_follow, by_batches, by_heartbeat])
def test_wherever_it_breaks_off_nothing_is_lost_and_reading_goes_on(
    sim: Simulator, open_stream: Open, read: Callable[[Stream, list[ChangeRecord]], None], kind: type[BaseException]
):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=4)
    sim.roll("S1", "S3")
    write(sim, "S3", "S2", rounds=2)
    sim.knobs.page_size = 3
    sim.clock.advance(60)
    for question in range(1, 60, 4):
        clock = TrippingClock(sim, kind)
        stream = open_stream(clock=clock)
        came: list[ChangeRecord] = []
        clock.left = question
        try:
            while clock.left is not None and len(came) < len(sim.history):
                read(stream, came)
        except kind:
            assert stream.token.get("clock", 0) == len(came), "the token is after what was returned"
        clock.left = None
        came += drain(stream, sim.clock, quiet=5)
        assert_all_came(came, sim)


def test_an_iteration_that_begins_after_it_ends_as_ever(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=4)
    sim.clock.advance(60)
    for question in range(1, 30, 2):
        clock = TrippingClock(sim, KeyboardInterrupt)
        stream = open_stream(clock=clock)
        clock.left = question
        with pytest.raises(KeyboardInterrupt):
            drain(stream, sim.clock)
        came = int(stream.token.get("clock", 0))
        began = sim.clock.monotonic()
        assert sum(map(len, stream.batches(100, until="caught_up"))) == len(sim.history) - came
        assert sim.clock.monotonic() - began < 10
