"""The services compared: the simulator and ministack, each on loopback."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import boto3
from botocore.config import Config

from streamiter.testing import RunningClock, Simulator

HOST = "127.0.0.1"

# ministack's deletes by time to live come once a minute; nobody waits for that.
IMPATIENT = """
import runpy, time
sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 0.5))
runpy.run_module("ministack", run_name="__main__")
"""


class Service(NamedTuple):
    """One of those compared."""

    name: str
    tables: Any
    streams: Any
    kinesis: Any


def connect(name: str, url: str) -> Service:
    """Clients that check nothing themselves, so that mistakes arrive."""
    session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    config = Config(retries={"max_attempts": 0}, parameter_validation=False, proxies={}, read_timeout=60)
    made = [
        session.client(kind, endpoint_url=url, config=config) for kind in ("dynamodb", "dynamodbstreams", "kinesis")
    ]
    return Service(name, *made)


@contextlib.contextmanager
def simulator() -> Iterator[Service]:
    with Simulator(table=None, ids="service", clock=RunningClock()) as sim:
        yield connect("simulator", sim.endpoint_url)


@contextlib.contextmanager
def ministack(folder: Path) -> Iterator[Service]:
    port = _free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"BIND_HOST": HOST, "GATEWAY_PORT": str(port), "SERVICES": "dynamodb,dynamodbstreams,kinesis"}
    environment |= {"STATE_DIR": str(folder), "TMPDIR": str(folder), "LOG_LEVEL": "WARNING"}
    with _running([sys.executable, "-W", "ignore", "-c", IMPATIENT], environment, folder, port):
        yield connect("ministack", f"http://{HOST}:{port}")


@contextlib.contextmanager
def _running(command: Sequence[str], environment: dict[str, str], folder: Path, port: int) -> Iterator[None]:
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while not _listens(port):
            assert process.poll() is None, (folder / "log.txt").read_text()
            assert time.monotonic() < until, "it does not listen after a minute"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])
