"""`next(stream)`: a record, or None: at this moment of the clock nothing is due."""

from __future__ import annotations

from itertools import islice

import pytest

from streamiter import StreamiterError
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, assert_came, calls_during, drain, take, write


def test_next_gives_each_record_and_then_none(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    write(sim, "S1")
    stream = open_stream()
    assert_came([next(stream), next(stream), next(stream)], sim.history)
    assert next(stream) is None


def test_none_costs_no_call_while_the_clock_stands(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    stream = open_stream()
    assert next(stream) is None
    assert calls_during(sim, lambda: [next(stream) for _ in range(100)]) == 0


def test_a_record_written_later_comes_later(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    stream = open_stream()
    assert next(stream) is None
    late = sim.put("S1")
    assert_came(take(stream, sim.clock, 1), [late])


def test_a_single_lane_never_waits(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    stream = open_stream(poll_interval=0.25)
    drain(stream, sim.clock)
    sim.put("S1")
    before = sim.clock.monotonic()
    take(stream, sim.clock, 1)
    assert sim.clock.monotonic() - before <= 1.0  # the longest pause between two looks at an idle lane


def test_at_the_tip_a_record_waits_for_lateness_and_a_second(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    stream = open_stream(lateness=3.0)
    drain(stream, sim.clock)
    sim.put("S2")
    written = sim.clock.monotonic()
    take(stream, sim.clock, 1, step=0.05)
    assert 3.0 <= sim.clock.monotonic() - written <= 3.0 + 1.0 + 0.5


def test_without_lateness_nothing_waits(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    stream = open_stream(lateness=None)
    drain(stream, sim.clock)
    sim.put("S2")
    written = sim.clock.monotonic()
    take(stream, sim.clock, 1, step=0.05)
    assert sim.clock.monotonic() - written <= 1.0


def test_without_lateness_children_still_wait_for_their_parents(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    write(sim, "S0", rounds=5)
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2", rounds=5)
    sim.pages("S0", [0, 0, 1, 0, 1], repeat=True)
    records = drain(open_stream(lateness=None), sim.clock)
    assert {record.shard_id for record in records[:5]} == {"S0"}
    assert len(records) == 15


# -- a loop over the stream itself


def test_a_loop_gives_what_next_gives(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=5)
    came = []
    for record in open_stream():
        if record is not None:
            came.append(record)
        if len(came) == len(sim.history):
            break
    assert_all_came(came, sim)


def test_a_loop_gets_none_at_once_and_rests_before_the_next(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    stream = open_stream()
    looks, began = iter(stream), sim.clock.monotonic()
    assert next(looks) is None
    assert sim.clock.monotonic() == began
    for _ in range(50):
        before = sim.clock.monotonic()
        assert next(looks) is None
        assert 0 < sim.clock.monotonic() - before <= 1.0, "until the next call falls due, a second at most"
    assert next(stream) is None
    late = sim.put("S1")
    assert_came([next(record for record in stream if record is not None)], [late])


def test_a_loop_rests_by_the_streams_clock_alone(sim: Simulator, open_stream: Open, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it slept by the machine's clock"))
    sim.shape("S1")
    began = sim.clock.monotonic()
    assert [*islice(open_stream(), 101)] == [None] * 101
    assert sim.clock.monotonic() - began >= 100 * 0.25 - 1


def test_next_itself_never_rests(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    stream, began = open_stream(), sim.clock.monotonic()
    assert [next(stream) for _ in range(100)] == [None] * 100
    assert sim.clock.monotonic() == began


def test_a_loop_over_what_was_closed_says_so(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    write(sim, "S1", rounds=5)
    stream = open_stream()
    looks = iter(stream)
    next(looks)
    stream.close()
    with pytest.raises(StreamiterError, match="this stream is closed"):
        next(looks)


def test_a_lineage_comes_out_in_the_order_of_law_4(sim: Simulator, open_stream: Open):
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "T0", "S2")
    sim.shape("S1 => S3; T0 => {T1, T2}")
    write(sim, "S3", "S2", "T1", "T2")
    assert_all_came(drain(open_stream(), sim.clock), sim)


@pytest.mark.outdoors
def test_ids_of_the_services_own_form_make_no_difference():
    from streamiter import DynamoDBStreams, Stream

    with Simulator("S0 ~ T0", ids="service") as sim:
        write(sim, "S0", "T0")
        sim.shape("S0 => {S1, S2}")
        write(sim, "S1", "T0", "S2")
        with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
            assert_all_came(drain(stream, sim.clock), sim)


def test_times_and_numbers_that_run_backwards_change_no_shards_order(sim: Simulator, open_stream: Open):
    sim.shape("S0 ~ T0")
    now = sim.clock.now()
    for created, number in [(now - 50, 900), (now - 90, 300), (None, 301), (now - 10, 10**38), (now - 20, 5)]:
        sim.put("S0", created=created, number=number)
        sim.put("T0", created=now - 40)
    sim.shape("S0 => S1")
    sim.put("S1", created=now - 80)
    sim.put("S1", created=None)
    assert_all_came(drain(open_stream(), sim.clock), sim)


def test_a_closed_stream_says_so(open_stream: Open):
    stream = open_stream()
    stream.close()
    with pytest.raises(StreamiterError, match=r"closed.*make a new one from its token"):
        next(stream)
