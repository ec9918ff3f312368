"""The real Kinesis Client Library over a DynamoDB stream, by its adapter: through splits, rolls and a kill (`--real`)."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from streamiter.clock import SystemClock
from streamiter.testing import RunningClock, Simulator
from tests.integration.java import compiled
from tests.testing.tables import Orders

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

RECORDS = 100


@pytest.fixture(scope="session")
def classes() -> str:
    return compiled("kcl_streams", "Table")


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None, ids="service", clock=RunningClock(), region="us-east-1") as made:
        yield made


@contextmanager
def worker(sim: Simulator, classes: str, stream: str, told: list[list[str]]) -> Iterator[Callable[[], None]]:
    """A worker whose lines go into the list; what is given kills it."""
    options = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    command = ["java", *options, "-cp", classes, "Table", sim.endpoint_url, "shop", stream]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                told.append(line.split())

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield process.kill
        finally:
            process.kill()
            listener.join()


def wait_until(found: Callable[[], bool], told: list[list[str]], seconds: float = 240) -> None:
    clock = SystemClock()
    ends = clock.monotonic() + seconds
    while not found():
        assert clock.monotonic() < ends, f"not found after {seconds} s: {told[-30:]}"
        clock.sleep(0.1)


def test_every_record_is_read_through_splits_rolls_and_a_kill(sim: Simulator, classes: str):
    orders = Orders(sim)
    table = sim.table("orders")
    told: list[list[str]] = []

    def seen() -> Counter[str]:
        return Counter(line[2] for line in told if line[:1] == ["record"])

    def write(first: int, after: int) -> None:
        for number in range(first, after):
            orders.put(f"{number:03}")

    write(0, 25)
    with worker(sim, classes, table.stream_arn, told) as kill:
        wait_until(lambda: len(seen()) == 25, told)
        table.split(table.open_shards[0])
        write(25, 50)
        wait_until(lambda: len(seen()) == 50, told)
        kill()
    table.split(table.open_shards[0])
    write(50, 75)
    with worker(sim, classes, table.stream_arn, told):
        wait_until(lambda: len(seen()) == 75, told)
        table.roll()
        write(75, RECORDS)
        wait_until(lambda: len(seen()) == RECORDS, told)
    assert sorted(seen()) == [f"{number:03}" for number in range(RECORDS)]
    twice = [key for key, times in seen().items() if times > 1]
    assert len(twice) <= 25, "at most what was read since the last checkpoint before the kill"
