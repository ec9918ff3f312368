"""A topic over Kafka, by the client's own mock cluster: many, one, and tasks; each key in order."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from confluent_kafka import Producer

from streamiter import Stream, Topic
from tests.log.test_kafka import Mocked


def test_each_key_is_in_order():
    cluster = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    brokers = cluster.list_topics("orders", timeout=30).brokers.values()  # who asks has a topic of four partitions
    log = Mocked(",".join(f"{broker.host}:{broker.port}" for broker in brokers), "orders")
    topic = Topic(log, name="orders", partition_by="key")
    topic.sendmany({"key": number % 7, "n": number} for number in range(1000))
    topic.send({"key": 0, "n": 1000})

    async def send_all() -> None:
        await asyncio.gather(*[topic.send({"key": number % 7, "n": number}) for number in range(1001, 1200)])

    asyncio.run(send_all())
    found = defaultdict(list)
    with Stream(topic) as stream:
        for count, record in enumerate(stream.follow(), 1):
            assert record.key == str(record.payload["key"]).encode()
            found[record.payload["key"]].append(record.payload["n"])
            if count == 1200:
                break
    log.close()
    assert all(numbers == sorted(numbers) for numbers in found.values())
    assert sorted(number for numbers in found.values() for number in numbers) == list(range(1200))
