"""Services that are not ours, started on loopback and stopped again: ministack."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Service:
    """An AWS-like service on loopback."""

    endpoint_url: str

    def client(self, name: str) -> Any:
        session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
        return session.client(
            name,
            endpoint_url=self.endpoint_url,
            config=Config(retries={"max_attempts": 0}, proxies={}, read_timeout=60),
        )

    def create_table(self, name: str, view: str = "NEW_AND_OLD_IMAGES") -> str:
        """A table with a stream; gives the stream's ARN."""
        tables = self.client("dynamodb")
        tables.create_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": view},
        )
        return str(tables.describe_table(TableName=name)["Table"]["LatestStreamArn"])


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])


def wait_until_listening(port: int, process: subprocess.Popen[bytes], seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, f"it ended with {process.returncode}"
            assert time.monotonic() < until, f"nothing listens on {port} after {seconds} s"
            time.sleep(0.05)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """An emulator that knows nothing of us, bound to loopback alone."""
    folder: Path = tmp_path_factory.mktemp("ministack")
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "SERVICES": "dynamodb,dynamodbstreams",
        "STATE_DIR": str(folder),
        "TMPDIR": str(folder),
        "LOG_LEVEL": "WARNING",
    }
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "ministack"], env=environment, cwd=folder, stdout=log, stderr=log
        )
    try:
        wait_until_listening(port, process, 60)
        yield Service(f"http://{HOST}:{port}")
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
