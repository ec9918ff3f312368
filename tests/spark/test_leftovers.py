"""When a query stops or fails nothing of it is left: no thread, no connection, no process that plans."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from streamiter.spark.columns.columns import standard_schema
from streamiter.spark.options import Options
from streamiter.spark.streaming import StreamReader
from tests.stream.helpers import soon, write


def connections_to(port: int) -> list[str]:
    """The processes with an established connection to a port here, but for this one, which serves there."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[2].endswith(f":{port:04X}") and words[3] == "01":
            inodes.add(f"socket:[{words[9]}]")
    found = []
    for folder in Path("/proc").glob("[0-9]*/fd"):
        if int(folder.parent.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            held = {os.readlink(entry) for entry in folder.iterdir()}
            found += [folder.parent.name] * len(held & inodes)
    return found


def planners(port: int) -> set[str]:
    """The processes of Spark's that plan a query, by their connections to a service; others never called it."""
    return {pid for pid in connections_to(port) if is_planner(pid)}


def is_planner(pid: str) -> bool:
    with contextlib.suppress(OSError):
        return b"python_streaming_source_runner" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def test_a_query_that_stops_leaves_no_connection_and_no_process(queries, sim):
    port = int(sim.endpoint_url.rpartition(":")[2])
    sim.shape("S0 => S1")
    write(sim, "S0", "S1", rounds=2, every=0)
    queries.start()
    queries.until_rows(4)
    planning = planners(port)
    assert planning, "it polls"
    queries.stop()
    soon(lambda: not connections_to(port) and not any(map(is_planner, planning)))


def test_a_query_that_fails_leaves_no_connection_and_no_process(queries, sim):
    port = int(sim.endpoint_url.rpartition(":")[2])
    sim.shape("S0 => S1")
    write(sim, "S0", "S1", rounds=2, every=0)

    planning: set[str] = set()

    def fails(frame, batch_id):
        frame.collect()
        planning.update(planners(port))
        raise RuntimeError("the sink is full")

    queries.start(each=fails)
    assert "the sink is full" in (queries.error() or "")
    assert planning
    soon(lambda: not connections_to(port) and not any(map(is_planner, planning)))


def test_a_reader_that_stops_ends_its_threads(sim, monkeypatch):
    for name, value in {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    sim.shape("S0 ~ S1")
    write(sim, "S0", "S1", rounds=2, every=0)
    options = Options("dynamodb_streams", sim.stream_arn, endpoint_url=sim.endpoint_url, lateness=None)
    reader = StreamReader(options, standard_schema())
    before = set(threading.enumerate())
    start = reader.initialOffset()
    soon(lambda: reader.latestOffset(start, reader.getDefaultReadLimit()) != start)
    assert {thread.name for thread in set(threading.enumerate()) - before} >= {"streamiter-planner", "streamiter"}
    reader.stop()
    soon(lambda: not {t for t in set(threading.enumerate()) - before if t.name.startswith("streamiter")})
