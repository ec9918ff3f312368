"""Instructions: how many the processor carries out for a record; they stay the same where time does not.

Counted by valgrind's callgrind: a side reads a few pages, and many pages, each in a process of its own; what it took more
of, divided by the records read more, is the price of a record, without what starting costs.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from benchmarks.canned.process import Canned, canned
from benchmarks.measure import Scale
from benchmarks.results import Result, Row
from benchmarks.sides import side

TITLE = "instructions a record (valgrind --tool=callgrind)"
ACTIONS = {"envelopes": ("streamiter", "boto3", "bloop"), "images": ("streamiter", "boto3", "msgspec")}
_COLLECTED = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def run(scale: Scale) -> Result:
    """Of each side, for each of the two ways to catch up on one shard."""
    if shutil.which("valgrind") is None:
        raise SystemExit("bench: instructions are counted with valgrind, which is not here: apt install valgrind")
    few, many = scale.of(2_000, 200), scale.of(12_000, 1_200)
    counts: dict[str, dict[str, int]] = {}
    told = {}
    with canned(many, 1) as server:
        for action, readers in ACTIONS.items():
            counts[action] = {}
            for reader in readers:
                less, told[reader] = _count(reader, action, server, few)
                more, _ = _count(reader, action, server, many)
                counts[action][reader] = round((more - less) / (many - few))
    rows = [
        Row(f"{action} on 1 shard, in instructions", reader, [found[reader] / found["streamiter"]], is_count=True)
        for action, found in counts.items()
        for reader in ACTIONS[action][1:]
    ]
    return Result(rows, {"instructions_per_record": counts}, told)


def _count(reader: str, action: str, server: Canned, records: int) -> tuple[int, dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        out = Path(scratch) / "callgrind.out"
        # The same hashes, and so the same collisions, each time.
        tool = ["env", "PYTHONHASHSEED=0", "valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]
        with side(reader, under=tool) as counted:
            counted.do(action, server, 1, records)
        found = _COLLECTED.search(out.read_text())
        assert found is not None, "callgrind wrote no count"
        return int(found[1]), counted.versions
