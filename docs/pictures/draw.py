"""Draws the pictures of the docs, beside itself: python docs/pictures/draw.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # to a file, without a display

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

HERE = Path(__file__).parent

# A card of its own ground, as all our pictures have: a white one glares on a dark page.
GROUND = "#181e26"
INK = "#dee2e6"
QUIET = "#9aa4ae"
LINE = "#2c3540"
GREEN = "#6fbf7c"
COLORS = {"S0": "#93a1ae", "S1": "#5fb0e8", "S2": "#f0a050"}
PALE = {"S0": "#343e49", "S1": "#1d3e57", "S2": "#4f351b"}
HALF_BAR = 0.3


def main() -> None:
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 12, "text.color": INK})
    save(draw_seed_case(), "seed-case.png")
    save(draw_window(), "window.png")


def save(figure: Any, name: str) -> None:
    # No version and no date in the file, so that the same picture is the same bytes.
    figure.savefig(HERE / name, dpi=130, facecolor=GROUND, metadata={"Software": None})
    plt.close(figure)


# -- the seed case: S0 => {S1, S2}

BARS = {"S0": (-7.65, -6.75, 1.0), "S1": (-6.4, 0.0, 2.0), "S2": (-6.4, 0.0, 0.0)}  # from, to (hours), height
RECORDS = [  # in the order in which they come out: name, hours, how far to draw it aside
    ("R00", -7, 0.0),
    ("R11", -6, 0.0),
    ("R12", -4, 0.0),
    ("R24", -4, 0.0),
    ("R25", -3, -0.18),
    ("R26", -3, 0.18),
    ("R13", -2, 0.0),
]


def draw_seed_case() -> Any:
    figure, axes = plt.subplots(figsize=(10.5, 5.2), layout="constrained")
    axes.set(xlim=(-8.15, 0.75), ylim=(-1.85, 2.95))  # hours from now
    axes.axis("off")
    draw_hours(axes)
    for shard_id, (start, end, height) in BARS.items():
        draw_bar(axes, shard_id, start, end, height, is_open=shard_id != "S0")
    draw_split(axes)
    for count, (name, hours, aside) in enumerate(RECORDS, start=1):
        draw_record(axes, count, name, hours + aside, BARS["S" + name[1]][2])
    draw_tie(axes)
    draw_line_of_records(axes)
    return figure


def draw_hours(axes: Any) -> None:
    for hours in range(-7, 1):
        axes.plot([hours, hours], [-0.58, 2.62], color=LINE, linewidth=1, zorder=0)
        text = "now" if hours == 0 else f"{-hours} h ago"
        axes.text(hours, 2.74, text, ha="center", va="bottom", color=QUIET, fontsize=10.5)


def draw_bar(axes: Any, shard_id: str, start: float, end: float, height: float, *, is_open: bool) -> None:
    low, high = height - HALF_BAR, height + HALF_BAR
    corners = [(start, low), (end, low), *([(end + 0.2, height)] if is_open else []), (end, high), (start, high)]
    across, up = zip(*corners, strict=True)
    axes.fill(across, up, facecolor=PALE[shard_id], edgecolor=COLORS[shard_id], linewidth=1.6, zorder=2)
    axes.text(start + 0.04, high + 0.06, shard_id, va="bottom", color=COLORS[shard_id], fontsize=15, fontweight="bold")
    if is_open:
        axes.text(end + 0.28, height, "open", va="center", color=COLORS[shard_id], fontsize=10.5)


def draw_split(axes: Any) -> None:
    _, end, height = BARS["S0"]
    for child in ("S1", "S2"):
        start, _, beside = BARS[child]
        middle = (end + start) / 2
        axes.plot([end, middle, middle, start], [height, height, beside, beside], color=QUIET, linewidth=1.6, zorder=1)


def draw_record(axes: Any, count: int, name: str, hours: float, height: float) -> None:
    axes.plot(hours, height, "o", markersize=22, color=COLORS["S" + name[1]], zorder=4)
    axes.text(
        hours, height - 0.012, str(count), ha="center", va="center_baseline", color=GROUND, fontweight="bold", zorder=5
    )
    axes.text(hours, height - HALF_BAR - 0.07, name, ha="center", va="top", color=INK, fontsize=11)


def draw_tie(axes: Any) -> None:
    axes.plot([-4, -4], [0.4, 1.42], color=INK, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1)
    axes.text(-3.92, 1.0, "a tie: S1 ranks before S2", va="center", color=INK, fontsize=10.5)
    axes.text(-3, -0.68, "one time: as the shard gave them", ha="center", va="top", color=INK, fontsize=10.5)


def draw_line_of_records(axes: Any) -> None:
    axes.text(-7.65, -0.98, "comes out as", va="center", color=QUIET, fontsize=11.5)
    height, left, step = -1.45, -7.25, 1.14
    for count, (name, _, _) in enumerate(RECORDS, start=1):
        middle = left + (count - 1) * step
        shard_id = "S" + name[1]
        box = FancyBboxPatch(
            (middle - 0.4, height - 0.21), 0.8, 0.42, boxstyle="round,pad=0,rounding_size=0.07", zorder=3,
            facecolor=PALE[shard_id], edgecolor=COLORS[shard_id], linewidth=1.5,
        )  # fmt: skip
        axes.add_patch(box)
        axes.text(middle, height, f"{count}  {name}", ha="center", va="center", fontsize=11.5, zorder=4)
        if count < len(RECORDS):
            axes.text(middle + step / 2, height, "<", ha="center", va="center", color=QUIET, fontsize=14)


# -- the window: what can come out at once

LANES = {  # order times of what was fetched; up to where the lane is known; why
    "S1": ([1, 2, 3, 4.5, 6, 8], 8.0, "known up to its last record"),
    "S2": ([1.5, 4, 5], 5.0, "known up to its last record: it holds the others"),
    "S3": ([2.5], 7.0, "idle at the tip: known below the time of its last empty page, less lateness"),
}
LANE_COLORS = {"S1": "S1", "S2": "S2", "S3": "S0"}


def draw_window() -> Any:
    figure, axes = plt.subplots(figsize=(10.5, 4.0), layout="constrained")
    axes.set(xlim=(-0.6, 12.2), ylim=(-1.0, 3.25))
    axes.axis("off")
    least = min(known for _, known, _ in LANES.values())
    axes.axvspan(0, least, ymin=0.06, ymax=0.985, color="#1d2b26", zorder=0)
    axes.plot([least, least], [-0.72, 3.15], color=GREEN, linewidth=1.6, linestyle=(0, (4, 3)), zorder=1)
    axes.text(0.1, 3.1, "the window: sorted at once, comes out", ha="left", va="top", color=GREEN, fontsize=11)
    axes.text(least + 0.12, 3.1, "waits", ha="left", va="top", color=QUIET, fontsize=11)
    for row, (shard_id, (times, known, why)) in enumerate(LANES.items()):
        draw_lane(axes, shard_id, times, known, why, 2.25 - row * 1.05, least)
    axes.annotate("", xy=(12.0, -0.78), xytext=(0, -0.78), arrowprops={"arrowstyle": "->", "color": QUIET})
    axes.text(12.0, -0.72, "order time", ha="right", va="bottom", color=QUIET, fontsize=11)
    return figure


def draw_lane(
    axes: Any, shard_id: str, times: list[float], known: float, why: str, height: float, least: float
) -> None:
    color, pale = COLORS[LANE_COLORS[shard_id]], PALE[LANE_COLORS[shard_id]]
    axes.text(-0.12, height, shard_id, ha="right", va="center", color=color, fontsize=14, fontweight="bold")
    axes.plot([0, known], [height, height], color=pale, linewidth=13, solid_capstyle="butt", zorder=1)
    axes.plot([known, known], [height - 0.24, height + 0.24], color=color, linewidth=2.5, zorder=3)
    axes.text(known + 0.1, height - 0.2, why, ha="left", va="top", color=color, fontsize=10, zorder=5)
    for time in times:
        face = color if time <= least else GROUND
        axes.plot(
            time, height, "o", markersize=13, markerfacecolor=face, markeredgecolor=color, markeredgewidth=1.8, zorder=4
        )


if __name__ == "__main__":
    main()
