"""The picture: all results on one page, with the date and the machine's shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from textwrap import shorten
from typing import Any

from benchmarks import machine, table
from benchmarks.results import Report, Row

Reports = Mapping[str, Report]

OURS, BOTO3, BLOOP, MSGSPEC = "#58c4c8", "#d9a441", "#d98080", "#8a95a0"
MISSED = "#ff6b6b"
# A card of its own ground, as all our pictures have: a white one glares on a dark page.
GROUND, INK, QUIET = "#181e26", "#dee2e6", "#9aa4ae"
_STYLE: dict[Any, str] = {
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
    "savefig.facecolor": GROUND,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"), INK),
    "axes.edgecolor": QUIET,
}
SIDES = (("ours", OURS, "streamiter"), ("peer", BOTO3, "boto3 loop"))
SHORT = {
    "catch_up": "catch up, 1 shard",
    "images": "catch up, images read",
    "many_shards": "100 shards, 20 ms a call",
    "idle": "idle, 100 shards",
    "rolling": "500 shards roll",
    "to_arrow": "to_arrow",
    "memory": "memory, 1,000 lanes",
    "lanes": "more lanes",
    "kinesis": "Kinesis, 8 shards",
    "kinesis_reshard": "Kinesis, resharding",
    "spark": "Spark, 8 closed shards",
    "spark_latency": "Spark, a micro-batch",
    "on_loop": "AsyncStream",
    "leases": "leases",
    "app": "app",
}


def draw(reports: Reports, path: Path) -> None:
    """Draws what is there; what was never measured is left out."""
    if not reports:
        return
    figure = figure_of(reports)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None, "Description": digest(reports)})


def figure_of(reports: Reports) -> Any:
    """The picture, as matplotlib has it before it is written."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    with pyplot.rc_context(_STYLE):
        height = max(9.4, 1.6 + 0.24 * len(_with_targets(reports)))  # a line for each target
        figure = pyplot.figure(figsize=(16, height), dpi=110, layout="constrained")
        grid = figure.add_gridspec(2, 3, width_ratios=(1.1, 1, 1))
        places = (grid[:, 0], grid[0, 1], grid[0, 2], grid[1, 1], grid[1, 2])
        for (panel, needs), place in zip(_PANELS, places, strict=True):
            if needs <= reports.keys():
                axes = figure.add_subplot(place)
                panel(axes, reports)
                axes.spines[["top", "right"]].set_visible(False)
        title = "streamiter beside its peers: the same bytes, the same machine, taking turns"
        figure.suptitle(title, fontsize=14, x=0.01, ha="left")
        figure.supxlabel(_footer(reports), fontsize=8, color=QUIET, x=0.01, ha="left")
        pyplot.close(figure)  # for pyplot: the figure itself can still be written
    return figure


def digest(reports: Reports) -> str:
    """Tells from which results a picture was drawn: it stands in the file."""
    told = json.dumps({name: asdict(report) for name, report in reports.items()}, sort_keys=True)
    return sha256(told.encode()).hexdigest()


def _with_targets(reports: Reports) -> list[tuple[str, Row]]:
    return [(name, row) for name, report in reports.items() for row in report.result.rows if row.target is not None]


def _targets(axes: Any, reports: Reports) -> None:
    """Each row against its target: 1 is met."""
    rows = _with_targets(reports)[::-1]
    for place, (_, row) in enumerate(rows):
        assert row.target is not None
        target = row.target
        reached = [target / ratio if row.is_at_most else ratio / target for ratio in (row.median, *row.ratios)]
        axes.barh(place, reached[0], color=OURS if row.is_met else MISSED, height=0.62)
        axes.plot([min(reached), max(reached)], [place, place], color=INK, linewidth=1.2)
        _note(axes, max(reached), place, f"{table.times(row.median)}  (target {table.target(row)})")
    axes.axvline(1, color=INK, linewidth=1, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlim(left=0.1, right=axes.get_xlim()[1] * 4)
    axes.set_ylim(-0.8, len(rows) - 0.2)
    axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes.minorticks_off()
    labels = [f"{_short(name, row)}, vs {shorten(row.peer, 34, placeholder=' …')}" for name, row in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.set_xlabel("reached / target, with the spread of the runs (log)")
    axes.set_title("Targets", loc="left")


def _short(name: str, row: Row) -> str:
    """The case, and how this row of it differs from the first: "the same, so: why" is said as ", so", a number as ": 10"."""
    number = row.work.rpartition(": ")[2]
    if number.replace(",", "").isdigit():
        return f"{SHORT.get(name, name)}: {number}"
    so = row.work.removeprefix("the same").partition(":")[0] if row.work.startswith("the same, ") else ""
    return SHORT.get(name, name) + so


def _rates(axes: Any, reports: Reports) -> None:
    """Records a second on one shard, by CPU time: other processes disturb it less."""
    envelopes, images = reports["catch_up"].result.measured, reports["images"].result.measured
    bars = [
        ("streamiter", envelopes["boto3"]["ours"], OURS),
        ("boto3 loop", envelopes["boto3"]["peer"], BOTO3),
        ("Bloop (makes images too)", envelopes["bloop"]["peer"], BLOOP),
        ("streamiter, images read", images["boto3"]["ours"], OURS),
        ("boto3 + TypeDeserializer", images["boto3"]["peer"], BOTO3),
        ("msgspec alone, untyped", images["msgspec"]["peer"], MSGSPEC),
    ][::-1]
    for place, (_, rate, colour) in enumerate(bars):
        speed, *spread = _thousands(rate["records_per_cpu_second"], *rate["cpu_spread"])
        axes.barh(place, speed, color=colour, height=0.62)
        axes.plot(spread, [place, place], color=INK, linewidth=1.2)
        _note(axes, max(spread), place, f"{speed:,.0f}k")
    axes.set_yticks(range(len(bars)), [label for label, _, _ in bars], fontsize=8)
    axes.set_xlim(right=axes.get_xlim()[1] * 1.12)
    axes.set_xlabel("thousand records (575 B) in a second of CPU time")
    axes.set_title("Catching up on 1 shard", loc="left")


def _lanes(axes: Any, reports: Reports) -> None:
    """Records a second as lanes grow."""
    found = reports["lanes"].result.measured["rates"]
    for room, label, style, colour in (
        ("unordered", "in no order", "s:", MSGSPEC),
        ("held", "all held, sorted once", "s-", MSGSPEC),
        ("roomy", "room for full pages", "o-", OURS),
        ("default", "default prefetch_bytes", "o--", OURS),
    ):
        lanes = [int(count) for count in found[room]]
        rates = found[room].values()
        speeds = _thousands(*(rate["records_per_cpu_second"] for rate in rates))
        lows, highs = zip(*(_thousands(*rate["cpu_spread"]) for rate in rates), strict=True)
        axes.plot(lanes, speeds, style, color=colour, label=label)
        axes.fill_between(lanes, lows, highs, color=colour, alpha=0.15)
    axes.set_xscale("log")
    axes.set_xticks(lanes, [f"{count:,}" for count in lanes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("lanes (shards read at once)")
    axes.set_ylabel("thousand records in a second of CPU time")
    axes.legend(fontsize=8, frameon=False)
    axes.set_title("Same records, more lanes", loc="left")


def _latency(axes: Any, reports: Reports) -> None:
    """Records a second as calls take longer."""
    found = reports["growth"].result.measured["shards_and_milliseconds"]
    for side, colour, label in SIDES:
        for (count, by_latency), style in zip(found.items(), ("o-", "s--"), strict=False):
            rates = [point[side]["records_per_second"] for point in by_latency.values()]
            shown = f"{label}, {count} shard{'' if count == '1' else 's'}"
            axes.plot([int(latency) for latency in by_latency], rates, style, color=colour, label=shown)
    axes.set_yscale("log")
    axes.set_ylim(top=axes.get_ylim()[1] * 6)  # the legend stands above
    axes.set_xlabel("milliseconds that a call takes")
    axes.set_ylabel("records in a second (log)")
    axes.legend(fontsize=8, frameon=False)
    axes.set_title("Latency", loc="left")


def _sizes(axes: Any, reports: Reports) -> None:
    """Records a second as records grow."""
    found = reports["growth"].result.measured["record_bytes"]
    sizes = [int(name) for name in found]
    for side, colour, label in SIDES:
        rates = [found[str(size)][side]["records_per_cpu_second"] for size in sizes]
        axes.plot(sizes, rates, "o-", color=colour, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axes.set_xlabel("bytes a record")
    axes.set_ylabel("records in a second of CPU time (log)")
    axes.legend(fontsize=8, frameon=False)
    axes.set_title("Record size", loc="left")


_PANELS: tuple[tuple[Any, set[str]], ...] = (
    (_targets, set()),
    (_rates, {"catch_up", "images"}),
    (_lanes, {"lanes"}),
    (_latency, {"growth"}),
    (_sizes, {"growth"}),
)


def _note(axes: Any, x: float, y: float, text: str) -> None:
    axes.annotate(text, (x, y), va="center", fontsize=8, xytext=(6, 0), textcoords="offset points")


def _thousands(*numbers: float) -> list[float]:
    return [number / 1000 for number in numbers]


def _footer(reports: Reports) -> str:
    days = sorted({report.made[:10] for report in reports.values()})
    smoke = "SMOKE SIZES, NOT A MEASUREMENT; " if any(report.is_smoke for report in reports.values()) else ""
    shape = machine.describe(*(report.machine for report in reports.values()))
    return f"{smoke}{' to '.join(dict.fromkeys((days[0], days[-1])))}, {shape}"
