"""The Kafka log over the client's own mock cluster: order, places, tips. A real broker is asked in tests/integration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from streamiter import Stream
from streamiter.clock import SystemClock
from streamiter.errors import AccessDenied, InvalidOption, InvalidStream, ShardGone, SourceError, TransientError
from streamiter.locate import locate
from streamiter.log import Entry
from streamiter.log import kafka_lanes as lanes
from streamiter.log.kafka import KafkaLog
from streamiter.log.kafka_errors import in_our_words
from streamiter.log.kafka_messages import Run
from streamiter.log.record import LogRecord


class Mocked(KafkaLog):
    """The mock cluster never answers who asks for a topic's id."""

    def _topic_id(self) -> str:
        return ""


@pytest.fixture(scope="module")
def cluster() -> Producer:
    return Producer({"test.mock.num.brokers": 1, "log_level": 0})  # the cluster lives as long as this client


@pytest.fixture
def log(cluster: Producer, request: pytest.FixtureRequest) -> Iterator[KafkaLog]:
    topic = request.node.name
    brokers = cluster.list_topics(topic, timeout=30).brokers.values()  # who asks has a topic of four partitions
    made = Mocked(",".join(f"{broker.host}:{broker.port}" for broker in brokers), topic)
    yield made
    made.close()


def numbered(*numbers: int) -> list[Entry]:
    return [Entry(b"%d" % number, b"key %d" % (number % 3), (("n", b"%d" % number),)) for number in numbers]


def payloads(records: Any) -> list[int]:
    return [int(record.payload) for record in records]


def read_on(log: KafkaLog, partition: int, after: int, wanted: int, limit: int = 1000) -> list[Any]:
    """The consumer fetches in its own time."""
    records: list[Any] = []
    while len(records) < wanted:
        records += log.read(partition, records[-1].number if records else after, limit).records
    return records


def test_what_is_appended_is_read_with_all_that_it_had(log):
    assert log.append(0, numbered(*range(5))) == [1, 2, 3, 4, 5]
    assert log.append(0, [Entry(b""), Entry(None, b"key")]) == [6, 7]
    records = read_on(log, 0, 0, 7)
    assert [(record.number, record.key, record.headers) for record in records[:2]] == [
        (1, b"key 0", (("n", b"0"),)),
        (2, b"key 1", (("n", b"1"),)),
    ]
    assert (records[5].payload, records[5].key, records[5].headers) == (b"", None, ())
    assert (records[6].payload, records[6].key, records[6].is_tombstone) == (None, b"key", True)
    assert all(record.shard_id == "0" and record.created_us for record in records)


def test_a_partition_is_read_from_any_place_again_and_again(log):
    log.append(1, numbered(*range(20)))
    for after in (0, 10, 5, 19, 5):
        assert payloads(read_on(log, 1, after, 20 - after, limit=3)) == list(range(after, 20))


def test_what_an_interrupted_reader_had_in_its_hands_comes_again(log, monkeypatch):
    log.append(1, numbered(*range(20)))
    read_on(log, 1, 0, 1, limit=1)
    whole = lanes.runs_of

    def interrupted(messages: Any) -> Any:
        found = whole(messages)
        if any(run.records for run in found):
            monkeypatch.setattr(lanes, "runs_of", whole)
            raise KeyboardInterrupt
        return found

    log.append(1, numbered(*range(20, 40)))
    monkeypatch.setattr(lanes, "runs_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        payloads(read_on(log, 1, 1, 39))
    assert payloads(read_on(log, 1, 1, 39)) == list(range(1, 40))


def test_a_tip_is_told_and_left(log):
    log.append(2, numbered(0))
    read_on(log, 2, 0, 1)
    while not log.read(2, 1, 10).is_tip:
        pass
    log.append(2, numbered(1))
    while not (found := log.read(2, 1, 10).records):
        pass
    assert payloads(found) == [1]
    assert log.ends(2) == (1, 2)
    assert log.ends(3) == (None, None)


def test_more_than_may_wait_is_left_with_the_broker(log, monkeypatch):
    monkeypatch.setattr(lanes, "MOST_WAITING", 50)
    log.append(0, numbered(*range(3000)))
    log.append(1, numbered(*range(3000)))
    assert payloads(read_on(log, 0, 0, 3000, limit=7)) == list(range(3000))
    assert payloads(read_on(log, 1, 0, 3000, limit=501)) == list(range(3000))


def test_a_stream_reads_all_partitions_and_goes_on_from_its_token(log):
    for number in range(200):
        log.append(number % 4, numbered(number))
    with Stream(log, "trim_horizon") as stream:
        first = [next(record) for record in [stream.follow()] for _ in range(50)]
        token = stream.token
    with Stream(Mocked(log._servers, log._topic), token) as stream:
        rest = list(stream.follow(until="caught_up"))
    numbers = payloads(first + rest)
    assert sorted(numbers) == list(range(200))
    for partition in range(4):
        assert [number for number in numbers if number % 4 == partition] == list(range(partition, 200, 4))


def test_a_partition_that_is_not_there_is_gone(log):
    with pytest.raises(ShardGone, match="no partition 4, but 4, from 0 on"):
        log.read(4, 0, 1)
    with pytest.raises(ShardGone):
        log.append(7, numbered(1))


def test_a_log_that_was_closed_opens_anew(log):
    log.append(0, numbered(1))
    assert payloads(read_on(log, 0, 0, 1)) == [1]
    log.close()
    log.close()
    log.append(0, numbered(2))
    assert payloads(read_on(log, 0, 0, 2)) == [1, 2]


def test_nobody_at_the_address_is_a_fault_that_may_pass():
    with pytest.raises(TransientError, match="is a broker reached"):
        KafkaLog("127.0.0.1:1", "orders").partitions()


def test_an_option_that_the_client_does_not_know_is_told():
    with pytest.raises(InvalidOption, match='No such configuration property: "fetch.wat"'):
        KafkaLog("127.0.0.1:1", "orders", config={"fetch.wat": "1"}).partitions()


def test_a_url_names_servers_topic_and_the_client_s_options(monkeypatch):
    found = locate("kafka://a:9092,b:9092/orders?security.protocol=SSL")
    assert isinstance(found, KafkaLog)
    assert repr(found) == "KafkaLog('a:9092,b:9092', 'orders')"
    assert found._config["security.protocol"] == "SSL" and not found.publishes
    committing = locate("kafka://a:9092/orders?offsets=commit")
    assert committing.publishes and "offsets" not in committing._config  # type: ignore[attr-defined]
    monkeypatch.setenv("ORDERS", "kafka://ann:p%40ss@a:9092/orders")
    hidden = locate("env:ORDERS")
    assert isinstance(hidden, KafkaLog)
    assert (hidden._config["sasl.username"], hidden._config["sasl.password"]) == ("ann", "p@ss")
    assert "p@ss" not in repr(hidden)


@pytest.mark.parametrize(
    "url, says",
    [
        ("kafka:///orders", "no server"),
        ("kafka://a:9092", "no topic"),
        ("kafka://a:9092/x/y", "no topic"),
        ("kafka://a:9092/orders?topic=x", "no option 'topic'"),
        ("kafka://a:9092/orders?offsets=x", "offsets is keep or commit, not 'x'"),
        ("kafka://a:9092/orders?sasl.password=x", "env:NAME"),
        ("kafka://ann:x@a:9092/orders", "with a password in it is refused"),
        ("kafka://a:9092/orders?x", "[?]name=value"),
    ],
)
def test_a_url_that_cannot_be_says_what_is_wrong(url, says):
    with pytest.raises(InvalidStream, match=says):
        locate(url)


@pytest.mark.parametrize(
    "code, kind",
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AccessDenied),
        (KafkaError._AUTHENTICATION, AccessDenied),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, InvalidStream),
        (KafkaError.MSG_SIZE_TOO_LARGE, InvalidOption),
        (KafkaError._TRANSPORT, TransientError),
        (KafkaError._UNKNOWN_PARTITION, TransientError),
        (KafkaError.NOT_LEADER_FOR_PARTITION, TransientError),
        (KafkaError.UNSUPPORTED_VERSION, SourceError),
    ],
)
def test_the_client_s_errors_are_told_in_our_words(code, kind):
    error = in_our_words(KafkaError(code), "partition 0")
    assert type(error) is kind
    assert str(error).startswith("partition 0: ")


def test_a_look_that_ends_amid_a_run_is_followed_by_one_more(monkeypatch):
    """Else every other page would be of one entry, and cost nearly as much as one of a thousand."""
    monkeypatch.setattr(lanes, "MESSAGES", 1_000)
    monkeypatch.setattr(lanes, "TIMES", 1)
    there = [(1, 0)]

    class Consumer:
        def incremental_assign(self, places: list) -> None:
            """Reads all there is in any case."""

        def consume(self, most: int, seconds: float) -> list:
            taken = there[:most]
            del there[:most]
            return taken

    def runs_of(messages: list) -> list[Run]:
        alike = groupby(messages, itemgetter(0))
        told = [(partition, [offset for _, offset in run]) for partition, run in alike]
        return [
            Run(at, offsets, [LogRecord(str(at), f"{offset + 1}", 0) for offset in offsets]) for at, offsets in told
        ]

    monkeypatch.setattr(lanes, "runs_of", runs_of)
    reader = lanes.Lanes(Consumer(), "orders", SystemClock())
    assert len(reader.take(1, 0, 1_000, 0, 1.0)[0]) == 1
    there += [(0, number) for number in range(999)] + [(1, number) for number in range(1, 1_000)]
    assert len(reader.take(0, 0, 1_000, 0, 1.0)[0]) == 999  # and one of the other partition, which waits
    assert [record.number for record in reader.take(1, 1, 1_000, 0, 1.0)[0]] == list(range(2, 1_001))
