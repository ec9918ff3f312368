"""Logs: how fast a log in SQLite is written and read, beside plain sqlite3 on the same rows, which has no order over them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Scale
from benchmarks.results import Result, Row
from streamiter import Stream
from streamiter.log import Entry, SqliteLog

TITLE = "logs in SQLite: 1 KB, 8 partitions, every append on the disk"
PARTITIONS = 8
PAYLOAD = bytes(range(256)) * 4
BATCH = 1000
THREADS = 16


class Rate(NamedTuple):
    """Records a second, by the clock and by CPU time."""

    wall: float
    cpu: float


def run(scale: Scale) -> Result:
    """Our turn and the peer's, one after the other, so that both have the same machine."""
    count = scale.of(200_000, 4_000)
    rounds = [_round(count) for _ in range(scale.runs)]

    def row(work: str, ours: str, peer: str, target: float | None) -> Row:
        ratios = [found[ours].wall / found[peer].wall for found in rounds]
        by_cpu = [found[ours].cpu / found[peer].cpu for found in rounds]
        return Row(work, "a plain sqlite3 loop", ratios, target, by_cpu=by_cpu)

    measured = {
        name: {"records_per_second": rate.wall, "records_per_cpu_second": rate.cpu}
        for name, rate in rounds[len(rounds) // 2].items()
    }
    return Result(
        [
            row("append batches of 1,000", "written", "peer_written", 0.5),
            row("log.read", "read", "peer_read", 0.25),
            row("Stream.batches, in one order", "streamed", "peer_read", 0.2),
        ],
        {"records": count, "payload_bytes": len(PAYLOAD), "partitions": PARTITIONS, "rates": measured},
        {"sqlite": {"sqlite": sqlite3.sqlite_version}},
    )


def _round(count: int) -> dict[str, Rate]:
    folder = Path(tempfile.mkdtemp())
    try:
        log = SqliteLog(folder / "log.db", "orders")
        log.grow(PARTITIONS)
        found = {
            "written": _timed(lambda: _write(log, count)),
            "peer_written": _timed(lambda: _peer_write(folder / "peer.db", count)),
            "read": _timed(lambda: _read(log)),
            "peer_read": _timed(lambda: _peer_read(folder / "peer.db")),
            "streamed": _timed(lambda: _stream(log)),
            "streamed_one_by_one": _timed(lambda: _follow(log)),
            "by_threads": _timed(lambda: _by_threads(log, count // 100)),
        }
        log.close()
        return found
    finally:
        shutil.rmtree(folder)


def _timed(work: Callable[[], int]) -> Rate:
    wall, cpu = time.monotonic(), time.process_time()
    count = work()
    return Rate(count / (time.monotonic() - wall), count / (time.process_time() - cpu))


def _write(log: SqliteLog, count: int) -> int:
    entries = [Entry(PAYLOAD, b"key-%d" % number) for number in range(BATCH)]
    for turn in range(count // BATCH):
        log.append(turn % PARTITIONS, entries)
    return count


def _by_threads(log: SqliteLog, count: int) -> int:
    """Threads that append one entry each, again and again: they share transactions."""

    def run(number: int) -> None:
        for _ in range(count // THREADS):
            log.append(number % PARTITIONS, [Entry(PAYLOAD)])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count // THREADS * THREADS


def _read(log: SqliteLog) -> int:
    count = 0
    for partition in range(PARTITIONS):
        after, is_tip = 0, False
        while not is_tip:
            records, is_tip, _ = log.read(partition, after, BATCH)
            count += len(records)
            after = records[-1].number if records else after
    return count


def _stream(log: SqliteLog) -> int:
    with Stream(log) as stream:
        return sum(map(len, stream.batches(BATCH, until="caught_up")))


def _follow(log: SqliteLog) -> int:
    with Stream(log) as stream:
        return sum(1 for _ in stream.follow(until="caught_up"))


def _peer_write(path: Path, count: int) -> int:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        for partition in range(PARTITIONS):
            db.execute(
                f"CREATE TABLE e{partition} (number INTEGER PRIMARY KEY, stamp_us INTEGER, payload BLOB, key BLOB)"
            )
        for turn in range(count // BATCH):
            rows = [(number, PAYLOAD, b"key-%d" % number) for number in range(BATCH)]
            db.execute("BEGIN IMMEDIATE")
            db.executemany(f"INSERT INTO e{turn % PARTITIONS} (stamp_us, payload, key) VALUES (?, ?, ?)", rows)
            db.execute("COMMIT")
    return count


def _peer_read(path: Path) -> int:
    count = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for partition in range(PARTITIONS):
            read, after = f"SELECT * FROM e{partition} WHERE number > ? ORDER BY number LIMIT {BATCH}", 0
            while rows := db.execute(read, (after,)).fetchall():
                count += len(rows)
                after = rows[-1][0]
    return count
