"""Serving: an emulator in a process of its own, on loopback, and what its process takes: CPU time and memory."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.canned.process import ROOT

HOST = "127.0.0.1"

_SIMULATOR = """
import sys, time
from streamiter.testing import RunningClock, Simulator
with Simulator(table=None, ids="service", clock=RunningClock(), port=int(sys.argv[1])):
    time.sleep(86400)
"""
EMULATORS = {
    "streamiter": [sys.executable, "-c", _SIMULATOR, "{port}"],
    "ministack": [sys.executable, "-W", "ignore", "-m", "ministack"],
    "moto": [sys.executable, "-m", "moto.server", "-H", HOST, "-p", "{port}"],
}


class Server(NamedTuple):
    """An emulator that listens."""

    port: int
    pid: int

    @property
    def cpu_seconds(self) -> float:
        """What all its threads took so far."""
        return time.clock_gettime(~self.pid << 3 | 2)  # the kernel's number for the CPU clock of another process

    @property
    def megabytes(self) -> float:
        """What it holds in memory now."""
        found = subprocess.run(["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True, text=True, check=True)
        return int(found.stdout) / 1024


@contextmanager
def serving(name: str) -> Iterator[Server]:
    """An emulator, on a port of its own, until it is measured."""
    with socket.create_server((HOST, 0)) as listener:
        port = int(listener.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        environment |= {"BIND_HOST": HOST, "GATEWAY_PORT": str(port), "SERVICES": "dynamodb,dynamodbstreams"}
        environment |= {"STATE_DIR": folder, "LOG_LEVEL": "WARNING", "PYTHONPATH": str(ROOT)}
        command = [part.format(port=port) if part == "{port}" else part for part in EMULATORS[name]]
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until = time.monotonic() + 60
            while not _listens(port):
                assert process.poll() is None, f"{name} ended at once"
                assert time.monotonic() < until, f"{name} does not listen after a minute"
                time.sleep(0.05)
            yield Server(port, process.pid)
        finally:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True
