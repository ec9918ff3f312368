"""docs/operating.md leaves out nothing that can be watched: each number, event, error, instrument and logger is in it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import streamiter
from streamiter import Event, Stats, errors
from streamiter.metrics import INSTRUMENTS, app
from streamiter.metrics.instruments import CALLS, GAPS_FOUND, PROGRESS

PAGE = (Path(__file__).parent.parent / "docs/operating.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
FIRST_CELLS = [row[0] for row in ROWS]

# What a caller does not meet while reading, or not as itself.
ELSEWHERE = {"StreamiterError", "SourceError", "InvalidOption", "InvalidPosition", "MissingExtra"}


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Stats)])
def test_each_number_of_the_stats_is_explained(field):
    assert FIRST_CELLS.count(f"`stats.{field}`") == 1


@pytest.mark.parametrize("kind", [kind.__name__ for kind in Event.__subclasses__()])
def test_each_event_is_explained(kind):
    assert FIRST_CELLS.count(f"`{kind}`") == 1


def test_each_error_that_reading_may_raise_has_its_remedy():
    public = {name for name in dir(streamiter) if isinstance(getattr(errors, name, None), type)}
    for name in public - ELSEWHERE:
        rows = [row for row in ROWS if row[0].startswith(f"`{name}`")]
        assert rows, name
        assert all(len(row) == 3 and all(row) for row in rows), name


def test_each_instrument_is_told_with_its_kind_and_unit():
    told = {row[0]: (row[1], row[2].strip("`")) for row in ROWS if row[0].startswith("`streamiter.") and len(row) == 4}
    instruments = {instrument.name: (instrument.kind, instrument.unit) for instrument in INSTRUMENTS}
    instruments |= {CALLS[0]: ("counter", CALLS[1]), GAPS_FOUND[0]: ("counter", GAPS_FOUND[1])}
    instruments |= {PROGRESS[0]: ("gauge", PROGRESS[1])}
    instruments |= {name: ("counter", unit) for name, unit, _ in app.COUNTERS}
    instruments |= {name: ("gauge", unit) for name, unit, _ in app.GAUGES}
    assert {name.strip("`"): what for name, what in told.items() if what[0] in ("counter", "gauge")} == instruments


def test_an_instrument_names_the_number_that_it_shows():
    for instrument in INSTRUMENTS:
        (row,) = [row for row in ROWS if row[0] == f"`{instrument.name}`"]
        assert f"`stats.{instrument.field}`" in row[3]


def test_the_loggers_are_told():
    assert {"`streamiter.stream`", "`streamiter.source`", "`streamiter.app`", "`streamiter.cli`"} <= set(FIRST_CELLS)


def test_the_hours_of_the_page_are_those_of_the_source():
    assert streamiter.DynamoDBStreams.retention_us == 24 * 3600 * 1_000_000
    assert re.search(r"holds records for 24 hours", PAGE)
