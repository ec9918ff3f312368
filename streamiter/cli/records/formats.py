"""Formats: records as the bytes of a file: Parquet, JSON lines or CSV, with the columns that Arrow and Spark see, too."""

from __future__ import annotations

import csv
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from io import BytesIO, StringIO
from typing import Any

import msgspec

from streamiter.cli.checks.survey import moment
from streamiter.clock import SECOND_US
from streamiter.errors import MissingExtra
from streamiter.record import Record
from streamiter.stream.table import columns, records_to_table

Write = Callable[[Sequence[Record], str, type[Record]], bytes]

# These columns hold JSON; in JSON lines they are not text, but what the text says.
JSON_COLUMNS = ("keys", "new_image", "old_image", "user_identity", "headers")


def to_parquet(records: Sequence[Record], stream: str, record_type: type[Record]) -> bytes:
    """A Parquet file. Images are DynamoDB's JSON text."""
    table = records_to_table(records, stream, record_type)
    from pyarrow import parquet

    out = BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def to_json_lines(records: Sequence[Record], stream: str, record_type: type[Record]) -> bytes:
    """An object a line. Images are DynamoDB's JSON, just as it came: nothing is rounded, no type is lost."""
    names, rows = _rows(records, stream, record_type, lambda text: msgspec.Raw(text))
    return b"".join(_encode(dict(zip(names, row, strict=True))) + b"\n" for row in rows)


def to_csv(records: Sequence[Record], stream: str, record_type: type[Record]) -> bytes:
    """A file with a line of headings. Images are DynamoDB's JSON text."""
    names, rows = _rows(records, stream, record_type, bytes.decode)
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue().encode()


def check_format(name: str) -> None:
    """Says what is missing, before anything is read."""
    if name == "parquet":
        try:
            import_module("pyarrow.parquet")
        except ImportError as error:
            raise MissingExtra("pyarrow", "arrow") from error


FORMATS: dict[str, tuple[str, Write]] = {
    "parquet": ("parquet", to_parquet),
    "jsonl": ("jsonl", to_json_lines),
    "csv": ("csv", to_csv),
}

_encode = msgspec.json.Encoder().encode


def _rows(
    records: Sequence[Record], stream: str, record_type: type[Record], json: Callable[[bytes], Any]
) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """The columns' names, and the rows: times in ISO 8601, bytes in base64, JSON as `json` has it."""
    told = columns(records, stream, record_type)
    values = [_written(name, kind, found, json) for name, kind, found in told]
    return [name for name, _, _ in told], zip(*values, strict=True)


def _written(name: str, kind: str, values: list[Any], json: Callable[[bytes], Any]) -> list[Any]:
    write: Callable[[Any], Any]
    if kind == "time":
        write = _moment
    elif kind == "bytes":
        write = _base64
    elif name in JSON_COLUMNS:
        write = partial(_told, json)
    else:
        return values
    return [None if value is None else write(value) for value in values]


def _told(json: Callable[[bytes], Any], text: str | bytes) -> Any:
    return json(text if isinstance(text, bytes) else text.encode())


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


def _moment(time_us: int) -> str:
    return moment(time_us).strftime("%Y-%m-%dT%H:%M:%S") + f".{time_us % SECOND_US:06d}Z"
