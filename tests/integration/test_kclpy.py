"""amazon_kclpy's own sample under `--try`, and under our daemon (`--real`)."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamiter.multilang.command import command_of, environment_of
from streamiter.multilang.trying import lines_of, try_child
from tests.cli.conftest import environment
from tests.multilang.rig import Rig
from tests.stream.helpers import soon

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

VERSION = "3.2.0"
KEPT = Path(__file__).parent.parent.parent / ".venv" / "kclpy"


@pytest.fixture(scope="session")
def sample() -> Path:
    """The sample (Apache-2.0), from PyPI's source distribution: Python alone, without its jars; nothing of it is installed."""
    folder = KEPT / f"amazon_kclpy-{VERSION}"
    if not folder.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        fetch = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--dest", str(KEPT)]
        subprocess.run([*fetch, f"amazon_kclpy=={VERSION}"], check=True, timeout=300)
        with tarfile.open(KEPT / f"amazon_kclpy-{VERSION}.tar.gz") as archive:
            archive.extractall(KEPT, filter="data")
    return folder / "samples" / "sample_kclpy_app.py"


def seen(sample: Path) -> dict[str, str]:
    told = [f"PYTHONPATH={sample.parent.parent}", "PYTHONUNBUFFERED=1"]  # it ends no line of standard error
    return environment_of(told, environment())


def test_the_sample_passes_the_trial_but_for_what_is_rare(sample: Path):
    verdicts = list(try_child([sys.executable, os.fspath(sample)], timeout=30, environment=seen(sample)))
    faults = [line for verdict in verdicts if verdict.faults for line in lines_of(verdict)]
    assert not faults
    rules = {(verdict.scenario, finding.rule) for verdict in verdicts for finding in verdict.findings}
    assert rules == {
        ("a lost lease", "chatter"),  # it prints to standard output
        ("a throttled table", "chatter"),
        ("empty batches (rare)", "checkpoint-refused"),  # at "None", before it has seen a record
        ("null fields (rare)", "died"),  # of a record without a time
    }


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path, "S1 ~ S2")
    yield made
    made.close()


def test_the_sample_runs_under_our_daemon_through_a_split(rig: Rig, sample: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    command = command_of([sys.executable, os.fspath(sample)], environment=seen(sample))
    last = {shard: rig.stream.put(shard, "hello") for shard in ("S1", "S2")}
    with rig.running(command=command):
        rig.wait_until_checkpointed(last["S2"].sequence_number, "S2")
        rig.wait_until_checkpointed(last["S1"].sequence_number, "S1")
        rig.stream.shape("S1 => {S3, S4}")
        soon(lambda: rig.leases()[rig.stream.shard_id("S1")].completed, 60)
        third = rig.stream.put("S3", "hello")
        rig.wait_until_checkpointed(third.sequence_number, "S3")
        late = rig.stream.put("S2", "hello")
        soon(
            lambda: late.sequence_number in caplog.text, 60
        )  # it was given, and is kept when the sample is asked to leave
    assert rig.leases()[rig.stream.shard_id("S2")].checkpoint == late.sequence_number
    assert not rig.failed()
