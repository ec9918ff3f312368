"""The canned server as a benchmark sees it: a process of its own, where it listens, and what it counted."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.canned.service import STREAM_ARN
from benchmarks.canned.wire import CONTROL, HOST

ROOT = Path(__file__).resolve().parents[2]


class Canned:
    """A running server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.endpoint_url = f"http://{HOST}:{port}"
        self._connection = http.client.HTTPConnection(HOST, port, timeout=60)

    def arn(self, shards: int) -> str:
        """The stream of so many shards."""
        return STREAM_ARN.format(shards=shards)

    def close(self) -> None:
        """Lets go of the connection for `control`."""
        self._connection.close()

    def control(self, **told: Any) -> dict[str, Any]:
        """Sets the service (`latency`, `now`, `roll`, `reset`), and gives the counts as they were before."""
        self._connection.request("POST", "/", json.dumps(told), {"X-Amz-Target": CONTROL})
        answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return answer


@contextmanager
def canned(
    records: int,
    *shards: int,
    record_bytes: int = 575,
    latency: float = 0.0,
    rolls: bool = False,
    rolled: bool = False,
    closed: bool = False,
    kinesis: bool = False,
) -> Iterator[Canned]:
    """A server with one stream for each number of shards, all over the same backlog."""
    command = [sys.executable, "-m", "benchmarks.canned", "--records", str(records)]
    command += ["--record-bytes", str(record_bytes), "--latency", str(latency), *(["--rolls"] if rolls else [])]
    command += [
        *(["--rolled"] if rolled else []),
        *(["--closed"] if closed else []),
        *(["--kinesis"] if kinesis else []),
    ]
    command += [word for count in shards for word in ("--shards", str(count))]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line.strip().isdecimal():
                raise RuntimeError(f"the canned server did not start: {' '.join(command)}")
            with closing(Canned(int(line))) as server:
                yield server
        finally:
            process.kill()
