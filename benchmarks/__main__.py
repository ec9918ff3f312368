"""The command line of `./dev bench`: runs the cases, prints one table, writes the results and draws the picture."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import bars, beside, figures, machine, picture, table
from benchmarks.measure import Scale
from benchmarks.results import PLACE, Report, Result, load

# In the order of the table; each is a module that measures.
CASES = {
    "catch_up": "benchmarks.cases.catch_up",
    "images": "benchmarks.cases.images",
    "many_shards": "benchmarks.cases.many_shards",
    "idle": "benchmarks.cases.idle",
    "rolling": "benchmarks.cases.rolling",
    "on_loop": "benchmarks.cases.on_loop",
    "to_arrow": "benchmarks.cases.to_arrow",
    "memory": "benchmarks.cases.memory",
    "lanes": "benchmarks.cases.lanes",
    "growth": "benchmarks.cases.growth",
    "kinesis": "benchmarks.cases.kinesis",
    "kinesis_reshard": "benchmarks.cases.kinesis_reshard",
    "spark": "benchmarks.cases.spark",
    "spark_latency": "benchmarks.cases.spark_latency",
    "server": "benchmarks.cases.server",
    "emulators": "benchmarks.cases.emulators",
    "leases": "benchmarks.cases.leases",
    "app": "benchmarks.cases.app",
    "multilang": "benchmarks.cases.multilang",
    "logs": "benchmarks.cases.logs",
    "redis_log": "benchmarks.cases.redis_log",
    "kafka_log": "benchmarks.cases.kafka_log",
    "topic_peers": "benchmarks.cases.topic_peers",
    "instructions": "benchmarks.instructions",
}
# One takes minutes, and valgrind; one a broker: Java and Maven; one an old Python, and packages of others.
ASKED_FOR = {"instructions", "kafka_log", "topic_peers"}


def module_of(case: str) -> Any:
    """The module that measures a case: its `run` and its TITLE."""
    return importlib.import_module(CASES[case])


def measure(case: str, scale: Scale) -> Report:
    """Runs a case."""
    module = module_of(case)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    shape = machine.shape()
    result: Result = module.run(scale)
    shape["load_after"] = round(os.getloadavg()[0], 1)
    return Report(case, module.TITLE, made, scale.runs, scale.is_smoke, shape, result)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures what is named, and shows all that was ever measured here in the table and the picture."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["--beside"]:
        return beside.main(arguments[1:])
    options = _parse(arguments)
    names = [] if options.draw else options.names or [name for name in CASES if name not in ASKED_FOR]
    if options.instructions and "instructions" not in names:
        names.append("instructions")
    scale = Scale(1 if options.smoke else options.runs, options.smoke)
    for name in names:
        began = time.monotonic()
        print(f"bench: {name} ...", file=sys.stderr, flush=True)
        report = measure(name, scale)
        report.save(options.results)
        print(f"bench: {name} took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    reports = load(options.results, CASES)
    picture.draw(reports, options.results / "performance.png")
    if reports.keys() >= bars.NEEDS:
        (options.results / bars.NAME).write_text(bars.draw(reports), "utf-8")
    if options.results == PLACE and not scale.is_smoke:
        figures.fill_pages(reports)
    shown = reports if options.draw else {name: report for name, report in reports.items() if name in names}
    print(table.text(shown))
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(CASES)}; default all but the last")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="of each comparison; default 5")
    parser.add_argument("--smoke", action="store_true", help="small sizes, once: shows that it works, not how fast")
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing: show what is kept, in picture and pages too"
    )
    parser.add_argument("--instructions", action="store_true", help="also count instructions, with valgrind")
    parser.add_argument(
        "--beside", metavar="COMMIT", help="as the first word: this tree beside that commit; see benchmarks/beside.py"
    )
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="default benchmarks/results, with --smoke a temporary one"
    )
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in CASES:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(CASES)}")
    if options.results is None:
        options.results = Path(tempfile.mkdtemp(prefix="bench-")) if options.smoke else PLACE
    return options


if __name__ == "__main__":
    sys.exit(main())
