"""Reads: items by their keys, one or a hundred."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from streamiter.testing.expressions.evaluating import projected
from streamiter.testing.expressions.terms import Path
from streamiter.testing.expressions.values import Item
from streamiter.testing.http.refusal import invalid
from streamiter.testing.tables.capacity import read_units
from streamiter.testing.tables.requests import GET, Asked
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.values import read_item
from streamiter.testing.truth.images import size_of

Body = Mapping[str, Any]

MOST_KEYS = 100
PAGE_BYTES = 16 * 1024 * 1024


class Read(NamedTuple):
    """What a request asks of some items, whether there is such a table or not."""

    keys: list[Item]
    projection: tuple[Path, ...] | None
    is_consistent: bool


def read_get(body: Body, *, is_consistent: bool | None = None) -> Read:
    """GetItem, or one Get of a transaction."""
    asked = Asked(body, GET)
    key = read_item(body["Key"])
    projection = asked.projection()
    asked.finish()
    return Read([key], projection, bool(body.get("ConsistentRead")) if is_consistent is None else is_consistent)


def read_gets(body: Body) -> Read:
    """One table's part of a BatchGetItem."""
    asked = Asked(body, GET)
    keys = list(map(read_item, body["Keys"]))
    projection = asked.projection()
    asked.finish()
    if len({msgspec.json.encode(key, order="sorted") for key in keys}) < len(keys):
        raise invalid("Provided list of item keys contains duplicates")
    return Read(keys, projection, bool(body.get("ConsistentRead")))


class Found(NamedTuple):
    """An item that was looked for, as it was asked for, and what that took."""

    item: Item | None
    size: int
    units: float


def look_up(read: Read, key: Item, table: StoredTable) -> Found:
    """The item of one key."""
    table.schema.check_key(key)
    item = table.items.get(key)
    size = size_of(item or {})
    units = read_units(size, is_consistent=read.is_consistent)
    if item is not None and read.projection is not None:
        item = projected(item, read.projection)
    return Found(item, size, units)
