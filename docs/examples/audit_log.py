"""Write each change of a table to a log file, in order and exactly once.

    python audit_log.py orders orders.jsonl [--once]

Each line is one change as JSON. The program keeps its token beside the log, and saves it after the lines. So after a
crash, the log may have lines that are newer than the token: the next start cuts them off, and writes them again.

An audit log must not miss a change. If records may be lost, the program ends with exit code 2 and leaves the rest to a person.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from streamiter import RecordsExpired, Stream, TokenFile


def write(table: str, log: Path, until: str | None) -> None:
    """Append changes to the log until there are no more, or until SIGTERM."""
    place = TokenFile(log.with_suffix(".token"))
    token = place.load()
    cut_off(log, after=token["clock"] if token else 0)
    with Stream(f"dynamodb://{table}", token or "trim_horizon") as stream, open(log, "a", encoding="utf-8") as file:
        signal.signal(signal.SIGTERM, lambda *_: stream.close())
        for batch in stream.batches(500, until=until):
            file.writelines(f"{line_of(record)}\n" for record in batch)
            file.flush()
            os.fsync(file.fileno())  # the lines are on the disk before the token is
            place.save(batch.token)


def cut_off(log: Path, after: int) -> None:
    """Remove the lines that were written after the token was saved, and a line that was only half written."""
    if not log.exists():
        return
    keep = 0
    with open(log, "rb") as file:
        for line in file:
            if not line.endswith(b"\n") or json.loads(line)["clock"] > after:
                break
            keep += len(line)
    os.truncate(log, keep)


def line_of(record: Any) -> str:
    line = {
        "clock": record.clock,
        "time": record.created_at.isoformat(),
        "event": record.event_name,
        "key": record.key,
        "old": record.old,
        "new": record.new,
        "by": record.user_identity,
    }
    return json.dumps(line, default=plain)


def plain(value: object) -> object:
    """What JSON has no word for."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write each change of a table to a log file.")
    parser.add_argument("table")
    parser.add_argument("log", type=Path)
    parser.add_argument("--once", action="store_true", help="end when there are no more changes")
    options = parser.parse_args()
    try:
        write(options.table, options.log, until="caught_up" if options.once else None)
    except RecordsExpired as gap:
        sys.stderr.write(f"The log stops here, because changes may be lost: {gap}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
