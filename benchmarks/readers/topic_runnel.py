"""runnel: sends records of 1 KB, then its worker takes them; one processor that does nothing. In an environment of its own."""

import asyncio
import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(__file__))  # its Python has nothing of ours

from runnel import App, Record
from runnel.worker import Worker
from topic_rate import Rate

port, count, partitions = (int(word) for word in sys.argv[1:])
app = App("peer", redis_url=f"redis://127.0.0.1:{port}", log_level="warning")
rate = Rate(count)


class Order(Record):
    """One record."""

    order_id: int
    text: str


orders = app.stream("orders", record=Order, partition_by="order_id", partition_count=partitions)


@app.processor(orders, prefetch_count=100)
async def work(events: Any) -> None:
    """Does nothing."""
    async for _ in events.records():
        rate.note(1)


async def fill() -> None:
    """In batches of 1,000."""
    for first in range(0, count, 1000):
        await orders.send(*[Order(order_id=number, text="x" * 1000) for number in range(first, first + 1000)])


asyncio.get_event_loop().run_until_complete(fill())
Worker(app).start()
