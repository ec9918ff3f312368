"""FastStream: batches of up to 100 from each of some streams in Redis, acknowledged; a handler that does nothing."""

import asyncio
import sys
from typing import Any

from faststream import FastStream
from faststream.redis import RedisBroker, StreamSub

from benchmarks.readers.topic_rate import Rate

port, count, partitions = (int(word) for word in sys.argv[1:])
broker = RedisBroker(f"redis://127.0.0.1:{port}", logger=None)
rate = Rate(count)


async def work(batch: list[Any]) -> None:
    """Does nothing."""
    rate.note(len(batch))


for partition in range(partitions):
    stream = StreamSub(f"orders:{partition}", group="bill", consumer="one", batch=True, max_records=100, last_id="0")
    broker.subscriber(stream=stream)(work)


async def main() -> None:
    """Fills the streams, then takes all."""
    async with broker:
        for first in range(0, count, 20):
            sent = [
                broker.publish({"order_id": number, "text": "x" * 1000}, stream=f"orders:{number % partitions}")
                for number in range(first, first + 20)
            ]
            await asyncio.gather(*sent)
    await FastStream(broker).run()


asyncio.run(main())
