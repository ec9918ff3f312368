"""Crashes: a micro-batch that comes again has the same rows, and the Delta table changes once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from streamiter.spark import merge_delta
from tests.spark.killed_query import note
from tests.stream.helpers import identities, in_order, write

ROOT = Path(__file__).parents[2]


def live_until_killed(sim, folder: Path, when: str, batch: int) -> None:
    """A process of its own, with a JVM of its own, until it dies."""
    arguments = [sim.endpoint_url, sim.stream_arn, str(folder), when, str(batch)]
    command = [sys.executable, "-m", "tests.spark.killed_query", *arguments]
    ended = subprocess.run(
        command, cwd=ROOT, timeout=280, start_new_session=True, stderr=subprocess.PIPE, text=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-2000:]


@pytest.mark.timeout(900)  # three lives of a JVM
def test_killed_in_the_first_batch_and_between_sink_and_commit(queries, sim, tmp_path):
    folder = tmp_path
    (folder / "notes").mkdir()
    sim.shape("S0 => {S1, S2}; T0")
    write(sim, "S0", "S1", "S2", "T0", rounds=3, every=0)
    live_until_killed(sim, folder, "before", 0)
    write(sim, "S1", "T0", rounds=1, every=0)
    sim.roll("S1", "S3")
    rows = {"ann": 1, "bob": 2}
    for name, n in rows.items():
        sim.put("S3", key=name, new={"id": name, "n": n})
    sim.put("S2", key="1", event="REMOVE")
    live_until_killed(sim, folder, "after", 1)
    versions = DeltaTable(str(folder / "delta")).version()
    sim.put("S3", key="ann", event="REMOVE")
    merge = merge_delta(str(folder / "delta"))

    def each(frame, batch_id):
        note(frame, batch_id, folder / "notes")
        merge(frame, batch_id)
        if batch_id == 1:
            assert DeltaTable(str(folder / "delta")).version() == versions, "merged before, so not again"

    queries.run(each=each)
    notes: dict[str, list[list[str]]] = {}
    for file in sorted((folder / "notes").iterdir()):
        notes.setdefault(file.name.partition("-")[0], []).append(json.loads(file.read_text()))
    tries = {int(batch): len(attempts) for batch, attempts in notes.items()}
    # How many there are after the second is a matter of how fast pages come.
    assert tries == dict.fromkeys(range(len(tries)), 1) | {0: 2, 1: 2}
    for attempts in notes.values():
        assert all(attempt == attempts[0] for attempt in attempts), "the same rows each time"
    keys = sorted(key for attempts in notes.values() for key in attempts[-1])
    assert len(keys) == len(set(keys)) == len(sim.history)
    assert [key.split()[-2][2:] for key in keys] == [number for _, number in identities(in_order(sim))]
    table = DeltaTable(str(folder / "delta")).to_pyarrow_table().to_pylist()
    wanted = {}
    for record in in_order(sim):
        key = json.dumps({"id": {"S": record.key["id"]}}, separators=(",", ":"))
        wanted[key] = record.event_name
    assert {row["keys"] for row in table} == {key for key, event in wanted.items() if event != "REMOVE"}


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
    seen: list[list[str]] = []

    def fails(frame, batch_id):
        seen.append(sorted(row.order_key for row in frame.collect()))
        raise Failed

    queries.start(each=fails)
    assert "Failed" in (queries.error() or "")
    write(sim, "S1", "S2", rounds=2, every=0)
    sim.roll("S1", "S3")
    sim.split("S2", "S4", "S5")
    write(sim, "S3", "S4", "S5", rounds=2, every=0)
    queries.run()
    assert seen[0]
    assert [row.order_key for row in queries.batches[0].rows] == seen[0]
    assert queries.identities == identities(in_order(sim))
