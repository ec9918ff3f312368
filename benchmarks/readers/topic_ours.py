"""streamiter: a topic in Redis, sent to, then worked off by an app; a processor of batches or of events that does nothing."""

import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.readers.topic_rate import Rate
from streamiter import App

form, *words = sys.argv[1:]
port, count, partitions = map(int, words)


@dataclass
class Order:
    """One record."""

    order_id: int
    text: str


app = App(f"peer-{form}", store=f"redis://127.0.0.1:{port}/0")
orders = app.topic(f"redis://127.0.0.1:{port}/orders", record=Order, partition_by="order_id", partitions=partitions)
rate = Rate(count)

if form == "events":

    @app.processor(orders)
    async def one_by_one(events: Any) -> None:
        """As runnel's: values, one by one."""
        async for _ in events.values():
            rate.note(1)

else:

    @app.processor(orders, size=100)
    async def together(batch: Any) -> None:
        """As FastStream's: decoded values, up to 100 of them."""
        rate.note(len([record.payload for record in batch]))


orders.sendmany(Order(number, "x" * 1000) for number in range(count))
app.run()
