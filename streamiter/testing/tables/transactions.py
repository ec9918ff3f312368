"""Transactions: several writes or reads, all or none; what stood against one is told for each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from streamiter.testing.expressions.values import Item
from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.tables.reads import Read, read_get
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.writes import Outcome, Write, check_write, judge, read_write

Body = Mapping[str, Any]
Find = Callable[[str], StoredTable]  # the table of a name; a refusal where there is none

_Part = TypeVar("_Part")
_Done = TypeVar("_Done")

MOST_BYTES = 4 * 1024 * 1024
_CODES = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "ValidationException": "ValidationError",
}


def read_actions(body: Body) -> list[tuple[str, Write]]:
    """The writes of a TransactWriteItems, with the names of their tables."""
    actions = body["TransactItems"]
    if not all(actions):
        raise invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
    if any(len(action) != 1 for action in actions):
        raise invalid("TransactItems can only contain one of Check, Put, Update or Delete")
    return [(inner["TableName"], read_write(kind, inner)) for action in actions for kind, inner in action.items()]


def judged(writes: Sequence[tuple[str, Write]], find: Find) -> list[tuple[StoredTable, Write, Outcome]]:
    """What each write makes of its item; a refusal that says which of them must not be."""
    placed = [(find(name), write) for name, write in writes]
    each(placed, lambda table, write: check_write(write, table))
    check_distinct([(table, write.image) for table, write in placed])
    return each(placed, lambda table, write: (table, write, judge(write, table)))


def each(placed: Sequence[tuple[StoredTable, _Part]], do: Callable[[StoredTable, _Part], _Done]) -> list[_Done]:
    """What comes of each part of a transaction; a refusal that says for each of them what stands against it, if anything."""
    done: list[_Done] = []
    reasons: list[dict[str, Any]] = []
    for table, part in placed:
        try:
            done.append(do(table, part))
            reasons.append({"Code": "None"})
        except Refusal as refusal:
            if refusal.name not in _CODES:
                raise
            reasons.append(_reason(refusal))
    if len(done) < len(placed):
        raise cancelled(reasons)
    return done


def check_distinct(places: Sequence[tuple[StoredTable, Item]]) -> None:
    """A transaction does one thing with an item."""
    if len({(table.name, table.items.packed_key(image)) for table, image in places}) < len(places):
        raise invalid("Transaction request cannot include multiple operations on one item")


def read_gets(body: Body) -> list[tuple[str, Read]]:
    """The reads of a TransactGetItems."""
    gets = [item["Get"] for item in body["TransactItems"]]
    return [(get["TableName"], read_get(get, is_consistent=True)) for get in gets]


def cancelled(reasons: list[dict[str, Any]]) -> Refusal:
    """The refusal of a transaction, for these reasons."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    return Refusal(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        CancellationReasons=reasons,
    )


def _reason(refusal: Refusal) -> dict[str, Any]:
    item: dict[str, Item] = {"Item": refusal.more["Item"]} if "Item" in refusal.more else {}
    return {"Code": _CODES[refusal.name], "Message": refusal.message} | item
