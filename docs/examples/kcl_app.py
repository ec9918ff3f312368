"""A record processor of the Kinesis Client Library, moved to streamiter: the same five methods, the same lease table.

    streamiter worker kcl_app:app                 # STREAM=clicks, APPLICATION=clicks-app

Stop the Java workers, then start this: it goes on at their checkpoints. To go back, stop this and start them.
"""

from __future__ import annotations

import os

from streamiter import App, KinesisRecord
from streamiter.app import HeldLease, LeaseBatch

STREAM = os.environ.get("STREAM", "clicks")
APPLICATION = os.environ.get("APPLICATION", "clicks-app")  # the KCL's application name is its table's

app = App(APPLICATION, store=f"kcl+dynamodb://{APPLICATION}", failover=float(os.environ.get("FAILOVER", "10")))


@app.processor(f"kinesis://{STREAM}", size=500)
class Clicks:
    """One of these for each shard that this worker reads. Where it returns from `process`, the batch is checkpointed."""

    def initialize(self, lease: HeldLease) -> None:
        self.shard = lease.key
        print(f"{self.shard}: begins", flush=True)

    def process(self, batch: LeaseBatch[KinesisRecord]) -> None:
        for record in batch:
            print(f"{self.shard}: {record.payload.decode()}", flush=True)

    def lease_lost(self) -> None:
        print(f"{self.shard}: another worker has it", flush=True)

    def shard_ended(self) -> None:
        print(f"{self.shard}: is read to its end", flush=True)

    def shutdown_requested(self) -> None:
        print(f"{self.shard}: is about to be handed over", flush=True)


if __name__ == "__main__":
    app.run()
