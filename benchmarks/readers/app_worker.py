"""A worker of an app as a process of its own, to be killed: it prints when it was handed records, and of which lease."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from benchmarks.readers.ours import client
from streamiter import DynamoDBStreams
from streamiter.app import App

PAUSE_SECONDS = 0.01  # a batch takes so long: so that records are left to be processed elsewhere


def main(told: dict[str, Any]) -> None:
    """Runs until it is killed, or its standard output is closed."""
    app = App("bench", store=told["store"], failover=told["failover"])

    @app.processor(DynamoDBStreams(told["arn"], client=client(told["endpoint_url"])), size=10)
    async def tells(batch: Any) -> None:
        print(json.dumps({"lease": batch.lease.key, "at": time.monotonic()}), flush=True)
        await asyncio.sleep(PAUSE_SECONDS)

    app.run()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
