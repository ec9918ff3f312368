"""The small picture: three bars for the common case, images read. It has a ground of its own, for light pages and dark ones."""

from __future__ import annotations

from benchmarks.picture import Reports

NAME = "bars.svg"
NEEDS = {"catch_up", "images"}

WIDTH, TOP, ROW, BAR = 640, 46, 34, 20
LEFT, ROOM = 196, 330  # where bars begin, and the longest of them
GROUND, TEXT, DIM = "#181e26", "#dee2e6", "#9aa4ae"
OURS, PEER = "#58c4c8", "#68747f"


def draw(reports: Reports) -> str:
    """The picture as SVG."""
    rates = _rates(reports)
    most = max(rate for _, rate in rates)
    height = TOP + ROW * len(rates) + 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        "<title>Records a second on one shard, every image read</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{GROUND}"/>',
        '<g font-family="system-ui, -apple-system, &quot;Segoe UI&quot;, &quot;DejaVu Sans&quot;, sans-serif" font-size="14">',
        _text(16, 28, "Records a second on one shard, every image read", TEXT, weight="bold"),
    ]
    for number, (label, rate) in enumerate(rates):
        y = TOP + ROW * number
        length = max(2, round(ROOM * rate / most))
        lines.append(_text(LEFT - 12, y + 15, label, TEXT, anchor="end"))
        lines.append(
            f'<rect x="{LEFT}" y="{y}" width="{length}" height="{BAR}" rx="3" fill="{PEER if number else OURS}"/>'
        )
        lines.append(_text(LEFT + length + 10, y + 15, f"{float(f'{rate:.2g}'):,.0f}", DIM))
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _rates(reports: Reports) -> list[tuple[str, float]]:
    """Whose reading, and its records a second."""
    images, envelopes = reports["images"].result.measured, reports["catch_up"].result.measured
    return [
        ("streamiter", images["boto3"]["ours"]["records_per_second"]),
        ("boto3 loop", images["boto3"]["peer"]["records_per_second"]),
        ("Bloop", envelopes["bloop"]["peer"]["records_per_second"]),
    ]


def _text(x: int, y: int, text: str, colour: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">{text}</text>'
