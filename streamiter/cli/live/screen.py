"""The screen of `streamiter top`: a view, drawn to fit; pure."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Group
from rich.table import Table
from rich.text import Text

from streamiter.cli.checks.standing import short_names, title_of
from streamiter.cli.live.board import Family, Row, View
from streamiter.cli.moments import age
from streamiter.cli.pictures.tree import counted
from streamiter.cli.terminal.reasons import LISTING
from streamiter.cli.terminal.status import short_rate, short_time
from streamiter.terminal import printable

CURVE = "▁▂▃▄▅▆▇█"
BEHIND_SECONDS = 60.0  # worth a colour
AHEAD_REMEDY = "a record was created in the future: stream.skip() passes over it, and lateness=None waits for none"
NARROW_CELLS = 60  # the facts stand below each other, and only rates and lags are told of each shard
CALLS = {"fetch": "records", "open_iterator": "iterators", "list_shards": "listings"}


def draw(view: View, width: int, height: int, notice: str = "") -> Group:
    """The whole screen, as wide and as high as told."""
    notice = notice or (AHEAD_REMEDY if view.stats.held_ahead else "")
    lines = [_head(view, width), Text(), *_facts(view, width), Text()]
    why = f"{_holder(view)}: {view.held_why}" if view.held_why else ""
    notes = [told for told in (why, notice) if told]
    table = _table(view, width, max(2, height - len(lines) - 2 - len(notes)))
    return Group(*lines, table, *(Text(printable(told)[:width], "magenta") for told in notes))


def draw_line(view: View) -> str:
    """The same in a line, for logs."""
    moment = datetime.fromtimestamp(int(view.now), UTC)
    stats = view.stats
    return (
        f"{moment:%Y-%m-%dT%H:%M:%SZ}  {short_rate(view.rate)}  {stats.records} records  lag {view.lag_seconds:.0f} s  "
        f"{sum(view.calls.values()):.1f} calls/s  {stats.throttles} throttles  {stats.retries} retries  "
        f"{stats.waiting} waiting  held by {printable(stats.held_by or 'nothing')}{_why(view)}  "
        f"{stats.late} late  {stats.gaps} gaps"
    )


def _why(view: View) -> str:
    if view.held_why:
        return f" ({printable(view.held_why)})"
    ahead = view.stats.held_ahead
    return f", created {ahead:.0f} s ahead of the service's clock" if ahead else ""


def curve(counts: tuple[int, ...], cells: int) -> str:
    """A little curve of so many cells: the last seconds, each as high as it had records."""
    shown = counts[-cells:]
    most = max(shown, default=0)
    return "".join(" " if not count else CURVE[min(7, count * 8 // (most + 1))] for count in shown)


def _head(view: View, width: int) -> Text:
    moment = datetime.fromtimestamp(int(view.now), UTC)
    right = f"{moment:%H:%M:%S} UTC   up {short_time(view.up_seconds)}"
    left = printable(title_of(view.stream))[: max(8, width - len(right) - 2)]
    line = Text.assemble((left, "bold"), " " * (width - len(left) - len(right)), (right, "dim"))
    line.truncate(width, overflow="ellipsis")
    return line


def _facts(view: View, width: int) -> list[Text]:
    stats = view.stats
    lag = view.lag_seconds
    calls = "   ".join(f"{CALLS.get(kind, kind)} {rate:.1f}/s" for kind, rate in view.calls.items() if rate >= 0.05)
    held = "nothing"
    if stats.held_by:
        held = f"{_holder(view)} for {age(view.held_seconds)}"
    if stats.held_ahead:
        held = f"{_short(view, stats.held_by or '')}, created {age(stats.held_ahead)} ahead"
    is_narrow = width < NARROW_CELLS
    cells = max(10, min(60, width - (22 if is_narrow else 46)))
    left = [
        _pair("rate", short_rate(view.rate), "bold green"),
        _pair("lag", age(lag), "bold red" if lag > BEHIND_SECONDS else "bold"),
        _pair("throttles", f"{stats.throttles:,}", "bold red" if stats.throttles else "bold"),
        _pair("calls", f"{sum(view.calls.values()):.1f}/s", "bold"),
    ]
    right = [
        ("records", Text(f"{stats.records:,}").append(f"   {curve(view.history, cells)}", "green")),
        ("waiting", Text(f"{counted(stats.waiting, 'record')}, {_size(stats.waiting_bytes)}, held by {held}")),
        ("retries", Text(f"{stats.retries:,}   late {stats.late:,}   gaps {stats.gaps:,}")),
        ("of them", Text(calls)),
    ]
    if is_narrow:
        lines = [*left[:3], *(Text.assemble((f"{name:10}", "dim"), told) for name, told in right[:3]), left[3]]
    else:
        lines = [pair.append(f"{name:>12}  ").append(told) for pair, (name, told) in zip(left, right, strict=True)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _holder(view: View) -> str:
    held_by = view.stats.held_by or ""
    return "the listing" if held_by == LISTING else _short(view, held_by)


def _pair(name: str, value: str, look: str) -> Text:
    return Text.assemble((f"{name:10}", "dim"), (f"{value:>9}", look))


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.0f} kB"


def _short(view: View, shard_id: str) -> str:
    names = [row.name for family in view.families for row in (family.row, *family.shards)]
    return printable(short_names([*dict.fromkeys([*names, shard_id])])[shard_id])


def _table(view: View, width: int, rows: int) -> Table:
    """Families, and the shards that are read in each: those farthest behind first where there is no room for all."""
    table = Table(box=None, padding=(0, 1), header_style="bold", pad_edge=False)
    table.add_column("lineage", min_width=max(1, min(24, width - 48)), no_wrap=True, overflow="ellipsis")
    shown = ("rate", "lag") if width < NARROW_CELLS else ("shards", "rate", "records", "lag", "late")
    for name in shown:
        table.add_column(name, justify="right", no_wrap=True)
    names = short_names(
        list(dict.fromkeys(row.name for family in view.families for row in (family.row, *family.shards)))
    )
    room = rows - 1
    families = sorted(view.families, key=lambda family: -family.row.lag_seconds)
    left = sum(len(_rows(family)) for family in families)
    for family in families:
        for lead, row in _rows(family):
            if room <= (1 if left > room else 0):
                break
            _add(table, lead, row, names, shown)
            room -= 1
            left -= 1
    if left:
        table.add_row(Text(f"… {left} more", "dim"))
    return table


def _rows(family: Family) -> list[tuple[str, Row]]:
    shards = sorted(family.shards, key=lambda row: -row.lag_seconds)
    if len(shards) == 1 and shards[0].name == family.row.name:
        return [("", family.row)]
    return [("", family.row), *(("├╴" if row is not shards[-1] else "└╴", row) for row in shards)]


def _add(table: Table, lead: str, row: Row, names: dict[str, str], shown: tuple[str, ...]) -> None:
    is_behind = row.lag_seconds > BEHIND_SECONDS
    cells = {
        "shards": Text("" if lead else f"{row.shards}", "dim"),
        "rate": Text(short_rate(row.rate)),
        "records": Text(f"{row.records:,}"),
        "lag": Text(age(row.lag_seconds), "red" if is_behind else ""),
        "late": Text(f"{row.late:,}", "red" if row.late else "dim"),
    }
    table.add_row(Text.assemble((lead, "dim"), printable(names[row.name])), *(cells[name] for name in shown))
