"""Table calls: random writes, conditions, filters and searches on one table at each service."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from streamiter.testing.truth.images import plain_image
from tests.testing.differential.services import Service

Body = dict[str, Any]

NAMES = ("n", "s", "x", "l", "m", "ss", "ns", "bin")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


class TableCall(NamedTuple):
    """A call, and what it is called where it differs."""

    label: str
    operation: str
    body: Body


def make_table(service: Service, name: str) -> None:
    """A table with a key of two parts, a global index of keys alone and a local one."""
    kinds = {"p": "S", "c": "N", "g": "S", "k": "S"}
    service.tables.create_table(
        TableName=name,
        KeySchema=_keys("p", "c"),
        AttributeDefinitions=[{"AttributeName": at, "AttributeType": kind} for at, kind in kinds.items()],
        GlobalSecondaryIndexes=[
            {"IndexName": "by-g", "KeySchema": _keys("g", "c"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
        LocalSecondaryIndexes=[
            {"IndexName": "by-k", "KeySchema": _keys("p", "k"), "Projection": {"ProjectionType": "ALL"}}
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def asked(service: Service, table: str, call: TableCall) -> Any:
    """What came of a call, without what no two services say alike: the order of partitions and of sets, and ids."""
    body = call.body if call.operation.startswith(("batch", "transact")) else {"TableName": table, **call.body}
    try:
        answer = getattr(service.tables, call.operation)(**_named(body, table))
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return {"status": status, "error": error.response["Error"]["Code"]}
    answer.pop("ResponseMetadata")
    told = {name: _told(value) for name, value in answer.items()}
    if call.operation == "scan" and "Items" in told:
        told["Items"] = sorted(told["Items"], key=repr)
    return told


def _named(value: Any, table: str) -> Any:
    """The body with the table's name in the place of a sign for it."""
    if isinstance(value, dict):
        return {table if name == "$table" else name: _named(inner, table) for name, inner in value.items()}
    if isinstance(value, list):
        return [_named(inner, table) for inner in value]
    return table if value == "$table" else value


def _told(value: Any) -> Any:
    if isinstance(value, list):
        return [_told(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if value and all(isinstance(inner, dict) and len(inner) == 1 and _is_kind(*inner) for inner in value.values()):
        return _plain(plain_image(value))
    return {name: _told(inner) for name, inner in value.items()}


def _is_kind(name: str) -> bool:
    return name in ("S", "N", "B", "SS", "NS", "BS", "L", "M", "BOOL", "NULL")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in sorted(value.items())}
    return sorted(value, key=str) if isinstance(value, set) else value


def _keys(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


# -- what is drawn


class Draw:
    """Calls from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def calls(self, count: int) -> Iterator[TableCall]:
        """So many, of all kinds."""
        kinds = (self._put, self._put, self._update, self._update, self._delete, self._scan, self._query, self._get)
        for _ in range(count):
            yield self._random.choice(kinds)()

    def _value(self) -> Body:
        pick = self._random
        return pick.choice(
            [
                {"N": str(pick.randint(-5, 20))},
                {"S": pick.choice(["", "a", "ab", "abc", "b", "é"])},
                {"B": pick.choice([b"\x00", b"ab", b"abc"])},
                {"BOOL": pick.random() < 0.5},
                {"NULL": True},
                {"SS": pick.sample(["a", "b", "c"], 2)},
                {"NS": pick.sample(["1", "2", "3"], 2)},
                {"L": [{"N": str(pick.randint(0, 3))}, {"S": "a"}]},
                {"M": {"y": {"N": str(pick.randint(0, 3))}, "z": {"S": "a"}}},
            ]
        )

    def _key(self) -> Body:
        return {"p": {"S": self._random.choice("ab")}, "c": {"N": str(self._random.randint(0, 4))}}

    def _item(self) -> Body:
        pick = self._random
        item = self._key() | {name: self._value() for name in pick.sample(NAMES, 4)}
        if pick.random() < 0.7:
            item |= {"g": {"S": pick.choice("gh")}, "k": {"S": pick.choice("kl")}}
        return item

    def _path(self) -> str:
        name = self._random.choice(NAMES)
        return {"l": "l[1]", "m": "m.y"}.get(name, name) if self._random.random() < 0.5 else name

    def _term(self, values: Body) -> str:
        pick = self._random
        name = f":v{len(values)}"
        what = pick.randint(0, 6)
        path = self._path()
        if what <= 2:
            values[name] = self._scalar()
            return f"{path} {pick.choice(COMPARISONS)} {name}"
        if what == 3:
            return f"{pick.choice(['attribute_exists', 'attribute_not_exists'])}({path})"
        if what == 4:
            values[name] = {"S": pick.choice(["a", "ab"])}
            return f"{pick.choice(['begins_with', 'contains'])}({path}, {name})"
        if what == 5:
            values[name] = {"S": pick.choice(["N", "S", "B", "L", "M", "BOOL", "NULL", "SS"])}
            return f"attribute_type({path}, {name})"
        values[name] = {"N": str(pick.randint(0, 4))}
        return f"size({path}) {pick.choice(COMPARISONS)} {name}"

    def _scalar(self) -> Body:
        return self._random.choice([{"N": str(self._random.randint(-5, 20))}, {"S": "ab"}, {"B": b"ab"}])

    def _condition(self, values: Body) -> str:
        pick = self._random
        terms = [self._term(values) for _ in range(pick.randint(1, 3))]
        terms = [f"NOT ({term})" if pick.random() < 0.25 else term for term in terms]
        return pick.choice([" AND ", " OR "]).join(terms)

    def _maybe_condition(self) -> Body:
        if self._random.random() < 0.5:
            return {}
        values: Body = {}
        text = self._condition(values)
        return {"ConditionExpression": text} | ({"ExpressionAttributeValues": values} if values else {})

    def _put(self) -> TableCall:
        returns = {"ReturnValues": self._random.choice(["NONE", "ALL_OLD"])}
        return TableCall("put", "put_item", {"Item": self._item(), **returns, **self._maybe_condition()})

    def _delete(self) -> TableCall:
        return TableCall(
            "delete", "delete_item", {"Key": self._key(), "ReturnValues": "ALL_OLD", **self._maybe_condition()}
        )

    def _update(self) -> TableCall:
        pick = self._random
        values: Body = {":n": {"N": str(pick.randint(1, 5))}, ":x": self._value()}
        change = pick.choice(
            [
                "SET x = :x ADD n :n",
                "SET x = :x, n = if_not_exists(n, :n)",
                "SET l[1] = :x, n = :n",
                "SET l[7] = :x, l[5] = :n REMOVE l[0]",
                "SET m.y = :x, m.q = :n",
                "REMOVE l[0], m.z SET x = :x, n = :n",
                "SET s = n, n = :n, x = :x",
                "SET n = n + :n, x = :x",
                "SET n = :n - n, x = :x",
            ]
        )
        returns = pick.choice(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
        body = {"Key": self._key(), "UpdateExpression": change, "ReturnValues": returns}
        if pick.random() < 0.4:
            body["ConditionExpression"] = self._condition(values)
        return TableCall(f"update: {change}, {returns}", "update_item", body | {"ExpressionAttributeValues": values})

    def _scan(self) -> TableCall:
        values: Body = {}
        text = self._condition(values)
        more = {"ExpressionAttributeValues": values} if values else {}
        return TableCall("scan", "scan", {"FilterExpression": text, **more})

    def _query(self) -> TableCall:
        pick = self._random
        values: Body = {":p": {"S": pick.choice("ab")}, ":c": {"N": str(pick.randint(0, 4))}}
        place, text = pick.choice(
            [
                ({}, "p = :p AND c >= :c"),
                ({}, "c < :c AND p = :p"),
                ({}, "p = :p AND c BETWEEN :c AND :c"),
                ({"IndexName": "by-g"}, "g = :p AND c > :c"),
                ({"IndexName": "by-k"}, "p = :p AND begins_with(k, :k)"),
            ]
        )
        if ":k" in text:
            values = {":p": values[":p"], ":k": {"S": "k"}}
        if "g = :p" in text:
            values[":p"] = {"S": "g"}
        more: Body = {"ScanIndexForward": pick.random() < 0.5, "ReturnConsumedCapacity": "TOTAL"}
        if pick.random() < 0.3:
            more["FilterExpression"] = "attribute_exists(n)"
        body = {"KeyConditionExpression": text, "ExpressionAttributeValues": values, **place, **more}
        if pick.random() < 0.3 and not place:
            body["Limit"] = 2
        return TableCall(f"query: {text}", "query", body)

    def _get(self) -> TableCall:
        paths = self._random.choice(["n, s", "l[0], l[1]", "m.y, x", "m.nothing"])
        return TableCall("get", "get_item", {"Key": self._key(), "ProjectionExpression": paths})
