"""Calls on items: each of DynamoDB's reads and writes, from a request's body to its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.testing.http.refusal import broken_rule, invalid, throughput_exceeded
from streamiter.testing.tables.capacity import Consumed, asked, read_units
from streamiter.testing.tables.changes import Change
from streamiter.testing.tables.reads import MOST_KEYS, PAGE_BYTES, look_up, read_get, read_gets
from streamiter.testing.tables.searches import read_search, search
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.targets import table_name
from streamiter.testing.tables.transactions import MOST_BYTES, check_distinct, each, judged, read_actions
from streamiter.testing.tables.transactions import read_gets as read_transaction_gets
from streamiter.testing.tables.writes import (
    Write,
    check_write,
    commit,
    judge,
    read_write,
    returned,
)
from streamiter.testing.truth.images import size_of

Body = Mapping[str, Any]
Answer = dict[str, Any]
Publish = Callable[[list[Change], int], None]
Leaves = Callable[[str, bytes], bool]  # an operation, and the key of an item

MOST_WRITES = 25
_TOO_LARGE = "Transaction request exceeds the maximum size: the items of a transaction have 4 MB together at most"
_NOT_ONE = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)


class ItemCalls:
    """The operations on items, by name. `find` gives a table or refuses; `publish` tells streams what changed; `leaves` says
    whether a part of a batch is left undone."""

    def __init__(self, find: Callable[[str], StoredTable], publish: Publish, leaves: Leaves) -> None:
        self._find = find
        self._publish = publish
        self._leaves = leaves
        self.calls: dict[str, Callable[[Body, int], Answer]] = {
            "PutItem": lambda body, now_us: self._write("Put", body, now_us),
            "UpdateItem": lambda body, now_us: self._write("Update", body, now_us),
            "DeleteItem": lambda body, now_us: self._write("Delete", body, now_us),
            "GetItem": self._get,
            "Query": lambda body, _: self._search("Query", body),
            "Scan": lambda body, _: self._search("Scan", body),
            "BatchGetItem": self._batch_get,
            "BatchWriteItem": self._batch_write,
            "TransactGetItems": self._transact_get,
            "TransactWriteItems": self._transact_write,
        }

    # -- one item

    def _write(self, kind: str, body: Body, now_us: int) -> Answer:
        write = read_write(kind, body)
        table = self._find(body["TableName"])
        check_write(write, table)
        outcome = judge(write, table)
        change = commit(table, outcome)
        if change is not None:
            self._publish([change], now_us)
        answer = returned(body, write, outcome)
        how = asked(body)
        if how is not None:
            consumed = Consumed(table.name)
            consumed.add_write(table.schema, outcome.old, outcome.new)
            answer["ConsumedCapacity"] = consumed.told(how)
        if _measures(body, table):
            answer["ItemCollectionMetrics"] = _metrics(table, write)
        return answer

    def _get(self, body: Body, now_us: int) -> Answer:
        read = read_get(body)
        table = self._find(body["TableName"])
        found = look_up(read, read.keys[0], table)
        answer: Answer = {} if found.item is None else {"Item": found.item}
        how = asked(body)
        if how is not None:
            answer["ConsumedCapacity"] = Consumed(table.name, found.units).told(how)
        return answer

    def _search(self, operation: str, body: Body) -> Answer:
        found = read_search(operation, body)
        return search(found, self._find(body["TableName"]))

    # -- batches

    def _batch_get(self, body: Body, now_us: int) -> Answer:
        requests: Mapping[str, Body] = body["RequestItems"]
        count = sum(len(part["Keys"]) for part in requests.values())
        if not requests:
            raise broken_rule("{}", "requestItems", "have length greater than or equal to 1")
        if count > MOST_KEYS:
            raise invalid("Too many items requested for the BatchGetItem call")
        reads = [(name, part, read_gets(part)) for name, part in requests.items()]
        tables = [self._find(table_name(name)) for name, _, _ in reads]
        for table, (_, _, read) in zip(tables, reads, strict=True):
            for key in read.keys:
                table.schema.check_key(key)
        responses: dict[str, list[Any]] = {}
        left: dict[str, Any] = {}
        consumed: list[Consumed] = []
        size = 0
        for table, (name, part, read) in zip(tables, reads, strict=True):
            items = responses.setdefault(name, [])
            consumed.append(Consumed(table.name))
            for asked_key, key in zip(part["Keys"], read.keys, strict=True):
                found = look_up(read, key, table)
                if size + found.size > PAGE_BYTES or self._leaves("BatchGetItem", table.items.packed_key(key)):
                    left.setdefault(name, {**part, "Keys": []})["Keys"].append(asked_key)
                    continue
                size += found.size
                consumed[-1].of_table += found.units
                if found.item is not None:
                    items.append(found.item)
        if sum(len(part["Keys"]) for part in left.values()) == count:
            raise throughput_exceeded()
        return {"Responses": responses, "UnprocessedKeys": left} | _all_consumed(body, consumed)

    def _batch_write(self, body: Body, now_us: int) -> Answer:
        requests: Mapping[str, list[Body]] = body["RequestItems"]
        count = sum(map(len, requests.values()))
        if count > MOST_WRITES:
            raise invalid("Too many items requested for the BatchWriteItem call")
        writes = [(name, _batched(request)) for name, part in requests.items() for request in part]
        placed = [(self._find(table_name(name)), write) for name, write in writes]
        for table, write in placed:
            check_write(write, table)
        if len({(table.name, table.items.packed_key(write.image)) for table, write in placed}) < len(placed):
            raise invalid("Provided list of item keys contains duplicates")
        consumed: dict[str, Consumed] = {}
        metrics: dict[str, list[Answer]] = {}
        changes: list[Change | None] = []
        left: dict[str, list[Body]] = {}
        asked_for = [(name, request) for name, part in requests.items() for request in part]
        for (table, write), (name, request) in zip(placed, asked_for, strict=True):
            if self._leaves("BatchWriteItem", table.items.packed_key(write.image)):
                left.setdefault(name, []).append(request)
                continue
            outcome = judge(write, table)
            changes.append(commit(table, outcome))
            of = consumed.setdefault(table.name, Consumed(table.name))
            of.add_write(table.schema, outcome.old, outcome.new)
            if _measures(body, table):
                metrics.setdefault(table.name, []).append(_metrics(table, write))
        self._publish([change for change in changes if change is not None], now_us)
        if len(changes) < 1:
            raise throughput_exceeded()
        answer: Answer = {"UnprocessedItems": left} | _all_consumed(body, list(consumed.values()))
        return answer | ({"ItemCollectionMetrics": metrics} if metrics else {})

    # -- transactions

    def _transact_get(self, body: Body, now_us: int) -> Answer:
        reads = read_transaction_gets(body)
        placed = [(self._find(name), read) for name, read in reads]
        each(placed, lambda table, read: table.schema.check_key(read.keys[0]))
        check_distinct([(table, read.keys[0]) for table, read in placed])
        responses = []
        consumed: dict[str, Consumed] = {}
        size = 0
        for table, read in placed:
            found = look_up(read, read.keys[0], table)
            size += found.size
            consumed.setdefault(table.name, Consumed(table.name)).of_table += 2 * found.units
            responses.append({} if found.item is None else {"Item": found.item})
        if size > MOST_BYTES:
            raise invalid(_TOO_LARGE)
        return {"Responses": responses} | _all_consumed(body, list(consumed.values()), "Read")

    def _transact_write(self, body: Body, now_us: int) -> Answer:
        done = judged(read_actions(body), self._find)
        if sum(size_of(write.image) for _, write, _ in done) > MOST_BYTES:
            raise invalid(_TOO_LARGE)
        consumed: dict[str, Consumed] = {}
        metrics: dict[str, list[Answer]] = {}
        changes: list[Change | None] = []
        for table, write, outcome in done:
            of = consumed.setdefault(table.name, Consumed(table.name))
            of.add_write(table.schema, outcome.old, outcome.new, 2.0)
            if write.kind != "ConditionCheck":
                changes.append(commit(table, outcome))
                if _measures(body, table):
                    metrics.setdefault(table.name, []).append(_metrics(table, write))
        self._publish([change for change in changes if change is not None], now_us)
        answer = _all_consumed(body, list(consumed.values()), "Write")
        return answer | ({"ItemCollectionMetrics": metrics} if metrics else {})

    def told_again(self, body: Body, answer: Answer) -> Answer:
        """What a TransactWriteItems that was done already is answered: it only reads its items now, and consumes that."""
        consumed: dict[str, Consumed] = {}
        for name, write in read_actions(body) if asked(body) is not None else ():
            table = self._find(name)
            size = size_of(table.items.get(table.schema.key_of(write.image)) or {})
            of = consumed.setdefault(table.name, Consumed(table.name))
            of.of_table += 2 * read_units(size, is_consistent=True)
        kept = {name: value for name, value in answer.items() if name != "ConsumedCapacity"}
        return kept | _all_consumed(body, list(consumed.values()), "Read")


def _batched(request: Body) -> Write:
    if len(request) != 1:
        raise invalid(_NOT_ONE)
    [(kind, inner)] = request.items()
    return read_write(kind.removesuffix("Request"), inner)


def _measures(body: Body, table: StoredTable) -> bool:
    return body.get("ReturnItemCollectionMetrics", "NONE") == "SIZE" and table.schema.has_collections


def _metrics(table: StoredTable, write: Write) -> Answer:
    name = table.schema.keys[0]
    return {"ItemCollectionKey": {name: write.image[name]}, "SizeEstimateRangeGB": [0.0, 1.0]}


def _all_consumed(body: Body, consumed: list[Consumed], kind: str | None = None) -> Answer:
    how = asked(body)
    return {} if how is None else {"ConsumedCapacity": [one.told(how, kind) for one in consumed]}
