"""Turns: whichever answers are late, and in whatever order they come, the records are the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamiter import DynamoDBStreams, Stream
from streamiter.driving.inline import Inline
from streamiter.driving.threads import Threads
from tests.indoors import IndoorSimulator, Turns, taking_turns
from tests.stream.helpers import assert_all_came, assert_came, drain, in_order, take, write
from tests.worlds.tape import Tape

TAPES = st.binary(max_size=400).map(Tape)


def grown() -> IndoorSimulator:
    """Three generations, in pages of two, with calls that fail now and then."""
    sim = IndoorSimulator("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "T0", "S2")
    sim.shape("S1 => S3; T0 => T1")
    write(sim, "S3", "T1", "S2")
    sim.knobs.page_size = 2
    for number in range(4):
        sim.fault("GetRecords", kind="throttle", after=3 * number)
        sim.fault("GetShardIterator", kind="500", after=number)
    sim.clock.advance(60)
    return sim


def reading(sim: IndoorSimulator, position: Any = "trim_horizon") -> Stream:
    return Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), position, clock=sim.clock)


@given(TAPES)
def test_late_answers_change_nothing(tape: Tape):
    with taking_turns(tape), grown() as sim, reading(sim) as stream:
        assert_all_came(drain(stream, sim.clock), sim)


@given(TAPES, st.integers(0, 24))
def test_nor_do_they_where_it_is_cut_and_resumed(tape: Tape, cut: int):
    with taking_turns(tape), grown() as sim:
        with reading(sim) as first:
            came = take(first, sim.clock, cut)
            token = first.token
        with reading(sim, token) as second:
            assert_came(came + drain(second, sim.clock), in_order(sim))


def test_they_promise_what_threads_do():
    """All that a driver asks of `Threads`, and the errors of calls among it."""

    def failing() -> Any:
        raise KeyError("it fails")

    for make in (Threads, Inline, partial(Turns, tape=Tape()), partial(Turns, tape=Tape(b"\x01\x02\x01"))):
        calls = make(3)
        jobs: dict[str, Callable[[], Any]] = {"one": lambda: 1, "two": failing}
        assert (calls.room, calls.under_way, calls.has_answers) == (3, 0, False)
        for job, call in jobs.items():
            calls.submit(job, call)
        assert (calls.room, calls.under_way) == (1, 2)
        found = {}
        while len(found) < 2:
            found |= {answer.job: (answer.result, type(answer.error)) for answer in calls.answers(60)}
        assert found == {"one": (1, type(None)), "two": (None, KeyError)}
        assert (calls.room, calls.under_way, calls.answers()) == (3, 0, [])
        calls.close()
        calls.submit("late", failing)
        assert calls.under_way == 0
        assert calls.answers() == []
