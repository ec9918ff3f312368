"""Logs in Kafka: how fast a log is written and an app works it off, beside the client's own loops on the same broker.

It needs Java and Maven, for the broker; so it runs only where it is named.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka
from confluent_kafka.admin import AdminClient

from benchmarks.measure import Scale
from benchmarks.results import Result, Row
from streamiter import App, Stream
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


class Rate(NamedTuple):
    """Records a second, by the clock and by the CPU time of this process, the client's own threads included."""

    wall: float
    cpu: float


def run(scale: Scale) -> Result:
    """Our turn and the peer's, one after the other, on the same broker and the same entries."""
    count = scale.of(400_000, 8_000)
    with tempfile.TemporaryDirectory() as folder, broker(jars(KEPT), Path(folder)) as node:
        servers = f"127.0.0.1:{node.port}"
        AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=60)
        rounds = [_round(servers, f"orders{turn}", count) for turn in range(scale.runs)]

    def row(work: str, ours: str, peer: str, told: str, target: float | None) -> Row:
        ratios = [found[ours].wall / found[peer].wall for found in rounds]
        by_cpu = [found[ours].cpu / found[peer].cpu for found in rounds]
        return Row(work, told, ratios, target, by_cpu=by_cpu)

    measured = {
        name: {"records_per_second": rate.wall, "records_per_cpu_second": rate.cpu}
        for name, rate in rounds[len(rounds) // 2].items()
    }
    return Result(
        [
            row("append to a log in Kafka, batches of 1,000", "written", "produced", "produce() and flush()", None),
            row("an app on it: batches of 500", "batches", "loop", LOOP, 0.4),
            row("the same: events.records()", "events", "loop", LOOP, None),
            row("Stream.batches, in one order", "streamed", "loop", LOOP, None),
        ],
        {"records": count, "payload_bytes": len(PAYLOAD), "partitions": PARTITIONS, "rates": measured},
        {"confluent-kafka": {"confluent-kafka": str(confluent_kafka.__version__)}},
    )


def _round(servers: str, topic: str, count: int) -> dict[str, Rate]:
    with KafkaLog(servers, topic) as log, KafkaLog(servers, f"plain-{topic}") as plain:
        log.grow(PARTITIONS)
        plain.grow(PARTITIONS)
        url = f"kafka://{servers}/{topic}"
        return {
            "written": _timed(lambda: _append(log, count)),
            "produced": _timed(lambda: _produce(servers, f"plain-{topic}", count)),
            "loop": _timed(lambda: _loop(servers, topic, count)),
            "batches": _timed(lambda: _work(url, count, is_events=False)),
            "events": _timed(lambda: _work(url, count, is_events=True)),
            "streamed": _timed(lambda: _stream(log)),
        }


def _timed(work: Callable[[], int]) -> Rate:
    wall, cpu = time.monotonic(), time.process_time()
    count = work()
    return Rate(count / (time.monotonic() - wall), count / (time.process_time() - cpu))


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


def _work(url: str, count: int, *, is_events: bool) -> int:
    """An app of one worker, from its start to its end."""
    app = App("bench", store="memory:")
    done = 0

    def note(number: int) -> None:
        nonlocal done
        done += number
        if done >= count:
            app.stop()

    if is_events:

        @app.processor(url)
        async def one_by_one(events: Any) -> None:
            async for _ in events.records():
                note(1)

    else:

        @app.processor(url, size=COUNT)
        async def together(batch: Any) -> None:
            note(len(batch))

    asyncio.run(app.serve())
    assert done == count
    return done


def _stream(log: KafkaLog) -> int:
    with Stream(log) as stream:
        return sum(map(len, stream.batches(BATCH, until="caught_up")))
