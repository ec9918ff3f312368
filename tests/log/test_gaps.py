"""Entries of a log that were trimmed unread are a gap (law 5), also where nothing was read of their partition before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter import RecordsExpired, Stream
from streamiter.app.pages import ShardPages
from streamiter.lease.lease import Lease
from streamiter.log import Entry, MemoryLog
from streamiter.testing import ManualClock

START = ("trim_horizon", "latest", "1 hour ago")


def write(log: MemoryLog, partition: int, count: int) -> None:
    for number in range(count):
        log.append(partition, [Entry(b"%d" % number)])


def trim_all(log: MemoryLog, partition: int) -> None:
    log.trim(partition, (log.ends(partition).last or 0) + 1)


def token_of(log: MemoryLog, start: Any, clock: ManualClock) -> Any:
    """The token of a stream that looked at the log, and found nothing."""
    with Stream(log, start, clock=clock) as stream:
        assert next(stream) is None
        return json.loads(json.dumps(stream.token))


@pytest.mark.parametrize("start", START)
def test_what_is_written_and_trimmed_behind_an_empty_start_is_a_gap(start):
    clock = ManualClock()
    log = MemoryLog(partitions=2, clock=clock)
    token = token_of(log, start, clock)
    write(log, 1, 3)
    trim_all(log, 1)
    write(log, 1, 1)
    with Stream(log, token, clock=clock) as stream:
        with pytest.raises(RecordsExpired) as raised:
            next(stream)
        assert raised.value.shard_id == "1"
        stream.skip()
        assert [record.number for record in stream.follow(until="caught_up")] == [4]


def test_what_was_trimmed_before_the_start_is_none():
    clock = ManualClock()
    log = MemoryLog(clock=clock)
    write(log, 0, 5)
    log.trim(0, 4)
    with Stream(log, clock=clock) as stream:
        assert [record.number for record in stream.follow(until="caught_up")] == [4, 5]


def test_latest_names_places_before_anything_is_read():
    clock = ManualClock()
    log = MemoryLog(clock=clock)
    write(log, 0, 2)
    with Stream(log, "latest", clock=clock) as stream:
        token = stream.token
    write(log, 0, 1)
    trim_all(log, 0)
    with Stream(log, token, clock=clock) as stream, pytest.raises(RecordsExpired):
        next(stream)


def test_what_was_read_and_trimmed_is_none_however_long_the_partition_was_idle():
    clock = ManualClock()
    log = MemoryLog(clock=clock)
    write(log, 0, 3)
    with Stream(log, clock=clock) as stream:
        assert len(list(stream.follow(until="caught_up"))) == 3
        trim_all(log, 0)
        for _ in range(50):
            clock.advance(60)
            assert next(stream) is None
        token = stream.token
    write(log, 0, 1)
    with Stream(log, token, clock=clock) as stream:
        assert [record.number for record in stream.follow(until="caught_up")] == [4]


def test_what_is_trimmed_after_hours_of_quiet_is_a_gap_all_the_same():
    clock = ManualClock()
    log = MemoryLog(clock=clock)
    write(log, 0, 3)
    with Stream(log, clock=clock) as stream:
        assert len(list(stream.follow(until="caught_up"))) == 3
        for _ in range(50):
            clock.advance(60)
            assert next(stream) is None
        token = stream.token
    write(log, 0, 1)
    trim_all(log, 0)
    with Stream(log, token, clock=clock) as stream, pytest.raises(RecordsExpired):
        next(stream)


def test_a_log_that_was_set_back_is_told():
    clock = ManualClock()
    log, older = MemoryLog(clock=clock), MemoryLog(clock=clock)
    write(log, 0, 5)
    write(older, 0, 2)
    with Stream(log, clock=clock) as stream:
        assert len(list(stream.follow(until="caught_up"))) == 5
        token = stream.token
    with Stream(older, token, clock=clock) as stream, pytest.raises(RecordsExpired):
        next(stream)


def test_partitions_that_are_added_while_it_is_read_are_found():
    clock = ManualClock()
    log = MemoryLog(clock=clock)
    with Stream(log, clock=clock) as stream:
        write(log, 0, 1)
        following = stream.follow()
        assert next(following).shard_id == "0"
        log.grow(3)
        write(log, 2, 1)
        assert next(following).shard_id == "2"


@given(st.lists(st.tuples(st.sampled_from("wrtc"), st.integers(0, 1)), max_size=30))
def test_each_entry_comes_out_or_a_gap_is_told(steps):
    """Writing, reading, trimming and resuming in any order: what came, with what gaps admit, is all that was written."""
    clock = ManualClock()
    log = MemoryLog(partitions=2, clock=clock)
    written: list[list[int]] = [[], []]
    came: list[list[int]] = [[], []]
    gaps: list[set[int]] = [set(), set()]  # how many had come when one was told
    stream = Stream(log, clock=clock)
    assert next(stream) is None

    def read(most: int) -> None:
        for _ in range(most):
            try:
                record = next(stream)
            except RecordsExpired as gap:
                gaps[int(gap.shard_id)].add(len(came[int(gap.shard_id)]))
                stream.skip()
                continue
            if record is None:
                clock.advance(0.06)
            else:
                came[int(record.shard_id)].append(record.number)

    for step, partition in [*steps, ("c", 0)]:
        if step == "w":
            written[partition] += log.append(partition, [Entry(b"")])
        elif step == "r":
            read(3)
        elif step == "t":
            trim_all(log, partition)
        else:
            token = stream.token
            stream.close()
            stream = Stream(log, token, clock=clock)
    read(100)
    stream.close()
    for partition in (0, 1):
        assert came[partition] == sorted(set(came[partition]))
        missing = set(written[partition]) - set(came[partition])
        for number in missing:
            before = sum(other < number for other in came[partition])
            assert before in gaps[partition], f"{number} was lost in silence"


def pages(log: MemoryLog, lease: Lease) -> ShardPages:
    return ShardPages(log, lease, 100)


def test_a_lease_that_read_nothing_keeps_its_place_too():
    log = MemoryLog()
    read = pages(log, Lease("0", fence=1)).turn(0)
    assert read.start == "0" and not read.records
    write(log, 0, 2)
    trim_all(log, 0)
    assert pages(log, Lease("0", fence=2, checkpoint="0")).turn(0).gap is not None


def test_a_lease_at_its_tip_is_no_excuse():
    log = MemoryLog()
    write(log, 0, 1)
    turns = pages(log, Lease("0", fence=1))
    assert [record.number for record in turns.turn(0).records] == [1]
    assert turns.turn(0).tip_us is not None
    write(log, 0, 1)
    trim_all(log, 0)
    assert turns.turn(0).gap is not None
    turns.restart()
    assert turns.turn(0).gap is None
