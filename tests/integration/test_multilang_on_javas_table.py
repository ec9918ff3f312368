"""The KCL's table from the real Java MultiLangDaemon to ours and back, with the same properties and children (`--real`)."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streamiter.testing import Simulator
from tests.cli.conftest import environment
from tests.integration.test_java_multilang import CHILD, Daemon, checkpoints, daemon, jars, sim

__all__ = ["jars", "sim"]  # fixtures

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def ours(folder: Path) -> Iterator[Daemon]:
    """Our daemon, started with the file that Java's was started with."""
    with (folder / "ours.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamiter", "multilang", "--properties", "app.properties"],
            cwd=folder,
            env=environment(PYTHONPATH=str(ROOT)),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield Daemon(process, folder)
        except BaseException:
            print((folder / "ours.log").read_text("utf-8", "replace")[-5000:])
            raise
        finally:
            process.kill()
            process.wait()


def test_a_java_daemon_is_replaced_by_ours_and_put_back(
    sim: Simulator, jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # Java's children have the daemon's environment
    stream = sim.create_stream("orders", "S1 ~ S2")
    sim.clock.runs = True

    def put(*payloads: str) -> None:
        for payload in payloads:
            stream.put(payload.partition("-")[0], payload, key=payload)

    put("S1-0", "S2-0")
    with daemon(sim, jars, tmp_path, CHILD) as java:
        java.wait_for(lambda: set(java.payloads) == {"S1-0", "S2-0"})
        assert java.stop() == 128 + signal.SIGTERM
    put("S1-1", "S2-1")
    stream.shape("S1 => {S3, S4}")
    put("S3-0", "S4-0")
    with ours(tmp_path) as mine:
        mine.wait_for(lambda: len(mine.payloads) >= 6)
        assert mine.stop() == 0
    assert sorted(mine.payloads[2:]) == ["S1-1", "S2-1", "S3-0", "S4-0"], "nothing is lost, nothing comes again"
    assert checkpoints(sim)[stream.shard_id("S1")] == "SHARD_END"
    put("S2-2", "S3-1", "S4-1")
    with daemon(sim, jars, tmp_path, CHILD) as java:
        java.wait_for(lambda: len(java.payloads) >= 9)
        java.stop()
    assert sorted(java.payloads[6:]) == ["S2-2", "S3-1", "S4-1"]
