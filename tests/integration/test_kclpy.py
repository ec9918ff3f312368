"""amazon_kclpy's own sample, as it comes from PyPI, as a child of our daemon (`--real`)."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from streamiter.multilang.command import command_of, environment_of
from tests.cli.conftest import environment
from tests.multilang.rig import Rig
from tests.stream.helpers import soon

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

VERSION = "3.2.0"
KEPT = Path(__file__).parent.parent.parent / ".venv" / "kclpy"


@pytest.fixture(scope="session")
def kclpy() -> Path:
    """Its source distribution (Apache-2.0): only its Python is used; nothing of it is kept in the repository."""
    found = KEPT / f"amazon_kclpy-{VERSION}"
    if not found.exists():
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(KEPT)]
        subprocess.run([*fetch, f"amazon_kclpy=={VERSION}"], check=True, timeout=200)
        with tarfile.open(f"{found}.tar.gz") as archive:
            archive.extractall(KEPT, filter="data")
    return found


def test_the_sample_reads_through_a_split_and_checkpoints(kclpy: Path, tmp_path: Path):
    rig = Rig(tmp_path, "S1 => {S2, S3}")
    seen = environment_of([f"PYTHONPATH={kclpy}"], environment())
    command = command_of([sys.executable, str(kclpy / "samples/sample_kclpy_app.py")], environment=seen)
    try:
        rig.put("S2", 3)
        rig.put("S3", 2)
        last = {record.sequence_number for record in (rig.stream.history[2], rig.stream.history[4])}
        with rig.running(command=command):
            soon(lambda: len(rig.leases()) == 3, 60)
            # It checkpoints at most each 30 s, and when it is asked to shut down.
            soon(lambda: sum(lease.progress.get("acked", 0) for lease in rig.leases().values()) >= 5, 60)
        assert {lease.checkpoint for lease in rig.leases().values()} == {"SHARD_END", *last}
        assert not rig.failed()
    finally:
        rig.close()
