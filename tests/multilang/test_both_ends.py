"""Our child under our daemon: what a processor is given through splits, failures and shared children, and what is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamiter.multilang.command import Command, command_of, environment_of
from tests.cli.conftest import environment
from tests.multilang.rig import Rig
from tests.stream.helpers import soon

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(180)]

ROOT = Path(__file__).parent.parent.parent

PROCESSORS = """
import os, sys
from streamiter import App

def tell(*words):
    with open("told", "a", encoding="utf-8") as file:
        print(os.getpid(), *words, file=file)

def text(record):
    return record.payload.decode().replace(" ", "-")

class Orders:
    def initialize(self, lease):
        self.shard = lease.key
        tell("begins", self.shard)
    def process(self, batch):
        print("to standard output", flush=True)
        os.system("echo null")
        for record in batch:
            tell("record", text(record), self.shard)
    def shard_ended(self):
        tell("ended", self.shard)
    def lease_lost(self):
        tell("lost", self.shard)
    def shutdown_requested(self):
        tell("asked", self.shard)

class Flaky(Orders):
    def process(self, batch):
        for record in batch:
            if text(record) == "record-1" and not os.path.exists("failed"):
                open("failed", "w").close()
                raise ValueError("a bug of yours")
            tell("record", text(record), self.shard)

app = App("shop", store="memory:")

@app.processor("kinesis://clicks")
def bill(record):
    tell("record", text(record), record.shard_id)

@app.processor("dynamodb://users")
def index(record):
    tell("record", "-".join(record.key.values()).replace(" ", "-"), record.event_name, record.new is not None)
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    (tmp_path / "shop.py").write_text(PROCESSORS)
    made = Rig(tmp_path, "S1 ~ S2")
    yield made
    made.close()


def child(folder: Path, *words: str) -> Command:
    words = (sys.executable, "-m", "streamiter.multilang", *words)
    seen = environment_of([f"PYTHONPATH={ROOT}"], environment())
    return command_of(words, environment=seen, folder=str(folder))


def told(folder: Path) -> list[list[str]]:
    file = folder / "told"
    return [line.split() for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def texts(folder: Path) -> list[str]:
    return [words[2] for words in told(folder) if words[1] == "record"]


def dashed(*lists: list[str]) -> list[str]:
    return sorted(text.replace(" ", "-") for one in lists for text in one)


@pytest.mark.parametrize("options", [{}, {"children": 1}], ids=["a child each", "one child for all"])
def test_a_processor_reads_through_a_split(rig: Rig, tmp_path: Path, options):
    first = rig.put("S1", 3) + rig.put("S2", 2)
    with rig.running(command=child(tmp_path, "shop:Orders"), **options):
        soon(lambda: len(texts(tmp_path)) == 5, 60)
        rig.stream.shape("S1 => {S3, S4}")
        second = rig.put("S3", 1) + rig.put("S4", 1)
        soon(lambda: len(texts(tmp_path)) == 7, 60)
    assert sorted(texts(tmp_path)) == dashed(first, second)
    what = [words[1:] for words in told(tmp_path)]
    ended = what.index(["ended", rig.stream.shard_id("S1")])
    assert ended < min(what.index(["begins", rig.stream.shard_id(shard)]) for shard in ("S3", "S4"))
    for shard in ("S2", "S3", "S4"):
        assert [words[0] for words in what if words[-1] == rig.stream.shard_id(shard)][-2:] == ["asked", "lost"]
    assert len({words[0] for words in told(tmp_path)}) == (1 if options else 4)
    assert not rig.failed()
    with rig.running(command=child(tmp_path, "shop:Orders"), **options):
        rig.put("S2", 1)
        soon(lambda: len(texts(tmp_path)) == 8, 60)  # nothing came again


def test_a_batch_on_which_it_fails_comes_again_in_a_fresh_child(rig: Rig, tmp_path: Path):
    with rig.running(command=child(tmp_path, "shop:Flaky")):
        rig.put("S1", 1)
        soon(lambda: texts(tmp_path) == ["record-0"], 60)
        rig.put("S1", 1)
        soon(lambda: texts(tmp_path) == ["record-0", "record-1"], 60)
    (failed,) = rig.failed()
    assert "ValueError: a bug of yours" in failed.tail
    assert "Traceback" in failed.tail


def test_an_apps_processor_gets_records_of_its_own_kind(rig: Rig, tmp_path: Path):
    wanted = rig.put("S1", 3)
    with rig.running(command=child(tmp_path, "shop:app", "--only", "bill")):
        soon(lambda: len(texts(tmp_path)) == 3, 60)
    assert sorted(texts(tmp_path)) == dashed(wanted)


def test_and_so_does_one_of_changes(tmp_path: Path):
    (tmp_path / "shop.py").write_text(PROCESSORS)
    rig = Rig(tmp_path, kind="dynamodb")
    try:
        wanted = rig.put("S1", 2)
        with rig.running(command=child(tmp_path, "shop:index")):
            soon(lambda: len(texts(tmp_path)) == 2, 60)
    finally:
        rig.close()
    assert sorted(texts(tmp_path)) == dashed(wanted)
    assert {tuple(words[3:]) for words in told(tmp_path)} == {("INSERT", "True")}
