"""At the tip of a log a record comes out at once: its time is exact, so no second is waited out (law 7)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamiter import Stream
from streamiter.log import Entry, MemoryLog
from streamiter.testing import ManualClock


def test_a_record_comes_with_the_next_look_at_the_other_partitions():
    clock = ManualClock()
    log = MemoryLog(partitions=4, clock=clock)
    with Stream(log, clock=clock) as stream:
        following = stream.follow()
        for number in range(20):
            log.append(number % 3, [Entry(b"%d" % number)])
            began = clock.monotonic()
            assert next(following).payload == b"%d" % number
            assert clock.monotonic() - began <= 0.06  # one look, and those that it asks for


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40), st.integers(1, 4))
def test_the_order_is_that_of_writing_whatever_is_read_meanwhile(writes, partitions):
    clock = ManualClock()
    log = MemoryLog(partitions=partitions, clock=clock)
    found: list[bytes] = []
    with Stream(log, clock=clock) as stream:
        for number, (partition, looks) in enumerate(writes):
            log.append(partition % partitions, [Entry(b"%d" % number)])
            for _ in range(looks):
                found += [record.payload for record in [next(stream)] if record is not None]
                clock.advance(0.01)
        found += [record.payload for record in stream.follow(until="caught_up")]
        assert stream.stats.late == 0
    assert found == [b"%d" % number for number in range(len(writes))]


def test_latest_begins_at_this_very_moment():
    clock = ManualClock()
    log = MemoryLog(partitions=2, clock=clock)
    log.append(0, [Entry(b"before")])
    with Stream(log, "latest", clock=clock) as stream:
        log.append(1, [Entry(b"after")])
        assert [record.payload for record in stream.follow(until="caught_up")] == [b"after"]


def test_a_time_is_meant_to_the_microsecond():
    clock = ManualClock()
    log = MemoryLog(partitions=2, clock=clock)
    for number in range(6):
        log.append(number % 2, [Entry(b"%d" % number)])
    moment = log.read(1, 0, 10).records[1].created_at  # of the fourth
    with Stream(log, moment, clock=clock) as stream:
        assert [record.payload for record in stream.follow(until="caught_up")] == [b"3", b"4", b"5"]
        stream.move_to("trim_horizon")
        assert [record.payload for record in stream.follow(until=moment)] == [b"0", b"1", b"2"]
