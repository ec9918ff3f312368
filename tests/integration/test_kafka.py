"""Beside a real Kafka broker (`--real`; Java and Maven): transactions, compaction, times, trims, restarts, groups."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from streamiter import App, Stream
from streamiter.errors import (
    InvalidOption,
    InvalidStream,
    InvalidToken,
    PositionTrimmed,
    RecordsExpired,
    TransientError,
)
from streamiter.log import Entry, kafka
from streamiter.log.kafka import KafkaLog
from streamiter.testing import LogRig, check_log
from tests.integration.kafka_broker import Broker, broker, jars

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
KEPT = Path(__file__).parent.parent.parent / ".venv" / "kafka"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip("there is no Maven, or no Java")
    with broker(jars(KEPT), tmp_path_factory.mktemp("kafka")) as started:
        AdminClient({"bootstrap.servers": f"127.0.0.1:{started.port}", "log_level": 0}).list_topics(timeout=60)
        yield started


@pytest.fixture
def servers(node: Broker) -> str:
    return f"127.0.0.1:{node.port}"


@pytest.fixture
def log(servers: str, request: pytest.FixtureRequest) -> Iterator[KafkaLog]:
    with KafkaLog(servers, request.node.name) as made:
        made.grow(2)
        yield made


def entries(*numbers: int) -> list[Entry]:
    return [Entry(b"%d" % number, b"key") for number in numbers]


def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


def done(client: AdminClient, operation: str, asked: list[Any]) -> None:
    for future in getattr(client, operation)(asked).values():  # the client has to live until it is done
        future.result(timeout=30)


def read_on(log: KafkaLog, partition: int, wanted: int) -> list[Any]:
    records: list[Any] = []
    while len(records) < wanted:  # the consumer fetches in its own time
        records += log.read(partition, records[-1].number if records else 0, 100).records
    return records


def read_all(log: KafkaLog, **options: Any) -> tuple[list[int], dict[str, Any]]:
    with Stream(log, "trim_horizon", **options) as stream:
        return [int(record.payload) for record in stream.follow(until="caught_up")], stream.token


def test_what_was_aborted_never_comes_and_what_is_open_holds_the_tip(log, servers):
    writer = Producer({"bootstrap.servers": servers, "transactional.id": "t", "log_level": 0})
    writer.init_transactions(60)

    def write(*numbers: int) -> None:
        for number in numbers:
            writer.produce(log._topic, b"%d" % number, partition=0)
        writer.flush()

    writer.begin_transaction()
    write(100, 101)
    writer.abort_transaction()
    writer.begin_transaction()
    write(1, 2)
    writer.commit_transaction()
    assert read_all(log)[0] == [1, 2]

    writer.begin_transaction()
    write(3)
    found = log.read(0, log.ends(0).last or 0, 10)
    assert (list(found.records), found.is_tip) == ([], False)
    writer.commit_transaction()
    assert read_all(log)[0] == [1, 2, 3]


def test_a_compacted_topic_has_holes_and_no_gap(servers, request):
    topic = request.node.name
    settings = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "100",
    }
    done(admin(servers), "create_topics", [NewTopic(topic, 1, config=settings)])
    with KafkaLog(servers, topic) as log:
        log.append(0, [Entry(b"%d" % number, b"key %d" % (number % 2)) for number in range(6)])
        with Stream(log, "trim_horizon") as stream:
            assert int(next(stream.follow()).payload) in range(6)
            token = stream.token
        beginning = 0
        while len(kept := read_all(log)[0]) > 4:  # each append closes a segment, which is then cleaned
            log.append(0, [Entry(b"%d" % (100 + beginning), b"key 2")])
            beginning += 1
            assert beginning < 200
        assert set(kept) >= {4, 5} or kept[0] >= 100
        with Stream(log, token) as stream:
            assert [int(record.payload) for record in stream.follow(until="caught_up")][-1] == 99 + beginning


def test_a_tombstone_is_no_empty_value_and_clears_its_key(servers, request):
    topic = request.node.name
    settings = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    settings |= {"max.compaction.lag.ms": "100", "delete.retention.ms": "100"}
    done(admin(servers), "create_topics", [NewTopic(topic, 1, config=settings)])
    with KafkaLog(servers, topic) as log:
        log.append(0, [Entry(b"1", b"gone"), Entry(b"", b"stays"), Entry(None, b"gone")])
        first, empty, tombstone = read_on(log, 0, 3)
        assert (first.payload, empty.payload, tombstone.payload) == (b"1", b"", None)
        assert [record.is_tombstone for record in (first, empty, tombstone)] == [False, False, True]
        for number in range(400):
            log.append(0, [Entry(b"%d" % number, b"other")])  # each closes a segment, which is then cleaned
            if b"gone" not in [record.key for record in read_on(log, 0, 1)]:
                return
        raise AssertionError("the key was never cleared")


def test_what_was_trimmed_unread_is_a_gap(log):
    log.append(0, entries(*range(10)))
    with Stream(log, "trim_horizon") as stream:
        assert [int(next(stream.follow()).payload) for _ in range(3)] == [0, 1, 2]
        token = stream.token
    log.trim(0, before=4)
    assert log.ends(0) == (4, 10)
    with Stream(log, token) as stream:
        assert int(next(stream.follow()).payload) == 3
    log.trim(0, before=7)
    with pytest.raises(PositionTrimmed):
        log.read(0, 3, 10)
    with Stream(log, token) as stream:
        records = stream.follow()
        with pytest.raises(RecordsExpired):
            next(records)
        stream.skip()
        assert int(next(stream.follow()).payload) == 6


def test_a_log_opens_at_a_time(log):
    log.append(0, entries(0, 1))
    (first, second) = read_on(log, 0, 2)
    assert first.created_us is not None
    assert log.seek(0, first.created_us) == 0
    assert log.seek(0, first.created_us - 1_000_000) == 0
    assert log.seek(0, second.created_us + 1_000) == 2
    assert log.seek(0, 0) == 0
    assert log.seek(1, second.created_us) == 0


def test_partitions_that_are_added_are_read(log):
    log.append(0, entries(0))
    with Stream(log, "trim_horizon") as stream:
        assert int(next(stream.follow()).payload) == 0
        log.grow(4)
        log.grow(3)  # it never makes them fewer
        assert log.partitions() == 4
        log.append(3, entries(1))
        assert int(next(stream.follow()).payload) == 1


def test_a_topic_made_anew_is_told(servers, request):
    topic = request.node.name
    with KafkaLog(servers, topic) as log:
        log.grow(1)
        log.append(0, entries(0, 1, 2))
        read, token = read_all(log)
        assert read == [0, 1, 2]
        done(admin(servers), "delete_topics", [topic])
        while log._standing():
            pass
        log.grow(1)
    with KafkaLog(servers, topic) as log:
        log.append(0, entries(7))
        with pytest.raises(PositionTrimmed):
            log.read(0, 3, 10)
        with pytest.raises(InvalidToken):
            Stream(log, token)


def test_a_topic_made_anew_while_it_is_read_is_told(servers, request, monkeypatch):
    monkeypatch.setattr(kafka, "COMPARED_US", 0)
    topic = request.node.name
    with KafkaLog(servers, topic) as log, KafkaLog(servers, topic) as other:
        log.grow(1)
        log.append(0, entries(0, 1, 2))
        assert log.name and len(log.read(0, 0, 10).records) == 3
        log.close()
        done(admin(servers), "delete_topics", [topic])
        while other._standing():
            pass
        other.grow(1)
        other.append(0, entries(*range(10, 20)))
        with pytest.raises(InvalidStream, match="made again"):  # and no entry in the old one's place
            log.read(0, 3, 10)


def test_kafka_s_own_tools_see_how_far_a_group_has_read(log, servers):
    log.append(1, entries(*range(10)))
    log.publish("shop", {"1": 4})
    asked = Consumer({"bootstrap.servers": servers, "group.id": "shop", "log_level": 0})
    (committed,) = asked.committed([TopicPartition(log._topic, 1)], timeout=30)
    assert committed.offset == 4
    asked.close()


def test_an_app_commits_its_places_by_choice(log, servers):
    log.append(0, entries(*range(50)))
    app, seen = App("shop", store="memory:"), []

    @app.processor(f"kafka://{servers}/{log._topic}?offsets=commit", name=f"bill-{log._topic}")
    async def bill(batch: Any) -> None:
        seen.extend(batch)
        if len(seen) == 50:
            app.stop()

    app.run()
    consumer = Consumer({"bootstrap.servers": servers, "group.id": f"bill-{log._topic}", "log_level": 0})
    (committed,) = consumer.committed([TopicPartition(log._topic, 0)], timeout=30)
    consumer.close()
    assert committed.offset == 50


def test_a_topic_that_is_not_there_says_how_to_make_one(servers):
    with KafkaLog(servers, "nope") as log, pytest.raises(InvalidStream, match="`grow` makes one"):
        log.partitions()


def test_an_entry_that_is_too_large_is_refused_and_nothing_else_is_lost(log, servers):
    resource = ConfigResource(ResourceType.TOPIC, log._topic)
    resource.add_incremental_config(
        ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    )
    done(admin(servers), "incremental_alter_configs", [resource])
    with pytest.raises(InvalidOption, match="max.message.bytes"):
        log.append(0, [Entry(b"x" * 50_000)])
    log.append(0, entries(1))
    assert read_all(log)[0] == [1]


def test_it_keeps_the_contract_of_logs(servers, request):
    names = (f"checked-{number}" for number in count())

    @contextmanager
    def rig() -> Iterator[LogRig]:
        topic = next(names)
        with KafkaLog(servers, topic) as log:
            log.grow(3)
            yield LogRig(
                log,
                lambda: KafkaLog(servers, topic),
                url=f"kafka://{servers}/{topic}",
                is_durable=True,
                is_exact=None,
                most_bytes=500_000,
            )

    report = check_log(rig)
    assert len(report.kept) > 20


# The last one: it kills the broker that all share.
def test_a_broker_that_is_killed_and_started_again_loses_nothing(node, log):
    log.append(0, entries(*range(100)))
    with Stream(log, "trim_horizon", patience=120) as stream:
        records = stream.follow()
        assert [int(next(records).payload) for _ in range(50)] == list(range(50))
        node.kill()
        with pytest.raises(TransientError):
            log.append(0, entries(-1))
        node.start()
        while True:
            try:
                log.append(0, entries(100))
                break
            except TransientError:
                continue
        read = [int(next(records).payload) for _ in range(51)]
        assert [number for number in read if number >= 0] == list(range(50, 101))
