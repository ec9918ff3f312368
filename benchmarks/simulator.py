"""The simulator: how many records a second one process of it serves, at 1000 a page: `python -m benchmarks.simulator`."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from typing import Any

from streamiter.testing import Simulator

PAGE = 1000
RECORDS = 20_000
TARGET = 20_000  # records a second


def serve() -> None:
    """The process that is measured: prints where it listens, then what to read, and serves until its input ends."""
    with Simulator("S0") as sim:
        for number in range(RECORDS):
            key = f"k{number % 1000}"
            old, new = ({"id": key, "n": number - back, "text": "x" * 100} for back in (1, 0))
            sim.put("S0", key=key, event="MODIFY", old=old, new=new)
        print(json.dumps({"port": int(sim.endpoint_url.rpartition(":")[2]), "arn": sim.stream_arn}), flush=True)
        sys.stdin.read()


def measure(runs: int) -> list[float]:
    """Records a second, run by run: bytes received, and nothing done with them but finding the next iterator."""
    command = [sys.executable, "-m", "benchmarks.simulator", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            told = json.loads(process.stdout.readline())
            return [_read(told["port"], told["arn"]) for _ in range(runs)]
        finally:
            process.kill()


def _read(port: int, arn: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    place = {"StreamArn": arn, "ShardId": "S0", "ShardIteratorType": "TRIM_HORIZON"}
    iterator = json.loads(_ask(connection, "GetShardIterator", place))["ShardIterator"]
    began, count = time.perf_counter(), 0
    while count < RECORDS:
        answer = _ask(connection, "GetRecords", {"ShardIterator": iterator, "Limit": PAGE})
        iterator = answer[: answer.index(b'","Records"')].rpartition(b'"')[2].decode()
        count += answer.count(b'"eventID"')
    seconds = time.perf_counter() - began
    connection.close()
    return count / seconds


def _ask(connection: http.client.HTTPConnection, operation: str, body: dict[str, Any]) -> bytes:
    connection.request("POST", "/", json.dumps(body), {"X-Amz-Target": f"DynamoDBStreams_20120810.{operation}"})
    return connection.getresponse().read()


def main() -> int:
    """Prints the runs, and whether the middle one is as fast as promised."""
    if sys.argv[1:] == ["--serve"]:
        serve()
        return 0
    rates = sorted(measure(5))
    median = rates[len(rates) // 2]
    print(
        f"simulator: {median:,.0f} records/s served (5 runs: {rates[0]:,.0f} to {rates[-1]:,.0f}); at least {TARGET:,}"
    )
    return 0 if median >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
