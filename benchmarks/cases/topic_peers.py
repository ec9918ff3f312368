"""Topics in Redis beside runnel and FastStream: each sends records of 1 KB in its own way, and then works them off.

Each side is a process of its own on a server of its own, with handlers that do nothing; the servers are alike. It runs only
where it is named: runnel needs an old Python, and both an environment of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.canned.process import ROOT
from benchmarks.environment import FASTSTREAM, RUNNEL, faststream_python, runnel_python
from benchmarks.log_rates import Rate, Rates, measured, row
from benchmarks.measure import Scale
from benchmarks.results import Result
from tests.store import servers

TITLE = "a topic in Redis: objects of 1 KB, 8 partitions, a processor that does nothing"
PARTITIONS = 8
READERS = ROOT / "benchmarks" / "readers"
MISSING = "runnel was not run: it needs Python 3.7 to 3.9, and this machine has none"


def run(scale: Scale) -> Result:
    """The sides take turns."""
    count = scale.of(20_000, 2_000)
    runnel = runnel_python()
    rounds = [_round(count, runnel) for _ in range(scale.runs)]
    rows = [row(rounds, "a topic's batches of 100", "batches", "faststream", "batches by FastStream", 2.0)]
    if runnel is not None:
        rows.append(row(rounds, "a topic's events, one by one", "events", "runnel", "events.records() by runnel", 10.0))
    told = {"records": count, "partitions": PARTITIONS, "rates": measured(rounds)}
    versions = {"FastStream": {"faststream": FASTSTREAM.rpartition("=")[2]}}
    if runnel is None:
        print(f"bench: {MISSING}", file=sys.stderr)
        return Result(rows, {**told, "missing": MISSING}, versions)
    return Result(rows, told, {**versions, "runnel": {"runnel": RUNNEL.rpartition("=")[2]}})


def _round(count: int, runnel: Path | None) -> Rates:
    ours = [sys.executable, "-m", "benchmarks.readers.topic_ours"]
    found = {
        "batches": _rate([*ours, "batches"], count),
        "faststream": _rate([str(faststream_python()), "-m", "benchmarks.readers.topic_faststream"], count),
        "events": _rate([*ours, "events"], count),
    }
    if runnel is not None:
        found["runnel"] = _rate([str(runnel), str(READERS / "topic_runnel.py")], count)
    return found


def _rate(command: list[str], count: int) -> Rate:
    """What the side says on its last line."""
    with tempfile.TemporaryDirectory() as folder, servers.valkey(Path(folder)) as port:
        done = subprocess.run(
            [*command, str(port), str(count), str(PARTITIONS)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=600,
        )
    told = json.loads(done.stdout.splitlines()[-1])
    return Rate(told["wall"], told["cpu"])
