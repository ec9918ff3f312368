"""MultiLang: records a second through one child that does nothing, beside a plain pipe with the same lines and json."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.canned.process import ROOT
from benchmarks.measure import Scale
from benchmarks.results import Result, Row
from streamiter.log import Entry
from streamiter.log.memory import MemoryLog
from streamiter.multilang.command import command_of, environment_of
from streamiter.multilang.daemon import Daemon, Plan
from streamiter.multilang.wire import Answer, Initialize, ProcessRecords, WireRecord, to_child
from streamiter.store.memory import MemoryStore

TITLE = "one child in Python that does nothing: 1 KB records in batches of 1,000, a checkpoint for each"
PAYLOAD = bytes(range(256)) * 4
SIZE = 1_000

CHILD = """
from streamiter.multilang import run

def process(batch): ...

run(process)
"""
PEER = """
import json, sys

def say(**fields):
    sys.stdout.write(json.dumps(fields) + "\\n")
    sys.stdout.flush()

for line in sys.stdin.buffer:
    told = json.loads(line)
    if told["action"] == "processRecords":
        say(action="checkpoint", sequenceNumber=None, subSequenceNumber=None)
        json.loads(sys.stdin.buffer.readline())
    say(action="status", responseFor=told["action"])
"""


class Rate(NamedTuple):
    """Records a second, by the clock and by the CPU time of both processes; and how long the first record took."""

    wall: float
    cpu: float
    first_seconds: float


def run(scale: Scale) -> Result:
    """Our turn and the peer's, one after the other, so that both have the same machine."""
    count = scale.of(200_000, 4_000)
    log = _log(count)
    with tempfile.TemporaryDirectory() as folder:
        child = Path(folder, "child.py")
        child.write_text(CHILD)
        rounds = [(_ours(log, child, count), _peer(count)) for _ in range(scale.runs)]
    ours, peer = rounds[len(rounds) // 2]
    row = Row(
        TITLE,
        "a plain pipe with json, which only parses the lines",
        [mine.wall / theirs.wall for mine, theirs in rounds],
        0.7,
        by_cpu=[mine.cpu / theirs.cpu for mine, theirs in rounds],
    )
    return Result(
        [row],
        {
            "records": count,
            "payload_bytes": len(PAYLOAD),
            "ours": _told(ours),
            "peer": _told(peer),
            "seconds_to_first_record": sorted(mine.first_seconds for mine, _ in rounds)[len(rounds) // 2],
        },
    )


def _told(rate: Rate) -> dict[str, float]:
    return {"records_per_second": rate.wall, "records_per_cpu_second": rate.cpu}


def _log(count: int) -> MemoryLog:
    log = MemoryLog("bench")
    for _ in range(count // SIZE):
        log.append(0, [Entry(PAYLOAD, b"key-1")] * SIZE)
    return log


def _cpu_seconds() -> float:
    """Of this process and of those that it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _timed(work: Callable[[], tuple[int, float, float]]) -> Rate:
    cpu = _cpu_seconds()
    count, seconds, first = work()
    return Rate(count / seconds, count / (_cpu_seconds() - cpu), first)


def _ours(log: MemoryLog, child: Path, count: int) -> Rate:
    """From the first batch's end to the last one's: starting is told by itself."""
    seen = environment_of([f"PYTHONPATH={ROOT}"], os.environ)
    command = command_of([sys.executable, str(child)], environment=seen)
    moments: list[tuple[float, int]] = []

    async def main() -> None:
        daemon = Daemon([Plan("bench", {"log": log}, MemoryStore(), command, records=SIZE)])
        moments.append((time.perf_counter(), 0))
        serving = asyncio.create_task(daemon.serve())
        acked = 0
        while acked < count and not serving.done():
            await asyncio.sleep(0.001)
            acked = sum(told.acked for told in daemon.apps[0].stats.processors.values())
            if acked and len(moments) == 1:
                moments.append((time.perf_counter(), acked))
        moments.append((time.perf_counter(), acked))
        daemon.stop()
        await serving

    def work() -> tuple[int, float, float]:
        asyncio.run(main())
        (begun, _), (first, before), (last, done) = moments
        if done < count:
            raise AssertionError(f"the child was given {done} of {count} records")
        return done - before, last - first, first - begun

    return _timed(work)


def _peer(count: int) -> Rate:
    """The same messages, as values that lie ready: json writes each line, and reads it at the other end."""
    record = WireRecord(PAYLOAD, "key-1", "49680362341682385674651797956282503902016020824197169154", 0, 1795077443237)
    batch, initialize, answer = (
        json.loads(to_child(one)) for one in (ProcessRecords([record] * SIZE, 0), Initialize("shard"), Answer())
    )

    def work() -> tuple[int, float, float]:
        process = subprocess.Popen([sys.executable, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None

        def ask(message: Any) -> Any:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        with process:
            ask(initialize)
            begun = time.perf_counter()
            for _ in range(count // SIZE):
                ask(batch)
                ask(answer)
            seconds = time.perf_counter() - begun
            process.stdin.close()
            process.wait()
        return count, seconds, 0.0

    return _timed(work)
