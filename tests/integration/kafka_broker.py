"""A real Kafka broker on loopback, in KRaft mode: its jars by Maven, started by us and ended with the test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.store.servers import free_port

HERE = Path(__file__).parent / "kafka"
JAVA = ["java", "-Xmx512m", "-Xms128m"]


def jars(kept: Path) -> Path:
    """The broker's jars, fetched into a folder unless they are there."""
    folder = kept / "lib"
    if not (kept / "whole").exists():
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "pom.xml", kept / "pom.xml")
        fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        subprocess.run(fetch, cwd=kept, check=True, timeout=600)
        (kept / "whole").touch()
    return folder


class Broker:
    """One node that is broker and controller; stopped and started again it has what it had."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self._path = f"{jars}/*"
        self._folder = folder
        self.port = free_port()
        self._controller = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = folder / "server.properties"
        self._settings.write_text(self._properties(), "utf-8")
        self._java("kafka.tools.StorageTool", "format", "--standalone", "-t", "AAAAAAAAQACAAAAAAAAAAQ", "-c")

    def start(self) -> None:
        with (self._folder / "broker.log").open("ab") as out:
            self._process = subprocess.Popen(
                [*JAVA, "-cp", self._path, "kafka.Kafka", str(self._settings)],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
            )

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        with suppress(AssertionError):
            self.kill()

    def _java(self, program: str, *arguments: str) -> None:
        command = [*JAVA, "-cp", self._path, program, *arguments, str(self._settings)]
        subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=self._folder)

    def _properties(self) -> str:
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self._controller}",
            "log.dirs": self._folder / "data",
            "auto.create.topics.enable": "false",
            "log.retention.check.interval.ms": 500,
            "log.cleaner.backoff.ms": 200,
            "log.segment.delete.delay.ms": 100,
            "log.initial.task.delay.ms": 100,
            **dict.fromkeys(
                (
                    "offsets.topic.replication.factor",
                    "transaction.state.log.replication.factor",
                    "transaction.state.log.min.isr",
                    "offsets.topic.num.partitions",
                    "transaction.state.log.num.partitions",
                ),
                1,
            ),
            "group.initial.rebalance.delay.ms": 0,
        }
        return "".join(f"{name}={value}\n" for name, value in settings.items())


@contextmanager
def broker(jars: Path, folder: Path) -> Iterator[Broker]:
    """A broker that runs; a client waits until it answers."""
    made = Broker(jars, folder)
    made.start()
    try:
        yield made
    finally:
        made.close()
