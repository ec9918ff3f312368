"""Fields: what `--where` can name of a record, and which kinds of records have it; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from streamiter.log.record import LogRecord
from streamiter.record import ChangeRecord, Record
from streamiter.where.parts import event_of, key_of, payload_of

# Each name, and how it is written: alone, or with a part of it.
NAMES: dict[str, tuple[str, ...]] = {
    "event": ("event",),
    "key": ("key", "key.NAME"),
    "new": ("new.NAME",),
    "old": ("old.NAME",),
    "payload": ("payload", "payload.NAME"),
    "shard": ("shard",),
    "late": ("late",),
}
_OF_CHANGES = ("event", "new", "old")
# Which images each of DynamoDB's view types brings.
_IMAGES: dict[str, tuple[str, ...]] = {
    "KEYS_ONLY": (),
    "NEW_IMAGE": ("new",),
    "OLD_IMAGE": ("old",),
    "NEW_AND_OLD_IMAGES": ("new", "old"),
}


class Field(NamedTuple):
    """A name, and the parts of it that are asked for: `new.address.city`."""

    name: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.name, *self.path))


def why_not_in(field: Field, view_type: str | None) -> str | None:
    """Why no record of a stream with this view type has the field; None where they have it, or the view type is unknown."""
    images = _IMAGES.get(view_type or "")
    if field.name not in ("new", "old") or images is None or field.name in images:
        return None
    has = f"only '{images[0]}'" if images else "neither 'new' nor 'old', but only the row's key"
    return f"this stream's view type is {view_type}: its records have {has}, never '{field.name}'"


def why_not_of(field: Field, record_type: type[Record]) -> str | None:
    """Why no record of this type has the field; None where they have it."""
    has = f"{', '.join(told for name in NAMES for told in NAMES[name] if name not in _lacks(record_type))}"
    if issubclass(record_type, ChangeRecord):
        return f"changes of rows have no payload; they have {has}" if field.name == "payload" else None
    if field.name in _OF_CHANGES:
        return (
            f"this stream's records are payloads, not changes of rows, and have no '{field.name}'; they have {has}. "
            "Where DynamoDB writes a table's changes to it, say so: kinesis://STREAM?records=dynamodb"
        )
    own = "key" if issubclass(record_type, LogRecord) else "partition_key"
    if field.name == "key" and field.path and field.path != (own,):
        return f"this stream's records have one key{'' if own == 'key' else ', their partition key'}: write 'key'"
    return None


def _lacks(record_type: type[Record]) -> tuple[str, ...]:
    return ("payload",) if issubclass(record_type, ChangeRecord) else _OF_CHANGES


def read_field(record: Record, field: Field) -> Iterator[Any]:
    """The values that a field stands for: none where there is no such thing, several for `key` alone."""
    name, path = field
    if name == "event":
        yield event_of(record)
    elif name == "shard":
        yield record.shard_id
    elif name == "late":
        yield record.late
    elif name == "payload":
        payload = _payload(record, is_json=bool(path))
        yield from () if payload is None else _reach(payload, path)
    elif name == "key" and not path:
        yield from key_of(record).values()
    else:
        image = key_of(record) if name == "key" else getattr(record, name) if isinstance(record, ChangeRecord) else None
        yield from () if image is None else _reach(image, path)


def names_in(record: Record) -> Iterator[str]:
    """The attributes that a record has, as they are written: `new.status`."""
    if not isinstance(record, ChangeRecord):
        return
    for name, image in (("key", record.key), ("new", record.new), ("old", record.old)):
        for attribute in image or ():
            yield f"{name}.{attribute}"


def _payload(record: Record, *, is_json: bool) -> Any:
    """A payload as text, or what its JSON says; nothing where it is neither."""
    payload = payload_of(record)
    try:
        text = payload.decode() if isinstance(payload, bytes) else payload
        return json.loads(text, parse_float=Decimal) if is_json else text
    except (ValueError, RecursionError, TypeError):
        return None


def _reach(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    for name in path:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return
    yield value
