"""Crashes: a micro-batch that comes again has the same rows, and the Delta table changes once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import DeltaTable

from streamiter.spark import merge_delta
from streamiter.testing import Simulator
from tests.spark.killed_query import note
from tests.stream.helpers import identities, in_order, write

ROOT = Path(__file__).parents[2]


@contextmanager
def lives_until_killed(sim: Simulator, folder: Path) -> Iterator[None]:
    """A process of its own, with a JVM of its own: it reads what is there; after the block it reads on, and dies."""
    command = [sys.executable, "-m", "tests.spark.killed_query", sim.endpoint_url, sim.stream_arn, str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes) as process:
        try:
            assert process.stdout.readline() == "read\n", process.stderr.read()[-2000:]
            yield
            _, errors = process.communicate("on\n", timeout=280)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL, errors[-2000:]


def noted(folder: Path) -> dict[int, list[list[str]]]:
    """The order keys of each micro-batch, once for each time that it ran."""
    notes: dict[int, list[list[str]]] = {}
    for file in sorted(folder.iterdir()):
        notes.setdefault(int(file.name.partition("-")[0]), []).append(json.loads(file.read_text()))
    return notes


def check_each_once(notes: dict[int, list[list[str]]], sim: Simulator) -> None:
    keys = sorted(key for attempts in notes.values() for key in attempts[-1])
    assert len(keys) == len(set(keys)) == len(sim.history)
    assert [key.split()[-2][2:] for key in keys] == [number for _, number in identities(in_order(sim))]


@pytest.mark.timeout(900)  # two lives of a JVM
def test_killed_in_the_first_batch_and_between_sink_and_commit(queries, sim, tmp_path):
    folder = tmp_path
    for name in ("notes", "notes of the first"):
        (folder / name).mkdir()
    sim.shape("S0 => {S1, S2}; T0")
    write(sim, "S0", "S1", "S2", "T0", rounds=3, every=0)
    with lives_until_killed(sim, folder):
        write(sim, "S1", "T0", rounds=1, every=0)
        sim.roll("S1", "S3")
        for name, n in {"ann": 1, "bob": 2}.items():
            sim.put("S3", key=name, new={"id": name, "n": n})
        sim.put("S2", key="1", event="REMOVE")
    versions = DeltaTable(str(folder / "delta")).version()
    before = noted(folder / "notes")
    uncommitted = max(before)
    assert uncommitted > 0
    sim.put("S3", key="ann", event="REMOVE")
    merge = merge_delta(str(folder / "delta"))

    def each(frame, batch_id):
        note(frame, batch_id, folder / "notes")
        merge(frame, batch_id)
        if batch_id == uncommitted:
            assert DeltaTable(str(folder / "delta")).version() == versions, "merged before, so not again"

    queries.run(each=each)
    notes = noted(folder / "notes")
    # How many there are is a matter of how fast pages come.
    tries = {batch: len(attempts) for batch, attempts in notes.items()}
    assert tries == dict.fromkeys(range(len(tries)), 1) | {uncommitted: 2}
    first, second = notes[uncommitted]
    assert first == second, "the same rows each time"
    check_each_once(notes, sim)
    table = DeltaTable(str(folder / "delta")).to_pyarrow_table().to_pylist()
    wanted = {}
    for record in in_order(sim):
        key = json.dumps({"id": {"S": record.key["id"]}}, separators=(",", ":"))
        wanted[key] = record.event_name
    assert {row["keys"] for row in table} == {key for key, event in wanted.items() if event != "REMOVE"}

    # What a process leaves that is killed in its first batch.
    queries.checkpoint = folder / "first"
    queries.run(each=lambda frame, batch_id: note(frame, batch_id, folder / "notes of the first"))
    again = noted(folder / "notes of the first")
    assert again[0] == before[0], "the same rows, whatever has happened since"
    check_each_once(again, sim)


class Failed(Exception):
    pass


def test_latest_stands_when_the_first_batch_fails(queries, sim):
    sim.shape("S0")
    write(sim, "S0", rounds=2, every=0)
    sim.clock.advance(60)

    def fails(frame, batch_id):
        raise Failed

    queries.start(each=fails, startingPosition="LATEST")
    assert "Failed" in (queries.error() or "")
    new = [sim.put("S0"), sim.put("S0")]
    sim.roll("S0", "S1")
    new.append(sim.put("S1"))
    sim.clock.advance(60)
    queries.run(startingPosition="LATEST")
    assert queries.identities == identities(new)


def test_a_batch_that_fails_comes_again_with_the_same_rows_after_more_has_happened(queries, sim):
    sim.shape("S0 => {S1, S2}")
    write(sim, "S0", "S1", "S2", rounds=3, every=0)
    sim.knobs.latency = 1.1  # seconds: the first batches are planned before any page has come, and are empty
    seen: dict[int, list[str]] = {}

    def fails(frame, batch_id):
        keys = sorted(row.order_key for row in frame.collect())
        if keys:
            seen[batch_id] = keys
            raise Failed

    queries.start(each=fails)
    assert "Failed" in (queries.error() or "")
    sim.knobs.latency = 0
    write(sim, "S1", "S2", rounds=2, every=0)
    sim.roll("S1", "S3")
    sim.split("S2", "S4", "S5")
    write(sim, "S3", "S4", "S5", rounds=2, every=0)
    queries.run()
    first = queries.batches[0]
    assert {first.id: [row.order_key for row in first.rows]} == seen
    assert queries.identities == identities(in_order(sim))
