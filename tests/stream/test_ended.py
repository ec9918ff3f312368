"""A disabled stream is drained, and then ended; a re-enabled one is another stream."""

from __future__ import annotations

import pytest

from streamiter import InvalidToken
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, assert_came, calls_during, drain, in_order, take, write


@pytest.fixture
def written(sim: Simulator) -> Simulator:
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "T0", "S2")
    return sim


def test_an_open_stream_never_ends(written: Simulator, open_stream: Open):
    stream = open_stream()
    drain(stream, written.clock, quiet=200)
    assert not stream.ended


def test_a_disabled_stream_is_drained_and_then_ended(written: Simulator, open_stream: Open):
    written.disable()
    stream = open_stream()
    records = []
    while not stream.ended:
        record = next(stream)
        if record is None:
            written.clock.advance(1)
        else:
            records.append(record)
    assert_all_came(records, written)
    assert next(stream) is None


def test_one_that_is_disabled_while_it_is_read(written: Simulator, open_stream: Open):
    stream = open_stream()
    came = drain(stream, written.clock)
    write(written, "S1", "S2")
    written.disable(takes=30)
    came += drain(stream, written.clock, quiet=200)
    assert_all_came(came, written)
    assert stream.ended


def test_it_is_not_ended_while_records_wait(written: Simulator, open_stream: Open):
    written.disable()
    stream = open_stream()
    take(stream, written.clock, len(written.history) - 1)
    written.clock.advance(120)
    assert not stream.ended
    take(stream, written.clock, 1)


def test_an_ended_stream_gives_none_for_good(written: Simulator, open_stream: Open):
    written.disable()
    stream = open_stream()
    drain(stream, written.clock, quiet=200)
    assert stream.ended
    for _ in range(50):
        assert next(stream) is None
        written.clock.advance(60)
    assert stream.ended


def test_its_token_resumes_to_nothing(written: Simulator, open_stream: Open):
    written.disable()
    stream = open_stream()
    drain(stream, written.clock, quiet=200)
    resumed = open_stream(stream.token)
    assert drain(resumed, written.clock, quiet=100) == []
    assert resumed.ended


def test_a_disabled_stream_that_never_had_shards_ends(open_stream: Open, sim: Simulator):
    sim.disable()
    stream = open_stream()
    drain(stream, sim.clock, quiet=100)
    assert stream.ended


def test_one_that_is_being_enabled_has_not_ended(sim: Simulator, open_stream: Open):
    sim.disable()
    sim.enable("N0", takes=40)
    stream = open_stream()
    drain(stream, sim.clock, quiet=20)
    assert not stream.ended
    write(sim, "N0")
    assert len(drain(stream, sim.clock, quiet=60)) == 3


def test_a_token_of_the_old_stream_names_the_new_one(written: Simulator, open_stream: Open):
    token = open_stream().token
    old = written.stream_arn
    written.disable()
    written.clock.advance(60)
    new = written.enable("N0")
    with pytest.raises(InvalidToken) as caught:
        open_stream(token)
    told = str(caught.value)
    assert old in told
    assert new in told
    assert "disabled and enabled again" in told
    assert "stays readable for 24 hours" in told
    assert "trim_horizon" in told


def test_both_can_be_read_one_after_the_other(written: Simulator, open_stream: Open):
    stream = open_stream()
    came = take(stream, written.clock, 5)
    token, old = stream.token, written.stream_arn
    before = in_order(written)
    written.disable()
    written.enable("N0")
    write(written, "N0")
    resumed = open_stream(token, arn=old)
    came += drain(resumed, written.clock, quiet=100)
    assert_came(came, before)
    assert resumed.ended
    assert_came(drain(open_stream(), written.clock), written.history[-3:])


def test_an_ended_stream_stops_calling_out(written: Simulator, open_stream: Open):
    written.disable()
    stream = open_stream()
    drain(stream, written.clock, quiet=200)

    def look() -> None:
        for _ in range(10):
            next(stream)
            written.clock.advance(1)

    assert calls_during(written, look) <= 1  # a listing once a minute
