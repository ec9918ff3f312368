"""Lines: a file's values one by one, as JSON lines or rows of CSV, each with the line that it begins in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import IO, NamedTuple

from streamiter.topic.codec import Misfit

FORMATS = ("jsonl", "csv")
BOM = b"\xef\xbb\xbf"

Value = bytes | dict[str, str] | Misfit


class Line(NamedTuple):
    """A value as it stands in the file, or why there is none; and the line in which it begins, from 1."""

    number: int
    value: Value


def format_of(name: str, typed: str | None) -> str:
    """What was typed; else by the file's ending. A pipe has JSON lines."""
    return typed or ("csv" if name.lower().endswith(".csv") else "jsonl")


def lines_of(file: IO[bytes], format_name: str) -> Iterator[Line]:
    """The file's values. Lines without anything in them are none."""
    return _rows(file) if format_name == "csv" else _json_lines(file)


def _json_lines(file: IO[bytes]) -> Iterator[Line]:
    for number, line in enumerate(file, 1):
        text = line.removeprefix(BOM).strip() if number == 1 else line.strip()
        if text:
            yield Line(number, text)


def _rows(file: IO[bytes]) -> Iterator[Line]:
    # What is no UTF-8 is told where it stands, and not by an end of all reading.
    text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text, strict=True)
    names: list[str] | None = None
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield Line(number, Misfit(f"it is no row of CSV: {error}"))
            continue
        if cells is None:
            return
        if names is None:
            names = _header(cells)
        elif cells:
            yield Line(number, _row(names, cells))


def _header(cells: list[str]) -> list[str]:
    twice = [name for name in cells if cells.count(name) > 1]
    if twice or not all(cells):
        told = f"{twice[0]!r} stands there twice" if twice and twice[0] else "a name is empty"
        raise Misfit(f"its first line is the names of the columns, and {told}")
    return cells


def _row(names: list[str], cells: list[str]) -> Value:
    if len(cells) != len(names):
        return Misfit(f"it has {len(cells)} cells, and the first line has {len(names)}")
    for name, cell in zip(names, cells, strict=True):
        if not cell.isascii() and any("\udc80" <= character <= "\udcff" for character in cell):
            return Misfit("it is not UTF-8", name)
    return {name: cell for name, cell in zip(names, cells, strict=True) if cell}
