"""What the tests of topics send, and over what."""

from __future__ import annotations

import asyncio
import json
from functools import wraps

from streamiter.topic import Topic
from tests.topic.faults import FaultyLog


def order(number: int, customer: object = None) -> dict[str, object]:
    return {"id": number, "customer": number if customer is None else customer}


def topic_on(log, **options) -> Topic:
    return Topic(log, name="orders", partition_by="customer", **options)


def waiting(topic: Topic) -> int:
    return sum(len(lane.jobs) for lane in topic._outgoing._writer._lanes.values())


def on_loop(test):
    """Runs a coroutine function as a test."""

    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


def numbers_in(log: FaultyLog, partition: int) -> list[int]:
    return [json.loads(payload)["id"] for payload in log.payloads(partition)]
