"""The steps: writes, reads and mistakes, drawn from a seed, the same for each service; what comes of one is plain JSON."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from streamiter.testing.images import plain_image
from tests.testing.differential.services import Service

Image = dict[str, dict[str, Any]]
LONG_AGO = int(time.time()) - 600
VIEWS = ("NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY")
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/nobody/stream/2025-01-01T00:00:00.000"


class World:
    """A table at one of the services, and how far its stream was read."""

    def __init__(self, service: Service, table: str, view: str) -> None:
        self.service = service
        self.table = table
        self.arn = ""
        self.iterators: dict[str, str | None] = {}
        self.enable(view, is_new=True)

    def enable(self, view: str, *, is_new: bool = False) -> None:
        stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}
        if is_new:
            self.service.tables.create_table(TableName=self.table, BillingMode="PAY_PER_REQUEST", **KEYS, **stream)
        else:
            self.service.tables.update_table(TableName=self.table, **stream)
        self.arn = self.service.tables.describe_table(TableName=self.table)["Table"]["LatestStreamArn"]
        self.iterators.clear()

    @property
    def shards(self) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = self._describe()["Shards"]
        return shards

    @property
    def shard_id(self) -> str:
        return str(self.shards[0]["ShardId"])

    def iterator(self, type: str = "TRIM_HORIZON", **more: Any) -> str:
        place = {"StreamArn": self.arn, "ShardId": self.shard_id}
        return str(self.service.streams.get_shard_iterator(**place, ShardIteratorType=type, **more)["ShardIterator"])

    def read(self) -> list[dict[str, Any]]:
        """The records that came since the last reading."""
        records: list[dict[str, Any]] = []
        for shard in self.shards:
            shard_id = shard["ShardId"]
            at = self.iterators[shard_id] if shard_id in self.iterators else self.iterator()
            for _ in range(3):  # until an empty page, or the end
                if at is not None:
                    page = self.service.streams.get_records(ShardIterator=at)
                    records += page["Records"]
                    at = page.get("NextShardIterator")
                    if not page["Records"]:
                        break
            self.iterators[shard_id] = at
        return records

    def _describe(self) -> dict[str, Any]:
        description: dict[str, Any] = self.service.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]
        return description


KEYS = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
}


class Step(NamedTuple):
    """Something to do at each service; `run` gives what is compared."""

    label: str
    run: Callable[[World], Any]


def outcome(run: Callable[[World], Any], world: World) -> Any:
    """What came of a step: its result, or the status and the name of the error."""
    try:
        return run(world)
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return {"status": status, "error": error.response["Error"]["Code"]}


def told(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what no two services say alike: ids, numbers, moments."""
    change = record["dynamodb"]
    images = {name: _plain(change[name]) for name in ("Keys", "NewImage", "OldImage") if name in change}
    names = ("eventName", "eventSource", "eventVersion", "userIdentity")
    return {name: record[name] for name in names if name in record} | images | {"view": change["StreamViewType"]}


def _plain(image: Image) -> dict[str, Any]:
    return {
        name: sorted(value, key=str) if isinstance(value, set) else value for name, value in plain_image(image).items()
    }


# -- writes


def steps(seed: int, count: int) -> Iterator[Step]:
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


def put(draw: random.Random) -> Callable[[World], Any]:
    item = image(draw)
    return lambda world: _done(world.service.tables.put_item(TableName=world.table, Item=item))


def put_again(draw: random.Random) -> Callable[[World], Any]:
    item = image(draw)

    def run(world: World) -> Any:
        for _ in range(2):
            world.service.tables.put_item(TableName=world.table, Item=item)
        return "done"

    return run


def update(draw: random.Random) -> Callable[[World], Any]:
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


def update_nothing(draw: random.Random) -> Callable[[World], Any]:
    return _update(_key(draw), UpdateExpression="REMOVE nothing", ConditionExpression="attribute_exists(id)")


def mistyped(draw: random.Random) -> Callable[[World], Any]:
    more = {"ExpressionAttributeValues": {":v": {"S": "x"}}}
    return _update(_key(draw), UpdateExpression="ADD counter :v", **more)


def delete(draw: random.Random) -> Callable[[World], Any]:
    key = {"id": {"S": _key(draw)}}
    return lambda world: _done(world.service.tables.delete_item(TableName=world.table, Key=key))


def conditional(draw: random.Random) -> Callable[[World], Any]:
    item, rule = (
        image(draw),
        draw.choice(["attribute_exists(id)", "attribute_not_exists(id)", "attribute_exists(nobody)"]),
    )
    return lambda world: _done(
        world.service.tables.put_item(TableName=world.table, Item=item, ConditionExpression=rule)
    )


def batch(draw: random.Random) -> Callable[[World], Any]:
    keys = draw.sample(range(1, 7), 3)
    items = [image(draw, f"k{key}") for key in keys[:2]]
    writes: list[Any] = [{"PutRequest": {"Item": item}} for item in items]
    writes.append({"DeleteRequest": {"Key": {"id": {"S": f"k{keys[2]}"}}}})
    return lambda world: _done(world.service.tables.batch_write_item(RequestItems={world.table: writes}))


def twice(draw: random.Random) -> Callable[[World], Any]:
    """A batch that writes an item twice: refused whole."""
    item = image(draw)
    writes: list[Any] = [{"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": {"id": item["id"]}}}]
    return lambda world: _done(world.service.tables.batch_write_item(RequestItems={world.table: writes}))


def transact(draw: random.Random) -> Callable[[World], Any]:
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
        return _done(world.service.tables.transact_write_items(TransactItems=actions))

    return run


def failed_transact(draw: random.Random) -> Callable[[World], Any]:
    item = image(draw)

    def run(world: World) -> Any:
        named = {"TableName": world.table}
        never = {"Key": {"id": {"S": "nobody"}}, "ConditionExpression": "attribute_exists(id)"}
        actions = [{"Put": {**named, "Item": item}}, {"ConditionCheck": {**named, **never}}]
        return _done(world.service.tables.transact_write_items(TransactItems=actions))

    return run


def _update(key: str, **more: Any) -> Callable[[World], Any]:
    return lambda world: _done(world.service.tables.update_item(TableName=world.table, Key={"id": {"S": key}}, **more))


def _done(_: Any) -> str:
    return "done"


# -- mistakes


def ask(operation: str, fill: Callable[[World], dict[str, Any]] | None = None, **asked: Any) -> Callable[[World], Any]:
    """A call of a streams client; `fill` adds what depends on the service."""
    return lambda world: _done(getattr(world.service.streams, operation)(**asked, **(fill(world) if fill else {})))


def on_a_table_of_its_own(view: str | None, **stream: Any) -> Callable[[World], Any]:
    """What UpdateTable says of a StreamSpecification, on a table that has this view's stream, or none."""

    def run(world: World) -> Any:
        spare, specification = f"{world.table}-spare", {"StreamEnabled": True, "StreamViewType": view}
        having = {"StreamSpecification": specification} if view else {}
        world.service.tables.create_table(TableName=spare, BillingMode="PAY_PER_REQUEST", **KEYS, **having)
        try:
            return _done(world.service.tables.update_table(TableName=spare, StreamSpecification=stream))
        finally:
            world.service.tables.delete_table(TableName=spare)

    return run


def creating(**stream: Any) -> Callable[[World], Any]:
    """What CreateTable says of a StreamSpecification."""

    def run(world: World) -> Any:
        named = {"TableName": f"{world.table}-refused"}
        world.service.tables.create_table(**named, **KEYS, BillingMode="PAY_PER_REQUEST", StreamSpecification=stream)
        world.service.tables.delete_table(**named)
        return "done"

    return run


def _here(world: World) -> dict[str, Any]:
    return {"StreamArn": world.arn}


def _shard(world: World) -> dict[str, Any]:
    return {"StreamArn": world.arn, "ShardId": world.shard_id}


def _iterator(world: World) -> dict[str, Any]:
    return {"ShardIterator": world.iterator()}


MISTAKES = [
    Step("describe: no ARN", ask("describe_stream")),
    Step("describe: malformed ARN", ask("describe_stream", StreamArn="x" * 40)),
    Step("describe: short ARN", ask("describe_stream", StreamArn="fake")),
    Step("describe: unknown stream", ask("describe_stream", StreamArn=ARN)),
    Step("describe: limit 0", ask("describe_stream", _here, Limit=0)),
    Step("describe: limit 101", ask("describe_stream", _here, Limit=101)),
    Step("describe: short start", ask("describe_stream", _here, ExclusiveStartShardId="x")),
    Step(
        "describe: unknown start", ask("describe_stream", _here, ExclusiveStartShardId=f"shardId-{'0' * 20}-00000000")
    ),
    Step("list: limit 0", ask("list_streams", Limit=0)),
    Step("list: limit 101", ask("list_streams", Limit=101)),
    Step("list: unknown table", ask("list_streams", TableName="nobody")),
    Step("iterator: no type", ask("get_shard_iterator", _shard)),
    Step("iterator: unknown type", ask("get_shard_iterator", _shard, ShardIteratorType="NOPE")),
    Step("iterator: no number", ask("get_shard_iterator", _shard, ShardIteratorType="AT_SEQUENCE_NUMBER")),
    Step(
        "iterator: short number",
        ask("get_shard_iterator", _shard, ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber="12"),
    ),
    Step(
        "iterator: needless number",
        ask("get_shard_iterator", _shard, ShardIteratorType="TRIM_HORIZON", SequenceNumber="1" * 24),
    ),
    Step(
        "iterator: a future time",
        ask("get_shard_iterator", _shard, ShardIteratorType="AT_TIMESTAMP", Timestamp=time.time() + 1e6),
    ),
    Step("iterator: no shard", ask("get_shard_iterator", _here, ShardIteratorType="LATEST")),
    Step(
        "iterator: unknown shard",
        ask("get_shard_iterator", _here, ShardId=f"shardId-{'0' * 20}-00000000", ShardIteratorType="LATEST"),
    ),
    Step(
        "iterator: unknown stream",
        ask("get_shard_iterator", StreamArn=ARN, ShardId=f"shardId-{'0' * 20}-00000000", ShardIteratorType="LATEST"),
    ),
    Step("records: no iterator", ask("get_records")),
    Step("records: malformed iterator", ask("get_records", ShardIterator="x")),
    Step("records: limit 0", ask("get_records", _iterator, Limit=0)),
    Step("records: limit 1001", ask("get_records", _iterator, Limit=1001)),
    Step("update: enabled again", on_a_table_of_its_own("KEYS_ONLY", StreamEnabled=True, StreamViewType="KEYS_ONLY")),
    Step("update: another view", on_a_table_of_its_own("KEYS_ONLY", StreamEnabled=True, StreamViewType="NEW_IMAGE")),
    Step("update: enabled without a view", on_a_table_of_its_own(None, StreamEnabled=True)),
    Step(
        "update: disabled with a view",
        on_a_table_of_its_own("KEYS_ONLY", StreamEnabled=False, StreamViewType="KEYS_ONLY"),
    ),
    Step("update: an unknown view", on_a_table_of_its_own(None, StreamEnabled=True, StreamViewType="NOPE")),
    Step("update: disabled without a stream", on_a_table_of_its_own(None, StreamEnabled=False)),
    Step("create: enabled without a view", creating(StreamEnabled=True)),
    Step("create: disabled with a view", creating(StreamEnabled=False, StreamViewType="KEYS_ONLY")),
    Step("create: an unknown view", creating(StreamEnabled=True, StreamViewType="NOPE")),
    Step("create: disabled", creating(StreamEnabled=False)),
    Step("describe table: unknown", lambda world: world.service.tables.describe_table(TableName="nobody")),
]


# -- a stream's life


def life(view: str) -> Iterator[Step]:
    """Disabled, written to, enabled again, with time to live, dropped."""
    yield Step("the stream's description", _stream_description)
    yield Step("the table's description", _table_description)
    yield Step("iterators of all types read alike", _all_types)
    yield Step("remove from no item", _remove_from_nobody)
    yield Step("records in the end", _from_the_start)
    yield Step("disable", lambda world: _done(_specify(world, StreamEnabled=False)))
    yield Step("disable again", lambda world: _done(_specify(world, StreamEnabled=False)))
    yield Step("the table's description, disabled", _table_description)
    yield Step("the stream's description, disabled", _stream_description)
    yield Step("records, disabled", _from_the_start)
    yield Step("put, disabled", put(random.Random(1)))
    yield Step("records after a write, disabled", _from_the_start)
    yield Step("enable again", _enable_again(view))
    yield Step("records of the new stream", lambda world: [told(record) for record in world.read()])
    yield Step("put, enabled again", put(random.Random(2)))
    yield Step("records of the new stream, written", lambda world: [told(record) for record in world.read()])
    for enabled in (True, True, False, False, True):
        yield Step(f"time to live {'on' if enabled else 'off'}", _time_to_live(enabled, "end"))
    yield Step("time to live by another attribute", _time_to_live(True, "other"))
    yield Step("records by time to live", _ended)
    yield Step("drop", lambda world: _done(world.service.tables.delete_table(TableName=world.table)))
    yield Step("records, dropped", _from_the_start)


def _stream_description(world: World) -> Any:
    description = world.service.streams.describe_stream(StreamArn=world.arn)["StreamDescription"]
    kept = ("StreamStatus", "StreamViewType", "KeySchema", "TableName")
    ends = [sorted(shard["SequenceNumberRange"]) for shard in description["Shards"]]
    told = {name: description[name] for name in kept} | {"shards": ends}
    label_is_last = description["StreamLabel"] == world.arn.rpartition("/")[2]
    return told | {"members": sorted(description), "label is the ARN's end": label_is_last}


def _table_description(world: World) -> Any:
    description = world.service.tables.describe_table(TableName=world.table)["Table"]
    is_latest = description.get("LatestStreamArn") == world.arn
    labelled = world.arn.endswith(description.get("LatestStreamLabel", "?"))
    return {"spec": description.get("StreamSpecification"), "latest": is_latest, "labelled": labelled}


def _all_types(world: World) -> Any:
    """What each kind of iterator gives of the stream so far."""
    records = world.service.streams.get_records(ShardIterator=world.iterator())["Records"]
    middle = len(records) // 2
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]

    def given(type: str, **more: Any) -> list[str]:
        page = world.service.streams.get_records(ShardIterator=world.iterator(type, **more))["Records"]
        return [record["dynamodb"]["SequenceNumber"] for record in page]

    return {
        "horizon": given("TRIM_HORIZON") == numbers,
        "latest": given("LATEST"),
        "at": given("AT_SEQUENCE_NUMBER", SequenceNumber=numbers[middle]) == numbers[middle:],
        "after": given("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[middle]) == numbers[middle + 1 :],
        "limited": len(world.service.streams.get_records(ShardIterator=world.iterator(), Limit=2)["Records"]),
        "rising": list(map(int, numbers)) == sorted(set(map(int, numbers))),
        "long": all(len(number) >= 21 for number in numbers),
        "sized": all(record["dynamodb"]["SizeBytes"] > 0 for record in records),
        "named": len({record["eventID"] for record in records}) == len(records),
    }


def _remove_from_nobody(world: World) -> Any:
    """Whether there is an item then, and what the stream tells; both worlds go on without it."""
    tables, place = world.service.tables, {"TableName": world.table, "Key": {"id": {"S": "nobody"}}}
    world.read()
    tables.update_item(**place, UpdateExpression="REMOVE a0")
    found = {"made": "Item" in tables.get_item(**place), "told": [told(record) for record in world.read()]}
    tables.delete_item(**place)
    world.read()
    return found


def _specify(world: World, **stream: Any) -> Any:
    return world.service.tables.update_table(TableName=world.table, StreamSpecification=stream)


def _from_the_start(world: World) -> Any:
    world.iterators.clear()
    return len(world.read()) > 0


def _enable_again(view: str) -> Callable[[World], Any]:
    def run(world: World) -> Any:
        old = world.arn
        world.enable(view)
        streams = world.service.streams.list_streams(TableName=world.table)["Streams"]
        status = outcome(
            lambda world: world.service.streams.describe_stream(StreamArn=old)["StreamDescription"]["StreamStatus"],
            world,
        )
        return {"another ARN": world.arn != old, "listed": len(streams), "the old one": status}

    return run


def _time_to_live(enabled: bool, attribute: str) -> Callable[[World], Any]:
    specification = {"Enabled": enabled, "AttributeName": attribute}
    return lambda world: _done(
        world.service.tables.update_time_to_live(TableName=world.table, TimeToLiveSpecification=specification)
    )


def _ended(world: World) -> Any:
    """What a deletion by time to live leaves in the stream."""
    world.read()
    item = {"id": {"S": "ends"}, "end": {"N": str(LONG_AGO)}}
    world.service.tables.put_item(TableName=world.table, Item=item)
    records: list[dict[str, Any]] = []
    until = time.monotonic() + world.service.patience
    while True:
        records += world.read()
        is_there = "Item" in world.service.tables.get_item(TableName=world.table, Key={"id": {"S": "ends"}})
        if not is_there or time.monotonic() > until:
            return [told(record) for record in records + world.read()]
        time.sleep(0.1)
