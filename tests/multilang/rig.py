"""A daemon in a thread of this process, real children, a simulated service: what children were given, and what was told."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamiter import DynamoDBStreams, KinesisStreams, Source
from streamiter.app import AppEvent
from streamiter.lease import Lease
from streamiter.log.memory import MemoryLog
from streamiter.multilang.command import Command, command_of, environment_of
from streamiter.multilang.daemon import Daemon, Plan
from streamiter.multilang.events import ChildFailed
from streamiter.record import SpoiledRecord
from streamiter.source.base import Page, ShardIterator
from streamiter.store import Store, Table
from streamiter.store.memory import MemoryStore
from streamiter.testing import RunningClock, Simulator
from tests.cli.conftest import environment
from tests.stream.helpers import soon

CHILD = Path(__file__).parent / "odd_child.py"


class Rig:
    """One daemon over one stream."""

    def __init__(self, folder: Path, lineage: str = "S1", *, kind: str = "kinesis", store: Store | None = None) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir(exist_ok=True)
        self.sim = Simulator(ids="service", clock=RunningClock())
        self.kind = kind
        if kind == "kinesis":
            self.stream: Any = self.sim.create_stream("clicks", lineage)
        else:
            self.stream = self.sim
            self.sim.shape(lineage)
        self.store = store or MemoryStore()
        self.log: MemoryLog | None = None  # to be read instead of the service's stream
        self.torn = ""  # the number of a record that cannot be decoded
        self.events: list[AppEvent] = []
        self.count = 0

    def source(self) -> Source[Any]:
        """The stream."""
        if self.log is not None:
            return self.log
        if self.kind == "kinesis":
            return Torn(self, "clicks", client=self.sim.client("kinesis"), reads_per_second=None)
        return DynamoDBStreams("users", client=self.sim.client())

    def command(self, *words: object, **options: Any) -> Command:
        """The odd child."""
        told = [sys.executable, str(CHILD), str(self.notes), *map(str, words)]
        return command_of(told, environment=environment_of([], environment()), **{"grace_seconds": 1.0, **options})

    @contextmanager
    def running(self, *words: object, command: Command | None = None, **options: Any) -> Iterator[Daemon]:
        """While it runs; then it is stopped, and whatever it raised comes out."""
        made = command or self.command(*words)
        plan = Plan("shop", {"clicks": self.source()}, self.store, made, pause=0.05, **{"failover": 2.0, **options})
        daemon = Daemon([plan], on_event=self.events.append)
        raised: list[BaseException] = []

        def run() -> None:
            try:
                asyncio.run(daemon.serve())
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run, name="daemon")
        thread.start()
        try:
            yield daemon
        finally:
            daemon.stop()
            thread.join(60)
            assert not thread.is_alive()
            if raised:
                raise raised[0]

    def close(self) -> None:
        """The service ends."""
        self.sim.close()

    # -- records

    def put(self, shard: str, count: int = 1) -> list[str]:
        """Writes so many; gives their texts."""
        texts = [f"record {self.count + number}" for number in range(count)]
        self.count += count
        for text in texts:
            if self.kind == "kinesis":
                self.stream.put(shard, text)
            else:
                self.stream.put(shard, key=text)
        return texts

    # -- what there is to see

    def told(self) -> list[dict[str, Any]]:
        """All that children noted, by the time of it."""
        found = []
        for file in self.notes.glob("*.jsonl"):
            whole, _, _ = file.read_text().rpartition("\n")
            found += [json.loads(line) for line in whole.split("\n") if line]
        return sorted(found, key=lambda one: one["time"])

    def actions(self, shard: str | None = None) -> list[str]:
        """The actions that children got; of the children of one shard, if named."""
        pids = self.pids(shard) if shard else None
        return [
            one["action"] for one in self.told() if one["action"] != "answer" and (pids is None or one["pid"] in pids)
        ]

    def pids(self, shard: str | None = None) -> list[int]:
        """The children, in the order of their beginning."""
        wanted = None if shard is None else self.stream.shard_id(shard)
        return [one["pid"] for one in self.told() if one["action"] == "initialize" and wanted in (None, one["shardId"])]

    def given(self, shard: str | None = None) -> list[str]:
        """The records that children got; those of the children of one shard, if named."""
        pids = self.pids(shard) if shard else None
        return [
            record[0] for one in self.told() if pids is None or one["pid"] in pids for record in one.get("records", ())
        ]

    def moments(self, shard: str, action: str) -> list[float]:
        """When the children of a shard noted this."""
        pids = self.pids(shard)
        return [one["time"] for one in self.told() if one["pid"] in pids and one["action"] == action]

    def leases(self) -> dict[str, Lease]:
        """The rows."""
        table = Table("leases", "shop", "clicks")
        return {row.key: Lease.of(row) for row in self.store.scan(table)}

    def failed(self) -> list[ChildFailed]:
        """What was told of children that failed."""
        return [event for event in self.events if isinstance(event, ChildFailed)]

    def wait_for(self, texts: Sequence[str], seconds: float = 60) -> None:
        """Until all of these were given."""
        soon(lambda: not Counter(set(texts)) - Counter(self.given()), seconds)

    def wait_until_checkpointed(self, number: str, shard: str = "S1") -> None:
        """Until the row says so."""
        key = self.stream.shard_id(shard)
        soon(lambda: key in self.leases() and self.leases()[key].checkpoint == number)


class Torn(KinesisStreams[Any]):
    """The stream, with a record in it that cannot be decoded, where the rig names one."""

    def __init__(self, rig: Rig, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        self.rig = rig

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[Any]:
        page = super().fetch(iterator, limit)
        return page._replace(records=[self._seen(record) for record in page.records])

    def _seen(self, record: Any) -> Any:
        if record.sequence_number != self.rig.torn:
            return record
        return SpoiledRecord(record.shard_id, record.sequence_number, record.created_us, reason="it is torn")
