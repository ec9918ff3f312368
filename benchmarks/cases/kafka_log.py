"""Logs in Kafka: how fast a log is written and an app works it off, beside the client's own loops on the same broker.

It needs Java and Maven, for the broker; so it runs only where it is named.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import confluent_kafka
from confluent_kafka.admin import AdminClient

from benchmarks.log_rates import Rates, measured, row, streamed, timed, work_off
from benchmarks.measure import Scale
from benchmarks.results import Result
from streamiter import App
from streamiter.log import Entry
from streamiter.log.kafka import KafkaLog
from tests.integration.kafka_broker import broker, jars

TITLE = "logs in Kafka: 1 KB, 8 partitions, a processor that does nothing"
PARTITIONS = 8
PAYLOAD = bytes(range(256)) * 4
BATCH = 1000
COUNT = 500  # messages a call of the plain loop
LOOP = "consume(500) by confluent-kafka"
KEPT = Path(__file__).parents[2] / ".venv" / "kafka"


def run(scale: Scale) -> Result:
    """Our turn and the peer's, one after the other, on the same broker and the same entries."""
    count = scale.of(1_000_000, 8_000)
    with tempfile.TemporaryDirectory() as folder, broker(jars(KEPT), Path(folder)) as node:
        servers = f"127.0.0.1:{node.port}"
        AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=60)
        rounds = [_round(servers, f"orders{turn}", count) for turn in range(scale.runs)]

    return Result(
        [
            row(
                rounds,
                "append to a log in Kafka, batches of 1,000",
                "written",
                "produced",
                "produce() and flush()",
                None,
            ),
            row(rounds, "an app on it: batches of 500", "batches", "loop", LOOP, 0.4),
            row(rounds, "the same: events.records()", "events", "loop", LOOP, None),
            row(rounds, "Stream.batches, in one order", "streamed", "loop", LOOP, None),
        ],
        {"records": count, "payload_bytes": len(PAYLOAD), "partitions": PARTITIONS, "rates": measured(rounds)},
        {"confluent-kafka": {"confluent-kafka": str(confluent_kafka.__version__)}},
    )


def _round(servers: str, topic: str, count: int) -> Rates:
    with KafkaLog(servers, topic) as log, KafkaLog(servers, f"plain-{topic}") as plain:
        log.grow(PARTITIONS)
        plain.grow(PARTITIONS)
        url = f"kafka://{servers}/{topic}"
        writes = {
            "written": timed(lambda: _append(log, count)),
            "produced": timed(lambda: _produce(servers, f"plain-{topic}", count)),
        }
        _loop(servers, topic, count)  # not counted: whoever reads first has a broker that has not read these yet
        return writes | {
            "loop": timed(lambda: _loop(servers, topic, count)),
            "batches": timed(lambda: work_off(App("bench", store="memory:"), url, count, size=COUNT, is_events=False)),
            "events": timed(lambda: work_off(App("bench", store="memory:"), url, count, size=COUNT, is_events=True)),
            "streamed": timed(lambda: streamed(log, BATCH)),
        }


def _append(log: KafkaLog, count: int) -> int:
    entries = [Entry(PAYLOAD, b"key-%d" % number) for number in range(BATCH)]
    for turn in range(count // BATCH):
        log.append(turn % PARTITIONS, entries)
    return count


def _produce(servers: str, topic: str, count: int) -> int:
    """In batches, each of them acknowledged, as an append is."""
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5})
    for turn in range(count // BATCH):
        for number in range(BATCH):
            producer.produce(topic, PAYLOAD, b"key-%d" % number, turn % PARTITIONS)
        producer.flush()
    return count


def _loop(servers: str, topic: str, count: int) -> int:
    """No order between partitions, no lease, no place that is kept."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "plain",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    done = 0
    while done < count:
        done += len([(message.key(), message.value()) for message in consumer.consume(COUNT, 1.0)])
    consumer.close()
    return done
