"""`on_event`: gaps, late records, calls made again and progress, told between records; what it raises loses nothing."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from streamiter import (
    CallFailed,
    GapAccepted,
    GapFound,
    KinesisStreams,
    LateRecord,
    Progress,
    RecordsExpired,
    Stream,
)
from streamiter.testing import Simulator, pack
from tests.indoors import IndoorSimulator
from tests.stream.conftest import Open
from tests.stream.helpers import drain, drain_over_gaps, identities, take, until_raises, write
from tests.stream.telling import Told, put_late, skewed

# -- gaps


def test_a_gap_is_told_once_and_when_it_is_accepted(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1")
    write(sim, "S1", rounds=6)
    first = open_stream()
    take(first, sim.clock, 2)
    sim.trim("S1", before=5)
    stream = open_stream(first.token, on_event=told.append)
    for _ in range(3):
        _, error = until_raises(RecordsExpired, stream, sim.clock)
    assert told.of(GapFound, GapAccepted) == [
        GapFound(sim.stream_arn, "S1", str(error.position), error.reason),
    ]
    stream.skip()
    assert len(drain(stream, sim.clock)) == 1
    assert told.of(GapFound, GapAccepted)[1:] == [
        GapAccepted(sim.stream_arn, "S1", str(error.position), error.reason),
    ]


def test_on_gap_skip_tells_both(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=6)
    first = open_stream()
    take(first, sim.clock, 4)
    sim.trim("S1", before=5)
    sim.trim("S2", before=5)
    stream = open_stream(first.token, on_gap="skip", on_event=told.append)
    drain(stream, sim.clock)
    assert [(type(event), event.shard_id) for event in told.of(GapFound, GapAccepted)] == [
        (GapFound, "S1"),
        (GapAccepted, "S1"),
        (GapFound, "S2"),
        (GapAccepted, "S2"),
    ]


def test_a_gap_met_again_after_move_to_is_told_again(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1")
    write(sim, "S1", rounds=6)
    stream = open_stream(on_event=told.append)
    take(stream, sim.clock, 2)
    token = stream.token
    sim.trim("S1", before=5)
    stream.move_to(token)
    until_raises(RecordsExpired, stream, sim.clock)
    stream.move_to(token)
    until_raises(RecordsExpired, stream, sim.clock)
    assert len(told.of(GapFound)) == 2


# -- late records


def test_a_late_record_is_told_before_it_comes_out_with_how_late_it_is(sim: Simulator, open_stream: Open, told: Told):
    skewed(sim)
    stream = open_stream(on_event=told.append)
    drain(stream, sim.clock, quiet=10)
    put_late(sim, 1, seconds=40)
    seen: list[int] = []
    records = []
    while not records:
        record = next(stream)
        seen.append(len(told.of(LateRecord)))
        if record is None:
            sim.clock.advance(1)
        else:
            records.append(record)
    (late,) = told.of(LateRecord)
    assert seen[-1] == 1
    assert (late.shard_id, late.sequence_number) == identities(records)[0]
    assert records[0].late
    assert late.seconds == pytest.approx(10 + 40, abs=2)  # ten of them went by before it was written


@pytest.mark.parametrize("count", [1, 5, 700])
def test_each_late_record_is_told_once(sim: Simulator, open_stream: Open, told: Told, count: int):
    skewed(sim)
    stream = open_stream(on_event=told.append)
    drain(stream, sim.clock, quiet=10)
    put_late(sim, count)
    records = drain(stream, sim.clock, quiet=10)
    late = [record for record in records if record.late]
    assert len(late) == count
    assert [(event.shard_id, event.sequence_number) for event in told.of(LateRecord)] == identities(late)


def test_packed_records_are_late_one_by_one(open_stream: Open, told: Told):
    with IndoorSimulator(table=None) as sim:
        orders = sim.create_stream("orders", "S1 ~ S2")
        orders.put("S1", b"1", key="a")
        source = KinesisStreams("orders", client=sim.client("kinesis"))
        with Stream(source, clock=sim.clock, on_event=told.append) as stream:
            take(stream, sim.clock, 1)
            orders.put("S2", pack([("a", b"2"), ("b", b"3")]), created=sim.clock.now() - 100)
            records = take(stream, sim.clock, 2)
        assert [record.late for record in records] == [True, True]
        assert len(told.of(LateRecord)) == 2


def test_without_lateness_late_is_only_counted(sim: Simulator, open_stream: Open, told: Told):
    skewed(sim)
    stream = open_stream(lateness=None, on_event=told.append)
    drain(stream, sim.clock, quiet=10)
    put_late(sim, 3)
    drain(stream, sim.clock, quiet=10)
    assert stream.stats.late == 3
    assert not told.of(LateRecord)


# -- calls that are made again


def test_each_retry_is_told_with_shard_kind_tries_and_pause(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1")
    write(sim, "S1")
    sim.fault("GetRecords", "S1", kind="throttle", times=2)
    sim.fault("DescribeStream", kind="500", times=1)
    stream = open_stream(on_event=told.append)
    drain(stream, sim.clock)
    retries = told.of(CallFailed)
    assert [(retry.shard_id, retry.kind, retry.tries) for retry in retries] == [
        (None, "TransientError", 1),
        ("S1", "Throttled", 1),
        ("S1", "Throttled", 2),
    ]
    assert retries[2].pause_seconds == pytest.approx(2 * retries[1].pause_seconds)
    assert stream.stats.retries == len(retries)
    assert stream.stats.throttles == 2


# -- progress


def test_progress_comes_about_each_five_seconds_while_reading_goes_on(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1 ~ S2")
    stream = open_stream(on_event=told.append)
    for _ in range(20):
        write(sim, "S1", "S2", rounds=1, every=0)
        drain(stream, sim.clock, quiet=3)
    progress = told.of(Progress)
    passed = [b.time - a.time for a, b in zip(progress, progress[1:], strict=False)]
    assert len(progress) >= 10
    assert all(5 <= seconds <= 7 for seconds in passed)
    assert all(b.before == a.stats for a, b in zip(progress, progress[1:], strict=False))
    assert not any(getattr(progress[0].before, field.name) for field in dataclasses.fields(progress[0].before))


def test_all_that_was_done_was_told_when_a_batch_job_ends(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1")
    write(sim, "S1", rounds=7)
    with open_stream(on_event=told.append) as stream:
        for _ in stream.batches(3, until="caught_up"):
            pass
        assert told.of(Progress)[-1].stats == stream.stats
    assert told.of(Progress)[-1].stats.records == 7


def test_heartbeats_of_a_consumer_that_pauses_tell_that_it_is_alive(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1")
    write(sim, "S1", rounds=3)
    stream = open_stream(on_event=told.append)
    take(stream, sim.clock, 1)
    for _ in range(10):
        sim.clock.advance(30)
        stream.heartbeat()
    assert len(told.of(Progress)) == 10


def test_leaving_a_with_block_tells_what_was_not_told(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1")
    write(sim, "S1", rounds=7)
    with open_stream(on_event=told.append) as stream:
        take(stream, sim.clock, 3)
        assert not told.of(Progress)
    assert [event.stats.records for event in told.of(Progress)] == [3]


def test_leaving_a_with_block_by_ctrl_c_looks_at_nothing(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S1")
    write(sim, "S1", rounds=3)
    with pytest.raises(KeyboardInterrupt), open_stream(on_event=told.append) as stream:  # noqa: PT012
        take(stream, sim.clock, 1)
        raise KeyboardInterrupt
    assert not told


def test_follow_ended_by_close_from_another_thread_tells_on_its_own(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    write(sim, "S1", rounds=3)
    threads = set()
    stream = open_stream(on_event=lambda event: threads.add(threading.get_ident()))
    records = stream.follow()
    for _ in range(3):
        next(records)
    closer = threading.Thread(target=stream.close)
    closer.start()
    closer.join()
    assert list(records) == []
    assert threads == {threading.get_ident()}


def test_the_records_are_the_same_with_it_and_without(sim: Simulator, open_stream: Open, told: Told):
    sim.shape("S0 => {S1, S2}; S2 => S3")
    for shard in ("S0", "S1", "S2", "S3"):
        write(sim, shard, rounds=4)
    sim.fault("GetRecords", kind="throttle", after=3, times=4)
    one, _ = drain_over_gaps(open_stream(), sim.clock)
    sim.fault("GetRecords", kind="throttle", after=3, times=4)
    other, _ = drain_over_gaps(open_stream(on_event=told.append), sim.clock)
    assert identities(one) == identities(other)
    assert [record.order_key for record in one] == [record.order_key for record in other]
    assert told.of(CallFailed)
