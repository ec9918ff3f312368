"""What `on_event` does wrong: what it raises loses no record, and it may look at the stream but not turn it."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from streamiter import (
    CallFailed,
    Event,
    InvalidOption,
    LateRecord,
    RecordsExpired,
    Stream,
    StreamiterError,
)
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, drain, identities, write
from tests.stream.telling import Told, put_late, skewed


class Bug(Exception):
    pass


def busy_day(sim: Simulator) -> None:
    """Records, a throttle, a gap's cause and late records: something of each kind to tell."""
    skewed(sim)
    write(sim, "S1", rounds=5)
    sim.fault("GetRecords", "S1", kind="throttle", times=2)


@pytest.mark.parametrize("error", [Bug, ValueError, RecordsExpired("S1", 1, reason="not a real one")])
def test_an_exception_in_it_is_logged_and_loses_nothing(sim: Simulator, open_stream: Open, caplog, error):
    def on_event(event: Event) -> None:
        raise error

    busy_day(sim)
    stream = open_stream(on_event=on_event)
    records = drain(stream, sim.clock, quiet=10)
    put_late(sim, 600)
    records += drain(stream, sim.clock, quiet=10)
    assert sorted(identities(records)) == sorted(identities(sim.history))
    assert stream.stats.late == 600
    lines = [line for line in caplog.records if line.levelno == logging.ERROR]
    assert lines
    assert {line.name for line in lines} == {"streamiter.stream"}
    assert "on_event raised" in lines[0].getMessage()
    assert lines[0].exc_info
    assert not any(line.exc_info for line in lines[1:])  # one traceback is enough


def interrupted_at_every_event(stream, clock) -> tuple[list, int]:
    records, interrupts, since = [], 0, clock.monotonic()
    while clock.monotonic() - since < 60:
        try:
            record = next(stream)
        except KeyboardInterrupt:
            interrupts += 1
            continue
        if record is None:
            clock.advance(1)
        else:
            records.append(record)
    return records, interrupts


def test_ctrl_c_in_it_passes_through_and_loses_nothing(sim: Simulator, open_stream: Open, told: Told):
    def on_event(event: Event) -> None:
        told.append(event)
        if is_pressed:
            raise KeyboardInterrupt

    is_pressed = True
    busy_day(sim)
    stream = open_stream(on_event=on_event)
    records, interrupts = interrupted_at_every_event(stream, sim.clock)
    put_late(sim, 40)
    more, again = interrupted_at_every_event(stream, sim.clock)
    assert sorted(identities(records + more)) == sorted(identities(sim.history))
    assert interrupts + again == len(told)
    assert len(told.of(LateRecord)) == 40
    assert len(told.of(CallFailed)) == stream.stats.retries == 2
    is_pressed = False  # leaving tells, too


def test_ctrl_c_in_a_batch_leaves_the_token_before_it(sim: Simulator, open_stream: Open):
    events: list[Event] = []

    def on_event(event: Event) -> None:
        events.append(event)
        if len(events) == 1:
            raise KeyboardInterrupt

    sim.shape("S1")
    write(sim, "S1", rounds=5)
    sim.knobs.page_size = 2
    sim.fault("GetRecords", "S1", kind="throttle", after=1, times=1)
    stream = open_stream(on_event=on_event)
    records = []
    while len(records) < 5:
        try:
            for batch in stream.batches(100, until="caught_up"):
                records += batch
        except KeyboardInterrupt:
            continue
    assert events
    assert_all_came(records, sim)


@pytest.mark.parametrize(
    "turn",
    [
        lambda stream: next(stream),
        lambda stream: next(stream.follow()),
        lambda stream: next(stream.batches(1)),
        lambda stream: stream.move_to("latest"),
        lambda stream: stream.skip(),
        lambda stream: stream.to_arrow(),
    ],
    ids=["next", "follow", "batches", "move_to", "skip", "to_arrow"],
)
def test_it_may_not_turn_the_stream(sim: Simulator, open_stream: Open, turn: Callable):
    refusals = []

    def on_event(event: Event) -> None:
        try:
            turn(stream)
        except StreamiterError as error:
            refusals.append(str(error))

    busy_day(sim)
    stream: Stream = open_stream(on_event=on_event)
    assert_all_came(drain(stream, sim.clock, quiet=20), sim)
    assert refusals
    assert all("on_event=" in refusal for refusal in refusals)


def test_it_may_look_at_the_stream(sim: Simulator, open_stream: Open):
    looks = []
    busy_day(sim)
    stream: Stream = open_stream(
        on_event=lambda event: looks.append((stream.stats, stream.token, stream.ended, str(stream)))
    )
    assert_all_came(drain(stream, sim.clock, quiet=20), sim)
    assert looks


def test_events_are_told_one_at_a_time_whatever_it_calls(sim: Simulator, open_stream: Open, told: Told):
    depths = [0]

    def on_event(event: Event) -> None:
        depths.append(depths[-1] + 1)
        told.append(event)
        stream.heartbeat()
        depths.append(depths[-1] - 1)

    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=3)
    sim.fault("GetRecords", kind="throttle", times=6)
    stream: Stream = open_stream(on_event=on_event)
    assert_all_came(drain(stream, sim.clock, quiet=20), sim)
    assert len(told.of(CallFailed)) == 6
    assert max(depths) == 1


def test_it_may_close_the_stream(sim: Simulator, open_stream: Open):
    busy_day(sim)
    stream: Stream = open_stream(on_event=lambda event: isinstance(event, CallFailed) and stream.close())
    records = list(stream.follow())
    again = open_stream(stream.token)
    assert identities(records + drain(again, sim.clock)) == identities(sim.history)
    with pytest.raises(StreamiterError, match="closed"):
        next(stream)


def test_what_is_no_function_is_refused(open_stream: Open):
    with pytest.raises(InvalidOption, match="on_event="):
        open_stream(on_event="print")
