"""Writes: what is drawn to be written to a table, and a reading after each; mistakes between them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.testing.differential.mistakes import MISTAKES
from tests.testing.differential.step import Image, Run, Step, done, told
from tests.testing.differential.world import World


def writes(seed: int, count: int) -> Iterator[Step]:
    """So many writes, each followed by a reading, with mistakes between them."""
    draw = random.Random(seed)
    kinds = [
        put,
        put_again,
        update,
        update_nothing,
        delete,
        conditional,
        batch,
        transact,
        failed_transact,
        twice,
        mistyped,
    ]
    for _ in range(count):
        write = draw.choice(kinds)
        yield Step(write.__name__, write(draw))
        yield Step(f"records after {write.__name__}", lambda world: [told(record) for record in world.read()])
        if draw.random() < 0.3:
            yield draw.choice(MISTAKES)


def image(draw: random.Random, key: str | None = None) -> Image:
    values: list[dict[str, Any]] = [
        {"N": draw.choice(["1", "1.0", "10", "1E1", "-0.50", "12345678901234567890123456789012345678"])},
        {"S": draw.choice(["", "x", "é"])},
        {"B": draw.choice([b"", b"\x00\xff"])},
        {"SS": draw.choice([["a", "b"], ["b", "a"], ["a"]])},
        {"NS": draw.choice([["1", "2"], ["2.0", "1"]])},
        {"BOOL": draw.random() < 0.5},
        {"NULL": True},
        {"L": [{"N": "1"}, {"M": {"deep": {"S": "x"}}}]},
        {"M": {"inner": {"NULL": True}, "n": {"N": draw.choice(["1", "1.00"])}}},
    ]
    chosen = draw.sample(values, draw.randint(0, 4))
    return {"id": {"S": key or _key(draw)}} | {f"a{place}": value for place, value in enumerate(chosen)}


def _key(draw: random.Random) -> str:
    return f"k{draw.randint(1, 6)}"


def put(draw: random.Random) -> Run:
    item = image(draw)
    return lambda world: done(world.service.tables.put_item(TableName=world.table, Item=item))


def put_again(draw: random.Random) -> Run:
    item = image(draw)

    def run(world: World) -> Any:
        for _ in range(2):
            world.service.tables.put_item(TableName=world.table, Item=item)
        return "done"

    return run


def update(draw: random.Random) -> Run:
    expression, values = draw.choice(
        [
            ("SET a0 = :v", {":v": {"S": draw.choice(["p", "q"])}}),
            ("ADD counter :v", {":v": {"N": "1"}}),
            ("REMOVE a0, a1", {}),
            ("SET b = if_not_exists(b, :v)", {":v": {"N": "7"}}),
            ("ADD tags :v", {":v": {"SS": [draw.choice("xyz")]}}),
        ]
    )
    more = {"ExpressionAttributeValues": values} if values else {"ConditionExpression": "attribute_exists(id)"}
    return _update(_key(draw), UpdateExpression=expression, **more)


def update_nothing(draw: random.Random) -> Run:
    return _update(_key(draw), UpdateExpression="REMOVE nothing", ConditionExpression="attribute_exists(id)")


def mistyped(draw: random.Random) -> Run:
    more = {"ExpressionAttributeValues": {":v": {"S": "x"}}}
    return _update(_key(draw), UpdateExpression="ADD counter :v", **more)


def delete(draw: random.Random) -> Run:
    key = {"id": {"S": _key(draw)}}
    return lambda world: done(world.service.tables.delete_item(TableName=world.table, Key=key))


def conditional(draw: random.Random) -> Run:
    item, rule = (
        image(draw),
        draw.choice(["attribute_exists(id)", "attribute_not_exists(id)", "attribute_exists(nobody)"]),
    )
    return lambda world: done(world.service.tables.put_item(TableName=world.table, Item=item, ConditionExpression=rule))


def batch(draw: random.Random) -> Run:
    keys = draw.sample(range(1, 7), 3)
    items = [image(draw, f"k{key}") for key in keys[:2]]
    writes: list[Any] = [{"PutRequest": {"Item": item}} for item in items]
    writes.append({"DeleteRequest": {"Key": {"id": {"S": f"k{keys[2]}"}}}})
    return lambda world: done(world.service.tables.batch_write_item(RequestItems={world.table: writes}))


def twice(draw: random.Random) -> Run:
    """A batch that writes an item twice: refused whole."""
    item = image(draw)
    writes: list[Any] = [{"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": {"id": item["id"]}}}]
    return lambda world: done(world.service.tables.batch_write_item(RequestItems={world.table: writes}))


def transact(draw: random.Random) -> Run:
    one, other, third = draw.sample(range(1, 7), 3)
    item, value = image(draw, f"k{one}"), {":v": {"N": str(draw.randint(1, 2))}}

    def run(world: World) -> Any:
        named = {"TableName": world.table}
        setting = {"UpdateExpression": "SET n = :v", "ExpressionAttributeValues": value}
        actions = [
            {"Put": {**named, "Item": item}},
            {"Update": {**named, "Key": {"id": {"S": f"k{other}"}}, **setting}},
            {"Delete": {**named, "Key": {"id": {"S": f"k{third}"}}}},
        ]
        return done(world.service.tables.transact_write_items(TransactItems=actions))

    return run


def failed_transact(draw: random.Random) -> Run:
    item = image(draw)

    def run(world: World) -> Any:
        named = {"TableName": world.table}
        never = {"Key": {"id": {"S": "nobody"}}, "ConditionExpression": "attribute_exists(id)"}
        actions = [{"Put": {**named, "Item": item}}, {"ConditionCheck": {**named, **never}}]
        return done(world.service.tables.transact_write_items(TransactItems=actions))

    return run


def _update(key: str, **more: Any) -> Run:
    return lambda world: done(world.service.tables.update_item(TableName=world.table, Key={"id": {"S": key}}, **more))
