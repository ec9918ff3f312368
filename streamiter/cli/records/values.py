"""Values: what records hold, as a person reads it in a line, or a program in JSON; pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import arrow
import msgspec

from streamiter.record import ChangeRecord, Record
from streamiter.where.parts import event_of, key_of, payload_of

_WORD_ENDS = set(" =,\"'{}[]()")
_MISSING = object()

Change = tuple[str, Any, Any]  # the attribute's name, its old and its new value; MISSING where it was or is not there


def is_missing(value: Any) -> bool:
    """Whether a change has no value on this side."""
    return value is _MISSING


def text_of(value: Any, *, quotes_all: bool = False) -> str:
    """A value in a few words: `placed`, `"two words"`, `4.90`, `{a: 1}`, `<5 bytes aGVsbG8=>`; if told, each text in quotes."""
    if isinstance(value, str):
        is_word = (
            not quotes_all and value and not _WORD_ENDS.intersection(value) and value not in ("true", "false", "null")
        )
        return value if is_word else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Decimal):
        return f"{value:f}" if -20 < value.adjusted() < 40 else str(value)
    if isinstance(value, bytes):
        return f"<{len(value)} bytes {b64encode(value[:24]).decode()}{'…' if len(value) > 24 else ''}>"
    part_text = partial(text_of, quotes_all=quotes_all)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{text_of(name)}: {part_text(part)}" for name, part in value.items()) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(part_text, value))) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(part_text, value)) + "]"
    return str(value)


def changes(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, path: str = "") -> Iterator[Change]:
    """What is different between two images, down into maps: the path, old and new value."""
    old, new = old or {}, new or {}
    for name in (*new, *(name for name in old if name not in new)):
        before, after = old.get(name, _MISSING), new.get(name, _MISSING)
        if isinstance(before, dict) and isinstance(after, dict) and before and after:
            yield from changes(before, after, f"{path}{name}.")
        elif before is _MISSING or after is _MISSING or before != after:
            yield f"{path}{name}", before, after


def to_json(record: Record) -> str:
    """The record as an object in one line; numbers keep their digits, bytes become base64, sets sorted lists."""
    told: dict[str, Any] = {"event": event_of(record) or None, "key": key_of(record)}
    if isinstance(record, ChangeRecord):
        told |= {"new": record.new, "old": record.old}
        if record.user_identity:
            told["user_identity"] = record.user_identity
    else:
        told |= {"payload": payload_of(record)}
    return _written(told | _where(record))


def unreadable_json(record: Record, error: Exception) -> str:
    """The line of a record that cannot be decoded: its shard and number, by which it can be found."""
    return _written({"event": event_of(record) or None, "error": type(error).__name__} | _where(record))


def _where(record: Record) -> dict[str, Any]:
    created = record.created_at
    return {
        "created_at": None if created is None else _exact(created),
        "shard_id": record.shard_id,
        "sequence_number": record.sequence_number,
        "order_key": record.order_key,
        "clock": record.clock,
        "late": record.late,
    }


def _exact(moment: arrow.Arrow) -> str:
    """As exact as the service told it: DynamoDB Streams to the second, others finer."""
    return moment.format("YYYY-MM-DDTHH:mm:ss.SSSSSS[Z]" if moment.microsecond else "YYYY-MM-DDTHH:mm:ss[Z]")


def _written(told: dict[str, Any]) -> str:
    return escape_json(_encoder.encode(_sorted(told)).decode())


def _sorted(value: Any) -> Any:
    """With sets as sorted lists: the same record is the same line, in each run."""
    if isinstance(value, dict):
        return {name: _sorted(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_sorted(part) for part in value]
    return sorted(value) if isinstance(value, set | frozenset) else value


def escape_json(text: str) -> str:
    r"""JSON whose texts hold nothing that could steer a terminal: ESC and its like as \u001b, also signs that turn it."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _unicode_escape(character) for character in text)


def _unicode_escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _plain(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=_plain)
