"""A stream's life: disabled, written to, enabled again, with time to live, dropped."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from tests.testing.differential.step import Run, Step, done, outcome, told
from tests.testing.differential.world import World
from tests.testing.differential.writes import put

LONG_AGO = int(time.time()) - 600
SECONDS_TO_DELETE = 60  # at most: a busy machine is no difference between services


def life(view: str) -> Iterator[Step]:
    """Disabled, written to, enabled again, with time to live, dropped."""
    yield Step("the stream's description", _stream_description)
    yield Step("the table's description", _table_description)
    yield Step("iterators of all types read alike", _all_types)
    yield Step("remove from no item", _remove_from_nobody)
    yield Step("records in the end", _from_the_start)
    yield Step("disable", lambda world: done(_specify(world, StreamEnabled=False)))
    yield Step("disable again", lambda world: done(_specify(world, StreamEnabled=False)))
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
    yield Step("records by time to live", _ended)
    yield Step(
        "time to live by another attribute", _time_to_live(True, "other")
    )  # which ministack takes, and deletes no more
    yield Step("drop", lambda world: done(world.service.tables.delete_table(TableName=world.table)))
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


def _enable_again(view: str) -> Run:
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


def _time_to_live(enabled: bool, attribute: str) -> Run:
    specification = {"Enabled": enabled, "AttributeName": attribute}
    return lambda world: done(
        world.service.tables.update_time_to_live(TableName=world.table, TimeToLiveSpecification=specification)
    )


def _ended(world: World) -> Any:
    """What a deletion by time to live leaves in the stream."""
    world.read()
    item = {"id": {"S": "ends"}, "end": {"N": str(LONG_AGO)}}
    world.service.tables.put_item(TableName=world.table, Item=item)
    records: list[dict[str, Any]] = []
    until = time.monotonic() + SECONDS_TO_DELETE
    while True:
        records += world.read()
        is_there = "Item" in world.service.tables.get_item(TableName=world.table, Key={"id": {"S": "ends"}})
        if not is_there:
            return [told(record) for record in records + world.read()]
        assert time.monotonic() < until, f"{world.service.name} has not deleted it after {SECONDS_TO_DELETE} s"
        time.sleep(0.1)
