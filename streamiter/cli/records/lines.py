"""Lines: a record in a line that a person reads: when, what, which row, and what changed in it; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamiter.cli.records.values import changes, is_missing, text_of
from streamiter.cli.terminal.paint import cut
from streamiter.record import ChangeRecord, Record
from streamiter.terminal import Span
from streamiter.where.parts import event_of, key_of, payload_of

Line = list[Span]

EVENT_LOOKS = {"INSERT": "good", "MODIFY": "name", "REMOVE": "bad"}
LONGEST_VALUE = 48  # cells of one value, where not everything is to be shown


def record_line(record: Record, *, dated: bool, most: int | None = LONGEST_VALUE) -> Line:
    """The line of a record. `dated`: with its date. `most`: no value is longer than so many cells."""
    event = event_of(record)
    return [
        Span(f"{_when(record, dated)}  ", "dim"),
        *([Span(f"{event:6}  ", EVENT_LOOKS.get(event, ""))] if event or isinstance(record, ChangeRecord) else []),
        Span(_key(record), "key"),
        *([Span("  late", "note")] if record.late else []),
        *_what(record, most),
    ]


def unreadable_line(record: Record, error: Exception, *, dated: bool) -> Line:
    """The line of a record that cannot be decoded: its shard and number, by which it can be found."""
    event = event_of(record)
    return [
        Span(f"{_when(record, dated)}  ", "dim"),
        Span(f"{event:6}  ", EVENT_LOOKS.get(event, "")),
        Span(f"record {record.sequence_number} of {record.shard_id} cannot be read: {type(error).__name__}", "bad"),
    ]


def day_of(record: Record) -> str:
    """The day of its creation, for a line between two days."""
    return "" if record.created_at is None else record.created_at.format("YYYY-MM-DD")


def _when(record: Record, dated: bool) -> str:
    if record.created_at is None:
        return " " * (20 if dated else 8)
    return record.created_at.format("YYYY-MM-DDTHH:mm:ss[Z]" if dated else "HH:mm:ss")


def _key(record: Record) -> str:
    key = key_of(record)
    if len(key) == 1:
        return text_of(next(iter(key.values())))
    return " ".join(f"{name}={text_of(value)}" for name, value in key.items())


def _what(record: Record, most: int | None) -> Iterator[Span]:
    if not isinstance(record, ChangeRecord):
        payload = payload_of(record)
        if payload is not None:
            yield Span("  " + _payload(payload, most))
        return
    if record.event_name == "REMOVE" and record.user_identity:
        yield Span("  by its time to live", "note")
    key = record.key or {}
    if record.event_name == "MODIFY" and record.old is not None and record.new is not None:
        for name, old, new in changes(record.old, record.new):
            yield from _change(name, old, new, most)
        return
    look = "dim" if record.new is None else ""
    for name, value in (record.new or record.old or {}).items():
        if name not in key:
            yield Span(f"  {_name(name)}=", "dim")
            yield Span(_value(value, most), look)


def _change(name: str, old: Any, new: Any, most: int | None) -> Iterator[Span]:
    yield Span(f"  {_name(name)}", "dim")
    if is_missing(old):
        yield Span("=", "dim")
        yield Span(_value(new, most), "good")
    elif is_missing(new):
        yield Span("=", "dim")
        yield Span(_value(old, most), "bad")
        yield Span(" gone", "dim")
    else:
        looks_alike = text_of(old) == text_of(new)  # a number that became a text: 1 → "1"
        yield Span(": ", "dim")
        yield Span(_value(old, most, quotes_all=looks_alike), "bad")
        yield Span(" → ", "dim")
        yield Span(_value(new, most, quotes_all=looks_alike), "good")


def _name(name: str) -> str:
    return text_of(name)


def _value(value: Any, most: int | None, *, quotes_all: bool = False) -> str:
    text = text_of(value, quotes_all=quotes_all)
    return text if most is None else cut(text, most)


def _payload(payload: Any, most: int | None) -> str:
    if isinstance(payload, bytes):
        try:
            payload = payload.decode()
        except UnicodeDecodeError:
            return text_of(payload)
        return payload if most is None else cut(payload, 4 * most)
    return _value(payload, None if most is None else 4 * most)
