"""The screen of `streamiter top --store`: what a sight shows, in lines; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from streamiter.cli.fleet.sight import LeaseRow, ProcessorView, WorkerRow
from streamiter.cli.fleet.states import DONE, FREE, HELD, LEAVING, TROUBLES
from streamiter.cli.moments import age
from streamiter.cli.pictures.tree import counted
from streamiter.terminal import Span

SILENT_SECONDS = 10.0  # worth a colour: by default the others take its leases by now
BEHIND_SECONDS = 60.0
_WORKER_HEADINGS = ("worker", "leases", "records/s", "lag", "stuck", "last sign")
_LEASE_HEADINGS = ("lease", "state", "owner", "since", "records/s", "lag", "busy")
_ORDER = (HELD, LEAVING, FREE, *TROUBLES, DONE)
Line = list[Span]


def draw(views: Sequence[ProcessorView], most_lines: int | None = None) -> list[Line]:
    """All processors. Where there is no room, leases are left out that run well, and it says how many."""
    heads = [[*_head(view), *_workers(view)] for view in views]
    room = None if most_lines is None else most_lines - sum(len(head) + 3 for head in heads)
    lines: list[Line] = []
    for view, head in zip(views, heads, strict=True):
        share = len(view.leases) if room is None else min(len(view.leases), max(1, room // len(views)))
        shown, left = view.leases[:share], len(view.leases) - share
        lines += [[Span("")]] * bool(lines) + head
        lines += _table(_LEASE_HEADINGS, [_lease(row) for row in shown]) if shown else []
        lines += [[Span(f"… {left} more", "dim")]] if left else []
    return lines


def draw_line(view: ProcessorView, now: float) -> str:
    """A processor in a line, for logs."""
    moment = datetime.fromtimestamp(int(now), UTC)
    states = "  ".join(f"{count} {state}" for state, count in _states(view))
    return (
        f"{moment:%Y-%m-%dT%H:%M:%SZ}  {view.app}/{view.processor}  {counted(len(view.workers), 'worker')}  "
        f"{states or 'no leases'}  {view.acked} records  {view.rate:.1f}/s  lag {_seconds(view.lag_seconds) or '?'}"
    )


def _head(view: ProcessorView) -> list[Line]:
    lag = view.lag_seconds or 0.0
    line = [Span(f"{view.app} / {view.processor}", "bold"), Span("   ")]
    for state, count in _states(view):
        line.append(Span(f"{count} {state}  ", "bad" if state in TROUBLES else ""))
    line.append(Span(f" {view.rate:,.1f} records/s   {view.acked:,} records   "))
    if view.lag_seconds is not None:
        line.append(Span(f"lag {age(lag)}", "bad" if lag > BEHIND_SECONDS else ""))
    return [line]


def _workers(view: ProcessorView) -> list[Line]:
    if not view.workers:
        return [[Span("  no workers", "bad" if view.leases else "dim")]]
    return _table(_WORKER_HEADINGS, [_worker(row) for row in view.workers])


def _states(view: ProcessorView) -> Iterator[tuple[str, int]]:
    return ((state, view.states[state]) for state in _ORDER if view.states.get(state))


def _worker(row: WorkerRow) -> tuple[tuple[str, ...], str]:
    silent = row.silent_seconds or 0.0
    sign = "leaving" if row.is_leaving else "" if row.silent_seconds is None else f"{age(silent)} ago"
    cells = (row.worker, str(row.leases), f"{row.rate:,.1f}", _seconds(row.lag_seconds), str(row.stuck or ""), sign)
    return cells, "bad" if row.stuck or silent >= SILENT_SECONDS else ""


def _lease(row: LeaseRow) -> tuple[tuple[str, ...], str]:
    cells = (
        row.lease,
        row.state,
        row.owner or "",
        _seconds(row.held_seconds),
        "" if row.rate is None else f"{row.rate:,.1f}",
        _seconds(row.lag_seconds),
        _seconds(row.busy_seconds),
    )
    return cells, "bad" if row.state in TROUBLES else ""


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else age(seconds)


def _table(headings: Sequence[str], rows: Sequence[tuple[tuple[str, ...], str]]) -> list[Line]:
    widths = [
        max(len(row[column]) for row in (headings, *(cells for cells, _ in rows))) for column in range(len(headings))
    ]
    lines = []
    for cells, look in ((headings, "dim"), *rows):
        text = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        lines.append([Span(f"  {text}", look)])
    return lines
