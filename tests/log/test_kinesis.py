"""The Kinesis log over the simulator: the contract, what other clients see of it, and streams that are resharded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from streamiter import Stream, Topic
from streamiter.errors import InvalidOption, InvalidStream, ShardGone
from streamiter.log import Entry
from streamiter.log.kinesis import KinesisLog
from streamiter.log.locate import open_log
from streamiter.source.kinesis import KinesisStreams
from streamiter.testing import LogRig, Simulator, check_log
from streamiter.topic.routing import partition_of


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None) as sim:
        yield sim


@contextmanager
def kinesis_log(sim: Simulator, partitions: int) -> Iterator[KinesisLog]:
    with KinesisLog(
        "orders", client=sim.client("kinesis"), reads_per_second=None, bytes_per_second=None, clock=sim.clock
    ) as log:
        log.grow(partitions)
        yield log


@contextmanager
def rig() -> Iterator[LogRig]:
    with Simulator(table=None) as sim, kinesis_log(sim, 3) as log:

        def another() -> KinesisLog:
            return KinesisLog("orders", client=sim.client("kinesis"), reads_per_second=None, bytes_per_second=None)

        log.partitions()
        yield LogRig(
            log,
            another,
            is_exact=None,
            grows=None,
            trims=None,
            advance=sim.clock.advance,
            throttle=lambda: sim.fault(kind="throttle"),
            fail=lambda: sim.fault(kind="500"),
            shard_id=lambda partition: log._open[partition].shard_id,
        )


def test_it_keeps_the_contract_of_logs():
    report = check_log(rig)
    assert len(report.kept) >= 30, report
    # What is passed over: exact times and counts, which Kinesis has not; and what this rig cannot do to a connection.
    assert set(report.passed_over.values()) >= {"the rig has no trims", "the rig has no is_exact"}


def test_entries_of_one_append_are_one_record_and_other_clients_read_them(sim):
    with kinesis_log(sim, 2) as log:
        numbers = log.append(0, [Entry(b"%d" % n, b"k%d" % (n % 3)) for n in range(250)])
        assert len({number // 10**6 for number in numbers}) == 1 and numbers == sorted(numbers)
        log.append(0, [Entry(b"alone", "ключ".encode())])
        theirs = KinesisStreams("orders", client=sim.client("kinesis"))
        with Stream(theirs, clock=sim.clock) as stream:
            found = list(stream.follow(until="caught_up"))
        assert [(record.payload, record.partition_key) for record in found] == [
            *((b"%d" % n, f"k{n % 3}") for n in range(250)),
            (b"alone", "ключ"),
        ]
        assert all(0 <= int(record.explicit_hash_key or 0) < 1 << 128 for record in found)


def test_what_other_clients_put_is_read(sim):
    with kinesis_log(sim, 1) as log:
        client = sim.client("kinesis")
        client.put_record(StreamName="orders", Data=b"theirs", PartitionKey="k")
        client.put_record(StreamName="orders", Data=b"\xf5sie and no envelope", PartitionKey="k")
        with Stream(log, clock=sim.clock) as stream:
            found = [(record.payload, record.key) for record in stream.follow(until="caught_up")]
        assert found == [(b"theirs", b"k"), (b"\xf5sie and no envelope", b"k")]


def test_a_stream_goes_on_inside_a_record_from_its_token(sim):
    with kinesis_log(sim, 2) as log:
        log.append(1, [Entry(b"%d" % n) for n in range(100)])
        with Stream(log, clock=sim.clock) as stream:
            first = [next(stream.follow()).payload for _ in range(37)]
            token = stream.token
        with Stream(log, token, clock=sim.clock) as stream:
            rest = [record.payload for record in stream.follow(until="caught_up")]
    assert first + rest == [b"%d" % n for n in range(100)]


def test_a_topic_sends_each_key_to_its_shard_and_reads_it_back(sim):
    with kinesis_log(sim, 4) as log:
        topic = Topic(log, partition_by="customer", clock=sim.clock)
        topic.sendmany([{"customer": f"c{n % 9}", "n": n} for n in range(90)])
        topic.send_tombstone("c1", headers={"why": "gone"})
        with Stream(topic, clock=sim.clock) as stream:
            found = list(stream.follow(until="caught_up"))
        shards = [shard.shard_id for shard in log._open]
        for customer in range(9):
            mine = [record for record in found if record.key == b"c%d" % customer]
            assert {record.shard_id for record in mine} == {shards[partition_of(f"c{customer}", 4)]}
            assert [record.payload["n"] for record in mine if record.payload] == list(range(customer, 90, 9))
        assert [dict(record.headers) for record in found if record.is_tombstone] == [{"why": b"gone"}]


def test_a_stream_that_is_resharded_is_read_by_its_lineage(sim):
    with kinesis_log(sim, 2) as log:
        log.append(0, [Entry(b"before")])
        log.grow(4)
        assert log.partitions() == 4
        log.append(1, [Entry(b"behind")])  # half of the hash keys of the first one
        with Stream(log, clock=sim.clock) as stream:
            assert [record.payload for record in stream.follow(until="caught_up")] == [b"before", b"behind"]
        with pytest.raises(ShardGone, match="has no partition 4, but 4"):
            log.append(4, [Entry(b"")])


def test_a_writer_that_has_not_heard_of_a_split_puts_to_the_shard_that_follows(sim):
    with kinesis_log(sim, 1) as log:
        log.append(0, [Entry(b"before")])
        client = sim.client("kinesis")
        client.update_shard_count(StreamName="orders", TargetShardCount=2, ScalingType="UNIFORM_SCALING")
        log.append(0, [Entry(b"behind")])
        with Stream(log, clock=sim.clock) as stream:
            assert [record.payload for record in stream.follow(until="caught_up")] == [b"before", b"behind"]
        assert log.partitions() == 2


def test_what_kinesis_cannot_do_says_so(sim):
    with kinesis_log(sim, 1) as log:
        with pytest.raises(InvalidOption, match="by their age alone"):
            log.trim(0, 5)
        with pytest.raises(InvalidOption, match="entry 1 of an append has 2000000 bytes"):
            log.append(0, [Entry(b"ok"), Entry(b"x" * 2_000_000)])
        assert log.ends(0) == (None, None)


def test_a_url_names_the_stream(sim):
    log = open_log("kinesis://orders?region=eu-west-1")
    assert repr(log) == "KinesisLog('orders')"
    with pytest.raises(InvalidStream, match="is written kinesis://STREAM"):
        open_log("kinesis://")
    assert Topic("kinesis://orders?region=eu-west-1").title == "orders"
