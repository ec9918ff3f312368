"""async-kinesis, in an environment of its own: `python async_kinesis_reader.py read URL NAME COUNT`, or `pack`; prints JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from base64 import b64encode
from typing import Any


class Payloads:
    """Payloads as text; those that were packed into one are taken apart by async-kinesis."""

    def __init__(self) -> None:
        from kinesis.processors import KPLStringProcessor  # type: ignore[import-not-found]

        self._packed: Any = KPLStringProcessor()

    def parse(self, payload: bytes) -> list[str]:
        if payload[:4] != b"\xf3\x89\x9a\xc2":
            return [payload.decode()]
        return [str(part) for part in self._packed.parse(payload)]


async def main(url: str, name: str, count: int) -> None:
    from kinesis import Consumer  # type: ignore[import-not-found]

    found: list[str] = []
    consumer: Any = Consumer(
        name,
        endpoint_url=url,
        region_name="us-east-1",
        processor=Payloads(),
        shard_fetch_rate=50,
        use_list_shards=True,
        idle_timeout=60,
    )
    async with consumer:
        async for payload in consumer:
            found.append(payload)
            if len(found) == count:
                break
    print(json.dumps(found))


def pack() -> None:
    """Payloads as its library packs them: each as base64, with what is in it."""
    from aws_kinesis_agg.aggregator import RecordAggregator  # type: ignore[import-not-found]

    packed = []
    for count in (1, 2, 50):
        aggregator = RecordAggregator()
        records = [(f"key-{number % 3}", f"payload {number}", str(number * 10**30)) for number in range(count)]
        for key, payload, hashed in records:
            aggregator.add_user_record(key, payload, hashed)
        _, _, payload = aggregator.clear_and_get().get_contents()
        packed.append([b64encode(bytes(payload)).decode(), records])
    print(json.dumps(packed))


if __name__ == "__main__":
    if sys.argv[1] == "pack":
        pack()
    else:
        asyncio.run(main(sys.argv[2], sys.argv[3], int(sys.argv[4])))
