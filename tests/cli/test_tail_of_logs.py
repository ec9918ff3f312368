"""`streamiter tail` of a log: what is there, and what is written meanwhile, is printed at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from streamiter.log import Entry, SqliteLog


def test_it_prints_all_before_it_rests(tmp_path: Path):
    log = SqliteLog(tmp_path / "orders.db", "orders")
    log.grow(4)
    for number in range(8):
        log.append(number % 4, [Entry(b'{"n": %d}' % number)])
    command = [
        sys.executable,
        "-m",
        "streamiter",
        "tail",
        f"sqlite:///{log._path}?topic=orders",
        "--from",
        "trim_horizon",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(8)]
        log.append(3, [Entry(b'{"n": 8}')])  # it rests by now, or is about to
        printed.append(process.stdout.readline())
        process.kill()
    assert [f'{{"n":{number}}}' in line.replace(" ", "") for number, line in enumerate(printed)] == [True] * 9
    log.close()
