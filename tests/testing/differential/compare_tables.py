"""Comparing tables: the same calls at two services; where one took a write that the other refused, both go on from ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.testing.differential.compare import Findings
from tests.testing.differential.known import INVALID, MINISTACK, Known
from tests.testing.differential.services import Service
from tests.testing.differential.table_calls import Draw, TableCall, asked, make_table
from tests.testing.differential.table_mistakes import KEY, TABLE_MISTAKES

_REFUSED = {"status": 400, "error": "ValidationException"}


def _false(theirs: Any, ours: Any) -> Any:
    """Where they refuse, what we give."""
    return ours if theirs == _REFUSED else theirs


def _cancelled(theirs: Any, ours: Any) -> Any:
    return ours if ours == {"status": 400, "error": "TransactionCanceledException"} else theirs


def _ours(_: Any, ours: Any) -> Any:
    return ours


def _touched(theirs: Any, ours: Any) -> Any:
    """Where they tell all of a map that was changed in part, what we tell, if that is a part of it."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() >= ours.keys():
        whole, part = theirs.get("Attributes"), ours.get("Attributes", {})
        if isinstance(whole, dict) and _is_within(part, whole):
            return ours
    return theirs


def _is_within(part: Any, whole: Any) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _is_within(inner, whole[name]) for name, inner in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return all(element in whole for element in part)
    return bool(part == whole)


TABLES_KNOWN: list[Known] = [
    Known(MINISTACK, "ministack refuses begins_with of what is neither text nor binary", ".* begins_with.*", _false),
    Known(MINISTACK, "ministack knows a size of numbers, truths and nulls", ".* size", _ours),
    Known(MINISTACK, "ministack filters by attributes that an index does not have", "query: g = .*", _ours),
    Known(MINISTACK, "ministack returns all of what was updated in part", "update: .*, UPDATED_.*", _touched),
    Known(MINISTACK, "ministack takes updates of places that are not there", "update: (SET|REMOVE) .*", INVALID),
    Known(
        MINISTACK,
        "ministack takes expressions that the grammar forbids",
        "(get|put|update|scan|query)(_item)?: (an empty projection|a condition on itself|a clause twice|a path twice"
        "|a text plus one|OR|bounds of two types|an unknown type)",
        INVALID,
    ),
    Known(
        MINISTACK,
        "ministack takes older conditions that contradict themselves",
        "(put|update|scan)(_item)?: (Exists without a value|a value that must not exist|an operator without a condition"
        "|PUT without a value|too many arguments)",
        INVALID,
    ),
    Known(
        MINISTACK,
        "ministack takes what a Query cannot ask of its keys and indexes",
        "query: (a key filtered|all of an index of keys)",
        INVALID,
    ),
    Known(
        MINISTACK,
        "ministack takes keys and attributes that are named twice, in part or not at all",
        "get_item: an attribute twice|batch_get_item: (no keys|a key twice)",
        INVALID,
    ),
    Known(
        MINISTACK,
        "ministack takes a transaction with an item that does not fit its table",
        "transact_(get|write)_items: (half a key|a key of another type|no key|an index key of another type|a key changed)",
        _cancelled,
    ),
    Known(MINISTACK, "ministack takes a transaction whose check fails", "transact.*: a check that fails", _cancelled),
]


def compare_tables(ours: Service, theirs: Service, *, seed: int, count: int) -> Findings:
    """Random calls, then mistakes."""
    found = Findings(theirs.name)
    table = f"things{seed}"
    for service in (ours, theirs):
        make_table(service, table)
    for call in Draw(seed).calls(count):
        _compare(ours, theirs, table, call, found)
    for service in (ours, theirs):
        item = {**KEY, "n": {"N": "3"}, "s": {"S": "abc"}}
        service.tables.put_item(TableName=table, Item=item)
    for call in TABLE_MISTAKES:
        mine = _compare(ours, theirs, table, call, found)
        if "error" not in mine:
            found.unexplained.append(f"{call.label}: taken, as if it were none: {mine}")
    return found


def _compare(ours: Service, theirs: Service, table: str, call: TableCall, found: Findings) -> Any:
    mine, other = (asked(service, table, call) for service in (ours, theirs))
    found.compared += 1
    amended, titles = _amended(_label(call), mine, other)
    found.explained.update(titles)
    if amended != mine:
        found.unexplained.append(f"{call.label}, {call.body}: {mine} and {other}")
    if mine != other and call.operation in ("put_item", "update_item", "delete_item"):
        _go_on_from(ours, theirs, table, call)
    return mine


def _label(call: TableCall) -> str:
    """The call's label, and the functions in its expressions of which something is known."""
    texts = " ".join(str(text) for name, text in call.body.items() if name.endswith("Expression"))
    return " ".join([call.label, *(name for name in ("begins_with", "size") if f"{name}(" in texts)])


def _amended(label: str, mine: Any, other: Any) -> tuple[Any, Sequence[str]]:
    for known in TABLES_KNOWN:
        if mine != other and re.fullmatch(known.steps, label):
            amended = known.amend(other, mine)
            if amended != other:
                return amended, [known.title]
    return other, []


def _go_on_from(ours: Service, theirs: Service, table: str, call: TableCall) -> None:
    """The item at the other service becomes ours."""
    image = call.body.get("Item") or call.body["Key"]
    if not {"p", "c"} <= image.keys() or call.body.get("Key", KEY).keys() != {"p", "c"}:
        return
    key = {name: image[name] for name in ("p", "c")}
    item = ours.tables.get_item(TableName=table, Key=key).get("Item")
    if item is None:
        theirs.tables.delete_item(TableName=table, Key=key)
    else:
        theirs.tables.put_item(TableName=table, Item=item)
