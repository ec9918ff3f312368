"""The real Java MultiLangDaemon with our child, over the simulator: split, merge, restart and stop (`--real`)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streamiter.testing import Simulator
from tests.integration.test_kcl import Starting

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

POM = Path(__file__).parent / "kcl" / "multilang.xml"
KEPT = Path(__file__).parent.parent.parent / ".venv" / "kcl-multilang"
MAIN = "software.amazon.kinesis.multilang.MultiLangDaemon"
SECONDS = 150

# A line of the processor's for each thing that happens to it; and noise, of which Java's daemon must see nothing.
ORDERS = """
import os, sys
from streamiter import multilang

FAILS_ONCE = os.environ.get("FAILS_ONCE", "")


class Orders:
    def initialize(self, lease):
        self.shard = lease.key
        self.tell("begins", lease.sequence_number)

    def process(self, batch):
        for record in batch:
            print('{"action": "status", "responseFor": "nothing"}')
            if record.payload.decode() == FAILS_ONCE and not os.path.exists("failed"):
                open("failed", "w").close()
                raise ValueError("a bug of yours")
            self.tell("record", record.payload.decode(), record.partition_key.encode("unicode_escape").decode())
        os.system("echo null; cat")

    def lease_lost(self):
        self.tell("lost")

    def shard_ended(self):
        self.tell("ended")

    def shutdown_requested(self):
        self.tell("asked")

    def tell(self, *words):
        with open("told", "a", encoding="utf-8") as file:
            print(self.shard, *words, file=file)
"""

PROPERTIES = """
executableName = {command}
streamName = orders
applicationName = shop
AwsCredentialsProvider = DefaultCredentialsProvider
regionName = us-east-1
kinesisEndpoint = {endpoint}
dynamoDBEndpoint = {endpoint}
metricsLevel = NONE
retrievalMode = POLLING
initialPositionInStream = TRIM_HORIZON
shutdownGraceMillis = 5000
failoverTimeMillis = 2000
idleTimeBetweenReadsInMillis = 250
shardSyncIntervalMillis = 1000
parentShardPollIntervalMillis = 500
leaseAssignmentIntervalMillis = 1000
workerMetricsReporterFreqInMillis = 1000
"""


@pytest.fixture(scope="session")
def jars() -> Path:
    """The daemon (Apache-2.0), as Maven fetches it; nothing of it is kept in the repository."""
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip("there is no Maven, or no Java")
    KEPT.mkdir(parents=True, exist_ok=True)
    shutil.copy(POM, KEPT / "pom.xml")
    fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={KEPT / 'lib'}"]
    subprocess.run(fetch, cwd=KEPT, check=True, timeout=600)
    return KEPT / "lib"


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None, ids="service", clock=Starting(), region="us-east-1") as made:
        yield made


class Daemon:
    """Java's daemon in a folder of its own, and what our children noted there."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process = process
        self._told = folder / "told"

    @property
    def told(self) -> list[list[str]]:
        return [line.split() for line in self._told.read_text("utf-8").splitlines()] if self._told.exists() else []

    @property
    def payloads(self) -> list[str]:
        return [words[2] for words in self.told if words[1] == "record"]

    def wait_for(self, is_there: Callable[[], bool]) -> None:
        ends = time.monotonic() + SECONDS
        while not is_there():
            assert self.process.poll() is None, "the daemon ended"
            assert time.monotonic() < ends, self.told
            time.sleep(0.1)

    def stop(self) -> int:
        """As a service manager does it."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


@contextmanager
def daemon(sim: Simulator, jars: Path, folder: Path, command: str, **environment: str) -> Iterator[Daemon]:
    (folder / "orders.py").write_text(ORDERS)
    (folder / "app.properties").write_text(PROPERTIES.format(command=command, endpoint=sim.endpoint_url))
    java = ["java", "-Daws.cborEnabled=false", "-Dfile.encoding=UTF-8", "-cp", f"{jars}/*", MAIN]
    credentials = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    with (folder / "java.log").open("ab") as log:
        process = subprocess.Popen(
            [*java, "--properties-file", str(folder / "app.properties")],
            cwd=folder,
            env={**os.environ, **credentials, "PYTHONDONTWRITEBYTECODE": "1", **environment},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield Daemon(process, folder)
        except BaseException:
            print((folder / "java.log").read_text("utf-8", "replace")[-5000:])
            raise
        finally:
            process.kill()
            process.wait()


def checkpoints(sim: Simulator) -> dict[str, str]:
    rows = sim.client("dynamodb").scan(TableName="shop")["Items"]
    return {row["leaseKey"]["S"]: row["checkpoint"]["S"] for row in rows}


CHILD = f"{sys.executable} -m streamiter.multilang orders:Orders"


def test_it_reads_through_a_split_and_a_merge_and_is_stopped_and_started(sim: Simulator, jars: Path, tmp_path: Path):
    stream = sim.create_stream("orders", "S1 ~ S2")
    sim.clock.runs = True

    def put(*payloads: str) -> list[str]:
        for payload in payloads:
            stream.put(payload.partition("-")[0], payload, key=f"{payload}\u2028")
        return list(payloads)

    wanted = put("S1-0", "S1-1", "S2-0")
    with daemon(sim, jars, tmp_path, CHILD) as first:
        first.wait_for(lambda: len(first.payloads) >= len(wanted))
        stream.shape("S1 => {S3, S4}")
        wanted += put("S3-0", "S4-0", "S4-1")
        first.wait_for(lambda: len(first.payloads) >= len(wanted))
        stream.shape("{S3, S4} => S5")
        wanted += put("S5-0")
        first.wait_for(lambda: len(first.payloads) >= len(wanted))
        assert first.stop() == 128 + signal.SIGTERM
        told = first.told
    assert sorted(first.payloads) == sorted(wanted)
    assert all(words[3] == words[2] + "\\u2028" for words in told if words[1] == "record")
    for shard in ("S2", "S5"):
        words = [words[1] for words in told if words[0] == stream.shard_id(shard)]
        assert words[:2] == ["begins", "record"]
        assert words[2:4] == ["asked", "lost"]
    for parent, child in (("S1", "S3"), ("S1", "S4"), ("S3", "S5"), ("S4", "S5")):
        ended = told.index([stream.shard_id(parent), "ended"])
        assert ended < next(at for at, words in enumerate(told) if words[0] == stream.shard_id(child))
    places = checkpoints(sim)
    assert places[stream.shard_id("S2")].isdigit()
    assert places[stream.shard_id("S5")].isdigit()

    (tmp_path / "told").unlink()
    more = put("S2-1", "S5-1")
    with daemon(sim, jars, tmp_path, CHILD) as second:
        second.wait_for(lambda: len(second.payloads) >= len(more))
        second.stop()
    assert sorted(second.payloads) == sorted(more)  # what was kept did not come again


def test_a_batch_on_which_the_processor_fails_comes_again(sim: Simulator, jars: Path, tmp_path: Path):
    """Java's daemon ends itself then, and with it all its children; whoever starts it again loses nothing."""
    stream = sim.create_stream("orders", "S1")
    sim.clock.runs = True
    stream.put("S1", "S1-0", key="k")
    command = f"{sys.executable} -m streamiter child orders:Orders"
    with daemon(sim, jars, tmp_path, command, FAILS_ONCE="S1-1") as first:
        first.wait_for(lambda: first.payloads == ["S1-0"])
        stream.put("S1", "S1-1", key="k")
        assert first.process.wait(SECONDS) == 1
    assert "ValueError: a bug of yours" in (tmp_path / "java.log").read_text("utf-8", "replace")
    with daemon(sim, jars, tmp_path, command, FAILS_ONCE="S1-1") as second:
        second.wait_for(lambda: "S1-1" in second.payloads)
        second.stop()
    assert second.payloads == ["S1-0", "S1-1"]
