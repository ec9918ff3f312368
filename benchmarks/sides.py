"""Sides: the readers that are measured against each other, each a process of its own that lives for a whole case."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import environment
from benchmarks.canned.process import ROOT, Canned


class Outcome(NamedTuple):
    """What a side says of a task."""

    value: Any
    seconds: float
    cpu_seconds: float


class Side:
    """A reader at work."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name = name
        self._process = process
        self.versions: dict[str, str] = json.loads(self._line())

    def do(self, action: str, canned: Canned, shards: int, records: int = 0, **options: Any) -> Outcome:
        """Has the side read the canned stream of so many shards."""
        task = {"endpoint_url": canned.endpoint_url, "arn": canned.arn(shards), "records": records, "options": options}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"action": action, "task": task}) + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._line()))

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the side {self.name!r} ended; what it printed above says why")
        return line


READERS = {
    "streamiter": "benchmarks.readers.ours",
    "app": "benchmarks.readers.app",
    "asyncio": "benchmarks.readers.on_loop",
    "unordered": "benchmarks.readers.unordered",
    "boto3": "benchmarks.readers.plain",
    "msgspec": "benchmarks.readers.decoded",
    "bloop": "benchmarks.readers.by_bloop",
    "streamiter on Kinesis": "benchmarks.readers.kinesis_ours",
    "boto3 on Kinesis": "benchmarks.readers.kinesis_plain",
    "app on Kinesis": "benchmarks.readers.kinesis_app",
    "async-kinesis": "benchmarks.readers.kinesis_async",
    "native-aws-kcl-py": "benchmarks.readers.kinesis_kcl",
    "spark": "benchmarks.readers.by_spark",
    "spark, 1 core": "benchmarks.readers.by_spark_alone",
    "spark, 8 slots": "benchmarks.readers.by_spark_slots",
}
PYTHONS = {
    "bloop": environment.bloop_python,
    "async-kinesis": environment.async_kinesis_python,
    "native-aws-kcl-py": environment.native_kcl_python,
}


@contextmanager
def side(name: str, *, under: Sequence[str] = ()) -> Iterator[Side]:
    """Starts a side, `under` a tool if one is named, and ends it."""
    python = PYTHONS[name]() if name in PYTHONS else Path(sys.executable)
    command = [*under, str(python), "-m", READERS[name]]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield Side(name, process)
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)
        finally:
            process.kill()
