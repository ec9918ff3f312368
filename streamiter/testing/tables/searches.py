"""Searches: Query and Scan: a page of items in order, those that the filter keeps, and where the next page begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from streamiter.testing.expressions.binding import paths_of
from streamiter.testing.expressions.evaluating import meets, projected
from streamiter.testing.expressions.terms import Condition, Path
from streamiter.testing.expressions.values import Item
from streamiter.testing.http.refusal import Refusal, invalid, wrong_value
from streamiter.testing.tables.capacity import Consumed, asked, read_units
from streamiter.testing.tables.key_conditions import KeyTest, Stretch, stretch_of, tests_of
from streamiter.testing.tables.places import hashed, part, segment_bounds
from streamiter.testing.tables.requests import QUERY, SCAN, Asked
from streamiter.testing.tables.schema import NO_MATCH, Index
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.values import read_item
from streamiter.testing.truth.images import size_of

Body = Mapping[str, Any]

PAGE_BYTES = 1024 * 1024
_END = b"\xff" * 64
_NOT_OF_KEYS = ("NE", "IN", "CONTAINS", "NOT_CONTAINS", "NULL", "NOT_NULL")
_BAD_START = "The provided starting key is invalid"


class Search(NamedTuple):
    """What a Query or a Scan asks, whether there is such a table or not."""

    body: Body
    is_query: bool
    tests: list[KeyTest]  # of a Query's key
    filter: Condition | None
    projection: tuple[Path, ...] | None
    start: Item | None

    @property
    def is_legacy(self) -> bool:
        """Whether it says the older way what it looks for."""
        return "KeyConditions" in self.body


def read_search(operation: str, body: Body) -> Search:
    """A Query or a Scan, as its request has it."""
    is_query = operation == "Query"
    _check_select(body, is_query)
    if not is_query:
        _check_segments(body)
    expressions = Asked(body, QUERY if is_query else SCAN)
    start = _read_start(body)
    projection = expressions.projection()
    kept = expressions.filter("QueryFilter" if is_query else "ScanFilter")
    tests = _tests(expressions, body) if is_query else []
    expressions.finish()
    return Search(body, is_query, tests, kept, projection, start)


def _read_start(body: Body) -> Item | None:
    if "ExclusiveStartKey" not in body:
        return None
    try:
        return read_item(body["ExclusiveStartKey"])
    except Refusal as refusal:
        raise Refusal(refusal.name, f"{_BAD_START}: {refusal.message}") from None


def _tests(expressions: Asked, body: Body) -> list[KeyTest]:
    condition = expressions.key_condition()
    if condition is not None:
        return tests_of(condition)
    legacy = expressions.key_conditions()
    if not legacy:
        raise invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    for one in body["KeyConditions"].values():
        if one["ComparisonOperator"] in _NOT_OF_KEYS:
            raise invalid("Attempted conditional constraint is not an indexable operation")
    return [test for one in legacy for test in tests_of(one)]


def search(found: Search, table: StoredTable) -> dict[str, Any]:
    """A page."""
    body, schema = found.body, table.schema
    index = schema.index(body["IndexName"]) if "IndexName" in body else None
    stretch = _stretch(found, table, index)
    if index is not None and index.is_global and body.get("ConsistentRead"):
        raise invalid("Consistent reads are not supported on global secondary indexes")
    wanted = _wanted(found, table, index)
    after = None if found.start is None else _start(found, table, index, stretch)
    backwards = body.get("ScanIndexForward") is False
    walk = table.items.walk(index, stretch.low, stretch.high, backwards=backwards, after=after)
    page = _page(walk, found, index, table)
    answer: dict[str, Any] = {"Count": len(page.items), "ScannedCount": page.scanned}
    if body.get("Select") != "COUNT":
        answer["Items"] = [item if wanted is None else projected(item, wanted) for item in page.items]
    if page.last is not None:
        names = dict.fromkeys((*schema.keys, *(index.keys if index else ())))
        answer["LastEvaluatedKey"] = {name: page.last[name] for name in names}
    how = asked(body)
    if how is not None:
        answer["ConsumedCapacity"] = _consumed(page, body, table, index).told(how)
    return answer


class _Page(NamedTuple):
    items: list[Item]
    scanned: int
    size: int
    last: Item | None  # None: there is no more
    fetched: int  # items whose other attributes came from the table


def _page(walk: Iterable[Item], found: Search, index: Index | None, table: StoredTable) -> _Page:
    keys, limit = table.schema.keys, found.body.get("Limit")
    fetches = _fetches(found, index, table)
    items: list[Item] = []
    scanned = size = fetched = 0
    last: Item | None = None
    for item in walk:
        held = item if index is None else index.projected(item, keys)
        size += size_of(held)
        scanned += 1
        if found.filter is None or meets(item if fetches else held, found.filter):
            items.append(item if fetches else held)
            fetched += fetches
        if scanned == limit or size >= PAGE_BYTES:
            last = item
            break
    return _Page(items, scanned, size, last, fetched)


def _fetches(found: Search, index: Index | None, table: StoredTable) -> bool:
    """Whether a local index is asked for attributes that only the table has."""
    if index is None or index.is_global or index.has_all:
        return False
    if found.body.get("Select") == "ALL_ATTRIBUTES":
        return True
    held = index.attributes(table.schema.keys)
    return found.projection is not None and any(path.steps[0] not in held for path in found.projection)


def _consumed(page: _Page, body: Body, table: StoredTable, index: Index | None) -> Consumed:
    units = read_units(page.size, is_consistent=bool(body.get("ConsistentRead")))
    consumed = Consumed(table.name)
    if index is None:
        consumed.of_table = units
    else:
        consumed.add_index(index, units)
        for item in page.items if page.fetched else ():
            consumed.of_table += read_units(size_of(item), is_consistent=bool(body.get("ConsistentRead")))
    return consumed


# -- where it looks


def _stretch(found: Search, table: StoredTable, index: Index | None) -> Stretch:
    body, schema = found.body, table.schema
    keys, hashes = (schema.keys, 1) if index is None else (index.keys, index.hashes)
    if not found.is_query:
        if "TotalSegments" in body:
            return Stretch(*segment_bounds(body["Segment"], body["TotalSegments"]) * 2)
        return Stretch(b"", _END, b"", _END)
    stretch = stretch_of(found.tests, keys, schema.kinds, hashes=hashes, is_legacy=found.is_legacy)
    if found.filter is not None:
        for path in paths_of(found.filter):
            if path.steps[0] in keys:
                what = "QueryFilter" if "QueryFilter" in body else "Filter Expression"
                raise invalid(
                    f"{what} can only contain non-primary key attributes: Primary key attribute: {path.steps[0]}"
                )
    return stretch


def _start(found: Search, table: StoredTable, index: Index | None, stretch: Stretch) -> bytes:
    """The place that a page begins after."""
    start, schema = found.start or {}, table.schema
    names = {*schema.keys, *(index.keys if index else ())}
    if start.keys() != names or any(schema.kinds[name] not in start[name] for name in names):
        raise invalid(_BAD_START if found.is_query or index is not None else f"{_BAD_START}: {NO_MATCH}")
    place = table.items.place(index, start)
    if found.is_query and not stretch.whole_low <= place < stretch.whole_high:
        raise invalid("The provided starting key is outside query boundaries based on provided conditions")
    if found.is_query and not stretch.low <= place < stretch.high:
        raise invalid("The provided starting key does not match the range key predicate")
    first = b"".join(part(start[name]) for name in (index.partition_keys if index else schema.keys[:1]))
    if not found.is_query and not stretch.low <= hashed(first) + b"\0" < stretch.high:
        raise invalid(
            f"{_BAD_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {found.body['TotalSegments']} Segment: {found.body['Segment']}"
        )
    return place


# -- what it gives


def _wanted(found: Search, table: StoredTable, index: Index | None) -> tuple[Path, ...] | None:
    if index is not None and index.is_global and not index.has_all:
        held = index.attributes(table.schema.keys)
        if found.body.get("Select") == "ALL_ATTRIBUTES":
            raise wrong_value(
                f"Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} because its "
                "projection type is not ALL"
            )
        lacking = dict.fromkeys(str(path.steps[0]) for path in found.projection or () if path.steps[0] not in held)
        if lacking:
            raise wrong_value(f"Global secondary index {index.name} does not project [{', '.join(lacking)}]")
    return found.projection


def _check_select(body: Body, is_query: bool) -> None:
    select = body.get("Select")
    projects = next((name for name in ("ProjectionExpression", "AttributesToGet") if name in body), None)
    if select == "SPECIFIC_ATTRIBUTES" and projects is None:
        raise wrong_value(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if select is not None and select != "SPECIFIC_ATTRIBUTES" and projects is not None:
        raise wrong_value(f"Cannot specify the {projects} when choosing to get {select}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and "IndexName" not in body:
        doing = "Querying" if is_query else "Scanning"
        raise wrong_value(f"ALL_PROJECTED_ATTRIBUTES can be used only when {doing} using an IndexName")


def _check_segments(body: Body) -> None:
    segment, total = body.get("Segment"), body.get("TotalSegments")
    if segment is not None and total is None:
        raise invalid(
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"
        )
    if total is not None and segment is None:
        raise invalid(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"
        )
    if segment is not None and total is not None and segment >= total:
        raise invalid(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )
