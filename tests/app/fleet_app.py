"""An app that notes what it is given, for worker processes of the tests; environment variables say how it behaves."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streamiter.app import App, AppEvent, LeaseTaken

NOTES = Path(os.environ["NOTES"])  # a folder; each process has a file of its own there
PAUSE = float(os.environ.get("PAUSE", "0"))  # for each batch
HANGS = os.environ.get("HANGS", "")  # at this key, as long as the file `hang` is there
PULSE = 0.05  # seconds, with PULSE=1
FAILS = os.environ.get("FAILS", "")  # at this key

app = App(
    "shop",
    store=os.environ["STORE"],
    failover=float(os.environ.get("FAILOVER", "2")),
    grace=float(os.environ.get("GRACE", "20")),
    on_event=lambda event: taken(event),
)
file = os.open(NOTES / f"{os.getpid()}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(kind: str, lease: str = "", fence: int = 0, records: Sequence[Any] = ()) -> None:
    """One call: it is there as a whole or not at all, also when the process is killed."""
    told = {
        "kind": kind,
        "lease": lease,
        "fence": fence,
        "keys": [record.key["id"] for record in records],
        "numbers": [record.sequence_number for record in records],
        "worker": app.worker_id,
        "pid": os.getpid(),
        "time": time.monotonic(),  # one clock for all processes of the machine
        "late": Pulse.late_by_now(),
    }
    os.write(file, json.dumps(told).encode() + b"\n")


def taken(event: AppEvent) -> None:
    if isinstance(event, LeaseTaken):
        note("taken", event.lease, event.fence)


class Pulse:
    """How long this process was held up so far, all together: by how much it came late to what it does each moment."""

    late = 0.0
    last = time.monotonic()

    @classmethod
    def late_by_now(cls) -> float:
        return cls.late + max(0.0, time.monotonic() - cls.last - PULSE)

    @classmethod
    def beat(cls) -> None:
        cls.late, cls.last = cls.late_by_now(), time.monotonic()


if os.environ.get("PULSE"):

    @app.timer(PULSE)
    async def pulse():
        Pulse.beat()

    @app.timer(5 * PULSE)
    async def tell():
        note("pulse")


def work(lease: Any, records: Sequence[Any]) -> None:
    note("begin", lease.key, lease.fence, records)
    keys = [record.key["id"] for record in records]
    if FAILS in keys:
        raise ValueError("it was told to fail")
    while HANGS in keys and (NOTES / "hang").exists():
        time.sleep(0.01)
    if PAUSE:
        time.sleep(PAUSE)
    note("end", lease.key, lease.fence, records)


form = os.environ.get("FORM", "batch")
if form == "batch":

    @app.processor("dynamodb://users", size=int(os.environ.get("SIZE", "20")), within=0)
    def by_batch(batch):
        work(batch.lease, batch)

elif form == "record":

    @app.processor("dynamodb://users")
    def by_record(record, lease):
        work(lease, [record])

else:

    @app.processor("dynamodb://users", order="key", concurrency=8)
    def by_key(record, lease):
        work(lease, [record])
