"""Emulators of Kinesis that run on Node: kinesis-local and kinesalite, in a folder of their own inside .venv."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from streamiter import KinesisStreams
from tests.integration.conftest import HOST, free_port, wait_until_listening

PACKAGES = {"kinesis-local": "0.6.2", "kinesalite": "3.3.3"}
LOOPBACK = Path(__file__).with_name("loopback.js")


@dataclass(frozen=True)
class KinesisService:
    """A Kinesis-like service on loopback, whose clock can be turned forward."""

    endpoint_url: str
    clock_file: Path

    def client(self) -> Any:
        session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
        config = Config(retries={"max_attempts": 0}, proxies={}, read_timeout=60)
        return session.client("kinesis", endpoint_url=self.endpoint_url, config=config)

    def source(self, name: str, **options: Any) -> KinesisStreams:
        # No service that has to be spared: it is read as fast as it goes.
        return KinesisStreams(name, client=self.client(), **{"reads_per_second": None, **options})

    def ahead(self, seconds: float) -> None:
        """Its clock is so many seconds ahead of ours from now on."""
        self.clock_file.write_text(str(round(seconds * 1000)))


def installed() -> Path:
    """The folder with the packages; installs them once. Without Node it cannot be done, and says so."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("there is no Node (node and npm) on this machine: kinesis-local and kinesalite cannot run")
    folder = Path(sys.prefix) / "node-kinesis"
    folder.mkdir(exist_ok=True)
    stamp, wanted = folder / "made-from", json.dumps(PACKAGES)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers of pytest may come here at once
        if not (stamp.exists() and stamp.read_text() == wanted):
            (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
            install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
            done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"npm could not install {wanted}: {done.stderr}"
            stamp.write_text(wanted)
    return folder / "node_modules"


@contextmanager
def serving(package: str, folder: Path) -> Iterator[KinesisService]:
    """One of the two, started on loopback and a free port, and stopped."""
    modules, port, clock_file = installed(), free_port(), folder / "clock"
    clock_file.write_text("0")
    times = {"createStreamMs": "5", "updateStreamMs": "5", "deleteStreamMs": "5", "shardLimit": "1000"}
    scripts = {
        "kinesis-local": [str(modules / "kinesis-local" / "main.js")],
        "kinesalite": [
            *(str(modules / "kinesalite" / "cli.js"), "--port", str(port)),
            *(word for name, value in times.items() for word in (f"--{name}", value)),
        ],
    }
    durations = ("CREATE_STREAM", "DELETE_STREAM", "SPLIT_SHARD", "MERGE_SHARDS", "UPDATE_SHARD_COUNT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {f"{name}_DURATION": "5ms" for name in durations}
    environment |= {
        "CLOCK_FILE": str(clock_file),
        "KINESIS_MOCK_PLAIN_PORT": str(port),
        "KINESIS_MOCK_TLS_PORT": str(free_port()),
        "SHARD_LIMIT": "1000",
        "LOG_LEVEL": "ERROR",
    }
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            ["node", "--require", str(LOOPBACK), *scripts[package]],
            env=environment,
            cwd=modules / package,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    try:
        wait_until_listening(port, process, 60)
        yield KinesisService(f"http://{HOST}:{port}", clock_file)
    finally:
        # Asked to end, kinesis-local waits half a minute for connections that clients keep open. It holds nothing to save.
        process.kill()
        process.wait()


if __name__ == "__main__":  # ./dev setup
    if shutil.which("node") and shutil.which("npm"):
        installed()
