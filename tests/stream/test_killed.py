"""kill -9 at random moments, and resuming from the token saved last: nothing is lost, nothing comes twice after it."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

from streamiter.testing import Simulator
from tests.stream.helpers import identities, in_order, write

ROOT = Path(__file__).parents[2]
KILLS = 100
SEED = 1


MOST_SECONDS = 12 * 3600  # however slow the machine is: what was written first stays within retention


class Life(threading.Thread):
    """What goes on at the service all the while: writes, splits and rolls, by a clock that runs much too fast."""

    def __init__(self, sim: Simulator, seed: int) -> None:
        super().__init__()
        self.sim = sim
        self.chance = random.Random(seed)
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.004):
            with self.sim.at_once():
                open_shards = self.sim.open_shards
                shard = self.chance.choice(open_shards)
                if self.chance.random() < 0.01:
                    if len(open_shards) < 5 and self.chance.random() < 0.5:
                        self.sim.split(shard)
                    else:
                        self.sim.roll(shard)
                else:
                    self.sim.put(shard)
            if self.sim.clock.monotonic() < MOST_SECONDS:
                self.sim.clock.advance(self.chance.choice([0.1, 0.3, 1, 2]))


def test_a_hundred_kills_lose_nothing_and_repeat_nothing(served: Simulator, tmp_path: Path, monkeypatch):
    served.shape("S0 ~ T0")
    served.knobs.page_size = 7
    write(served, "S0", "T0", rounds=40)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    life = Life(served, SEED)
    life.start()
    arguments = [served.endpoint_url, served.stream_arn, str(tmp_path), str(KILLS), str(SEED)]
    reader = subprocess.Popen(
        [sys.executable, "-m", "tests.stream.killed_reader", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdin is not None
    assert reader.stdout is not None
    try:
        assert reader.stdout.readline() == "killed\n"
        life.over.set()
        life.join()
        served.disable()
        served.clock.advance(60)
        reader.stdin.write("live\n")
        reader.stdin.flush()
        code = reader.wait(250)
    finally:
        life.over.set()
        reader.kill()
        reader.communicate()
    assert code == 0
    rows = [line.split() for line in (tmp_path / "records.txt").read_text().splitlines()]
    assert len(served.history) > 300
    assert [(row[0], row[1]) for row in rows] == identities(in_order(served))
    assert [int(row[2]) for row in rows] == list(range(1, len(rows) + 1))
    assert {row[3] for row in rows} == {"False"}
