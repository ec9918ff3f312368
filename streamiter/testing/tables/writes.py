"""Writes: one item put, updated, deleted or only checked: read from a request, judged against the item, then done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streamiter.testing.expressions.evaluating import meets, projected
from streamiter.testing.expressions.terms import Condition, Update
from streamiter.testing.expressions.updating import WRONG_TYPE, updated
from streamiter.testing.expressions.values import Item
from streamiter.testing.http.refusal import Refusal, invalid, wrong_value
from streamiter.testing.tables.changes import Change
from streamiter.testing.tables.requests import UPDATE, WRITE, Asked
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.values import read_item
from streamiter.testing.truth.images import is_same, size_of
from streamiter.testing.truth.records import PackedImages

Body = Mapping[str, Any]

MOST_BYTES = 400 * 1024
_TAKES_AWAY = ("REMOVE", "DELETE")


class Write(NamedTuple):
    """What a request asks of one item; it says so whether there is such a table or not."""

    kind: str  # Put, Update, Delete or ConditionCheck
    image: Item  # the item to put, or the key
    condition: Condition | None
    update: Update = ()
    is_legacy: bool = False
    tells_on_failure: bool = False

    @property
    def only_takes_away(self) -> bool:
        """Whether it only removes or deletes attributes: it makes no item where there is none."""
        return bool(self.update) and all(change.clause in _TAKES_AWAY for change in self.update)


class Outcome(NamedTuple):
    """What becomes of an item."""

    key: bytes
    old: Item | None
    new: Item | None


def read_write(kind: str, body: Body) -> Write:
    """A write, as a request has it; a refusal where it is none."""
    if kind == "Put" and not WRITE.are_in(body):
        return Write(kind, _read_image(kind, body), None, is_legacy=True, tells_on_failure=_tells_on_failure(body))
    asked = Asked(body, UPDATE if kind == "Update" else WRITE)
    image = _read_image(kind, body)
    update = asked.update() if kind == "Update" else ()
    condition = asked.condition()
    asked.finish()
    return Write(kind, image, condition, update, "UpdateExpression" not in body, _tells_on_failure(body))


def check_write(write: Write, table: StoredTable) -> None:
    """Refuses a write that cannot be this table's."""
    if write.kind == "Put":
        table.schema.check_item(write.image)
        return
    table.schema.check_key(write.image)
    for change in write.update:
        name = change.path.steps[0]
        if name in table.schema.keys:
            raise wrong_value(f"Cannot update attribute {name}. This attribute is part of the key")


def judge(write: Write, table: StoredTable) -> Outcome:
    """What the write makes of its item, as that is now; a refusal where it must not, or cannot."""
    key = table.items.packed_key(write.image)
    old = table.items.at(key)
    if write.condition is not None and not meets(old or {}, write.condition):
        item: dict[str, Any] = {"Item": old} if write.tells_on_failure and old is not None else {}
        raise Refusal("ConditionalCheckFailedException", "The conditional request failed", **item)
    return Outcome(key, old, _becomes(write, table, old))


def commit(table: StoredTable, outcome: Outcome) -> Change | None:
    """Does it; None: nothing changed."""
    key, old, new = outcome
    if is_same(old, new):
        return None
    before = None if old is None else table.items.stored(key)
    after = None
    if new is not None:
        after = table.items.put(key, new, old)
    elif old is not None:
        table.items.delete(key, old)
    image = table.schema.key_of(new or old or {})
    return Change(table.name, image, old, new, PackedImages(key, after, before))


def returned(body: Body, write: Write, outcome: Outcome) -> dict[str, Any]:
    """The attributes that a write's answer has, as ReturnValues says."""
    which = body.get("ReturnValues", "NONE")
    item = outcome.old if which.endswith("OLD") else outcome.new
    if which == "NONE" or item is None:
        return {}
    if which.startswith("UPDATED"):
        item = projected(item, [change.path for change in write.update])
    return {"Attributes": item} if item else {}


def _read_image(kind: str, body: Body) -> Item:
    image = read_item(body["Item" if kind == "Put" else "Key"])
    _check_returns(kind, body)
    if kind == "Put" and size_of(image) > MOST_BYTES:
        raise invalid("Item size has exceeded the maximum allowed size")
    return image


def _tells_on_failure(body: Body) -> bool:
    return body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def _check_returns(kind: str, body: Body) -> None:
    """ReturnValues is for updates; a put and a delete have the old item, or nothing."""
    if kind != "Update" and body.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        raise invalid("ReturnValues can only be ALL_OLD or NONE")


def _becomes(write: Write, table: StoredTable, old: Item | None) -> Item | None:
    if write.kind in ("Put", "Delete"):
        return write.image if write.kind == "Put" else None
    if write.kind == "ConditionCheck":
        return old
    try:
        new = updated(write.image if old is None else old, write.update)
    except Refusal as refusal:
        if write.is_legacy and refusal.message == WRONG_TYPE:
            raise invalid("Type mismatch for attribute to update") from None
        raise
    if old is None and write.only_takes_away:
        return None
    if write.is_legacy:
        table.schema.check_item(new)
    else:
        table.schema.check_updated(new)
    if size_of(new) > MOST_BYTES:
        raise invalid("Item size to update has exceeded the maximum allowed size")
    return new
