"""From the start of a daemon to the first record at its child: Java's and ours in one run, with the same file (`--real`).

Run with `-rP` it shows the seconds, which docs/multilang.md tells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from streamiter.testing import Simulator
from tests.integration import test_java_multilang
from tests.integration.test_java_multilang import CHILD, PROPERTIES, Daemon, daemon, jars
from tests.integration.test_kcl import Starting
from tests.integration.test_multilang_on_javas_table import ROOT, ours

__all__ = ["jars"]  # a fixture

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

TUNED = ("failover", "idleTime", "shardSync", "parentShard", "leaseAssignment", "workerMetrics")
DEFAULTS = "".join(line + "\n" for line in PROPERTIES.splitlines() if not line.startswith(TUNED))

Start = Callable[[Simulator, Path], AbstractContextManager[Daemon]]


@contextmanager
def our_daemon(sim: Simulator, folder: Path) -> Iterator[Daemon]:
    file = PROPERTIES if test_java_multilang.PROPERTIES is PROPERTIES else DEFAULTS
    (folder / "orders.py").write_text(test_java_multilang.ORDERS)
    (folder / "app.properties").write_text(file.format(command=CHILD, endpoint=sim.endpoint_url))
    with ours(folder) as mine:
        yield mine


def seconds(start: Start, folder: Path, *, is_again: bool) -> list[float]:
    """With an empty table of leases, and, if asked, with the one that the first start left, after it was stopped."""
    folder.mkdir()
    found = []
    with Simulator(table=None, ids="service", clock=Starting(), region="us-east-1") as sim:
        stream = sim.create_stream("orders", "S1")
        sim.clock.runs = True
        for number in range(2 if is_again else 1):
            stream.put("S1", f"S1-{number}", key="key")
            begun = time.monotonic()
            with start(sim, folder) as running:
                running.wait_for(lambda running=running, number=number: len(running.payloads) > number)  # type: ignore[misc]
                found.append(time.monotonic() - begun)
                running.stop()
    return found


@pytest.mark.parametrize("is_tuned", [True, False], ids=["tuned", "defaults"])
def test_ours_gives_the_first_record_sooner(
    jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_tuned: bool
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # Java's children have the daemon's environment
    if not is_tuned:
        monkeypatch.setattr(test_java_multilang, "PROPERTIES", DEFAULTS)
        monkeypatch.setattr(test_java_multilang, "SECONDS", 300)
    mine = seconds(our_daemon, tmp_path / "ours", is_again=is_tuned)
    javas = seconds(lambda sim, folder: daemon(sim, jars, folder, CHILD), tmp_path / "java", is_again=is_tuned)
    told = ["the table of leases is empty", "it is filled"]
    for what, our, java in zip(told, mine, javas, strict=False):
        print(f"{'tuned' if is_tuned else 'defaults'}, {what}: ours {our:.1f} s, Java's {java:.1f} s")
        assert our < java
