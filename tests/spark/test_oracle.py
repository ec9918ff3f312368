"""Whatever the times say, Spark's order keys are the oracle's: in a batch, in micro-batches, and after a restart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.conftest import CREDENTIALS
from tests.spark.random_worlds import RandomWorld


@pytest.mark.parametrize("seed", [2])
def test_batches_micro_batches_and_restarts(reader, queries, sim, seed):
    world = RandomWorld(sim, seed)
    world.live()
    world.trim()
    assert [row.order_key for row in reader.load().orderBy("order_key").collect()] == world.keys
    queries.run()
    world.live()
    queries.run(maxRecordsPerTrigger=15)
    world.live()
    queries.run()
    assert sorted(row.order_key for row in queries.rows) == world.keys


def programs_without_java(folder: Path) -> str:
    """A PATH with all that this machine has, but for a Java."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            if program.name != "java" and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.mark.timeout(900)  # four JVMs
def test_on_a_cluster_that_has_the_extras_java_alone(sim, tmp_path):
    """The same with an executor that is a process of its own: `local-cluster[1,2,1024]`."""
    world = RandomWorld(sim, 3)
    world.live(60)
    world.trim()
    before = world.keys
    environment = {
        **os.environ,
        **CREDENTIALS,
        "HOME": str(tmp_path),
        "PATH": programs_without_java(tmp_path / "bin"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
    }
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "XDG_CACHE_HOME"):  # ensure_java() names the first two
        environment.pop(name, None)
    command = [sys.executable, "-m", "tests.spark.on_cluster", sim.endpoint_url, sim.stream_arn, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            java = json.loads(process.stdout.readline())
            batch = json.loads(process.stdout.readline())
            first = json.loads(process.stdout.readline())
            world.live()
            print("live", file=process.stdin, flush=True)
            second = json.loads(process.stdout.readline())
            assert process.wait(280) == 0
        finally:
            process.kill()
    assert java == "21.0.8"
    assert batch == before
    assert sorted(first) == before
    assert sorted(first + second) == world.keys
