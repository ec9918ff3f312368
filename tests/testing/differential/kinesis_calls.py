"""Kinesis calls: a stream's life at each service, with random records, and each operation once asked for nonsense."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from tests.testing.differential.services import Service

Body = dict[str, Any]
WHOLE = 1 << 128
ARNS = "arn:aws:kinesis:us-east-1:000000000000:stream"
FIRST, SECOND, NO_SHARD = (f"shardId-{number:012d}" for number in (0, 1, 99))


class KinesisCall(NamedTuple):
    """A call, what it is called where the services differ, and what its body needs to know of the stream."""

    label: str
    operation: str
    body: Body
    fill: Callable[[Any, str], Body] | None = None


def outcome(service: Service, stream: str, call: KinesisCall) -> Any:
    """What came of a call: its answer without what no two services say alike, or the status and the name of the error."""
    body = {
        name: value.replace("$stream", stream) if isinstance(value, str) else value for name, value in call.body.items()
    }
    try:
        body |= call.fill(service.kinesis, stream) if call.fill else {}
        answer = getattr(service.kinesis, call.operation)(**body)
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return {"status": status, "error": error.response["Error"]["Code"]}
    answer.pop("ResponseMetadata")
    return _told(answer)


_OWN = {"SequenceNumber", "StartingSequenceNumber", "EndingSequenceNumber", "ShardIterator", "NextShardIterator"}
_OWN |= {"ApproximateArrivalTimestamp", "StreamCreationTimestamp", "ConsumerCreationTimestamp", "ConsumerARN"}
_OWN |= {"NextToken", "MillisBehindLatest"}


def _told(value: Any, name: str = "") -> Any:
    if name in _OWN and value is not None:
        return "some"
    if isinstance(value, dict):
        return {key: _told(part, key) for key, part in value.items()}
    return [_told(part) for part in value] if isinstance(value, list) else value


# -- what depends on the service


def latest(client: Any, stream: str, kind: str = "TRIM_HORIZON", **more: Any) -> Body:
    place = {"StreamName": stream, "ShardId": FIRST, "ShardIteratorType": kind}
    return {"ShardIterator": client.get_shard_iterator(**place, **more)["ShardIterator"]}


def newest_number(client: Any, stream: str) -> Body:
    records = client.get_records(**latest(client, stream))["Records"]
    return {"StartingSequenceNumber": records[-1]["SequenceNumber"]}


def at_newest(client: Any, stream: str, kind: str) -> Body:
    return latest(client, stream, kind, **newest_number(client, stream))


def next_shards(client: Any, stream: str) -> Body:
    return {"NextToken": client.list_shards(StreamName=stream, MaxResults=1)["NextToken"]}


def consumer(client: Any, stream: str) -> Body:
    arn = f"{ARNS}/{stream}"
    return {"ConsumerARN": client.list_stream_consumers(StreamARN=arn)["Consumers"][0]["ConsumerARN"]}


# -- the calls


def calls(seed: int, count: int) -> Iterator[KinesisCall]:
    """A stream is made and described, filled, read, changed, split and deleted."""
    named, arn = {"StreamName": "$stream"}, {"StreamARN": f"{ARNS}/$stream"}
    yield KinesisCall("create", "create_stream", {**named, "ShardCount": 2})
    yield KinesisCall("create again", "create_stream", {**named, "ShardCount": 2})
    for name, body in (("by name", named), ("by ARN", arn)):
        yield KinesisCall(f"describe {name}", "describe_stream", body)
        yield KinesisCall(f"summary {name}", "describe_stream_summary", body)
        yield KinesisCall(f"shards {name}", "list_shards", body)
    yield KinesisCall("streams", "list_streams", {})
    yield KinesisCall("a page of streams", "list_streams", {"Limit": 1})
    yield KinesisCall("streams after the last", "list_streams", {"ExclusiveStartStreamName": "zz"})
    yield KinesisCall("describe a page", "describe_stream", {**named, "Limit": 1})
    yield KinesisCall("describe the rest", "describe_stream", {**named, "ExclusiveStartShardId": FIRST})
    yield KinesisCall("a page of shards", "list_shards", {**named, "MaxResults": 1})
    yield KinesisCall("the next page of shards", "list_shards", {}, next_shards)
    draw = random.Random(seed)
    for _ in range(count):
        yield _put(draw)
    for shard in (FIRST, SECOND):
        place = {**named, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        yield KinesisCall("iterator", "get_shard_iterator", place)
    yield KinesisCall("records", "get_records", {}, latest)
    yield KinesisCall("a page of records", "get_records", {"Limit": 3}, latest)
    yield KinesisCall("records at the tip", "get_records", {}, lambda client, stream: latest(client, stream, "LATEST"))
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        yield KinesisCall(f"records {kind}", "get_records", {}, functools.partial(at_newest, kind=kind))
    since = {"Timestamp": 1_000_000_000}
    old = KinesisCall(
        "records since long ago",
        "get_records",
        {},
        lambda client, stream: latest(client, stream, "AT_TIMESTAMP", **since),
    )
    yield old
    yield from _settings(named, arn)
    yield from _mistakes(named, arn)
    half = str(WHOLE // 4)
    yield KinesisCall("split", "split_shard", {**named, "ShardToSplit": FIRST, "NewStartingHashKey": half})
    yield KinesisCall("shards after a split", "list_shards", named)
    yield KinesisCall("records of a closed shard", "get_records", {}, latest)
    children = {"ShardToMerge": "shardId-000000000002", "AdjacentShardToMerge": "shardId-000000000003"}
    yield KinesisCall("merge", "merge_shards", {**named, **children})
    yield KinesisCall("shards after a merge", "list_shards", named)
    scaled = {"TargetShardCount": 4, "ScalingType": "UNIFORM_SCALING"}
    yield KinesisCall("scale", "update_shard_count", {**named, **scaled})
    yield KinesisCall("shards after scaling", "list_shards", named)
    yield KinesisCall("delete", "delete_stream", named)
    yield KinesisCall("describe what is gone", "describe_stream", named)


def _put(draw: random.Random) -> KinesisCall:
    def record() -> Body:
        size = draw.choice((0, 1, 20, 300))
        made: Body = {"PartitionKey": f"k{draw.randrange(50)}", "Data": draw.randbytes(size)}
        if draw.random() < 0.2:
            made["ExplicitHashKey"] = str(
                draw.choice((0, 1, WHOLE // 2 - 1, WHOLE // 2, WHOLE - 1, draw.randrange(WHOLE)))
            )
        return made

    if draw.random() < 0.5:
        return KinesisCall("put", "put_record", {"StreamName": "$stream", **record()})
    records = [record() for _ in range(draw.randint(1, 9))]
    return KinesisCall("put many", "put_records", {"StreamName": "$stream", "Records": records})


def _settings(named: Body, arn: Body) -> Iterator[KinesisCall]:
    yield KinesisCall("tag", "add_tags_to_stream", {**named, "Tags": {"b": "2", "a": "1", "c": ""}})
    yield KinesisCall("tags", "list_tags_for_stream", named)
    yield KinesisCall("a page of tags", "list_tags_for_stream", {**named, "Limit": 1, "ExclusiveStartTagKey": "a"})
    yield KinesisCall("untag", "remove_tags_from_stream", {**named, "TagKeys": ["a", "z"]})
    yield KinesisCall("tags left", "list_tags_for_stream", named)
    for operation, hours in (("increase", 48), ("increase", 48), ("decrease", 24)):
        body = {**named, "RetentionPeriodHours": hours}
        yield KinesisCall(f"{operation} to {hours}", f"{operation}_stream_retention_period", body)
    metrics = {**named, "ShardLevelMetrics": ["IncomingBytes"]}
    yield KinesisCall("metrics on", "enable_enhanced_monitoring", metrics)
    yield KinesisCall("summary with metrics", "describe_stream_summary", named)
    yield KinesisCall("metrics off", "disable_enhanced_monitoring", metrics)
    key = {**named, "EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}
    yield KinesisCall("encrypt", "start_stream_encryption", key)
    yield KinesisCall("summary, encrypted", "describe_stream_summary", named)
    yield KinesisCall("decrypt", "stop_stream_encryption", key)
    yield KinesisCall("register", "register_stream_consumer", {**arn, "ConsumerName": "one"})
    yield KinesisCall("register again", "register_stream_consumer", {**arn, "ConsumerName": "one"})
    yield KinesisCall("consumers", "list_stream_consumers", arn)
    yield KinesisCall("consumer", "describe_stream_consumer", {}, consumer)
    yield KinesisCall("consumer by name", "describe_stream_consumer", {**arn, "ConsumerName": "one"})
    yield KinesisCall("deregister", "deregister_stream_consumer", {}, consumer)
    yield KinesisCall("consumer that is gone", "describe_stream_consumer", {**arn, "ConsumerName": "one"})
    policy = {"ResourceARN": f"{ARNS}/$stream", "Policy": '{"Version":"2012-10-17","Statement":[]}'}
    yield KinesisCall("policy", "put_resource_policy", policy)
    yield KinesisCall("tag a resource", "tag_resource", {"ResourceARN": f"{ARNS}/$stream", "Tags": {"a": "1"}})
    yield KinesisCall("limits", "describe_limits", {})
    mode = {"StreamModeDetails": {"StreamMode": "PROVISIONED"}}
    yield KinesisCall("mode", "update_stream_mode", {**arn, **mode})


def _mistakes(named: Body, arn: Body) -> Iterator[KinesisCall]:
    nobody = {"StreamName": "nobody"}
    record: Body = {"PartitionKey": "k", "Data": b"x"}
    place = {"ShardId": FIRST, "ShardIteratorType": "LATEST"}
    at = {**named, "ShardId": FIRST}
    wrong: list[tuple[str, str, Body]] = [
        ("create: no name", "create_stream", {"ShardCount": 1}),
        ("create: no shards", "create_stream", {"StreamName": "other", "ShardCount": 0}),
        ("create: a bad name", "create_stream", {"StreamName": "a b", "ShardCount": 1}),
        ("create: a long name", "create_stream", {"StreamName": "a" * 129, "ShardCount": 1}),
        ("create: too many shards", "create_stream", {"StreamName": "other", "ShardCount": 1_000_000}),
        *((f"{name}: unknown stream", name, nobody) for name in ("delete_stream", "describe_stream", "list_shards")),
        ("describe_stream_summary: unknown stream", "describe_stream_summary", nobody),
        ("describe: no stream", "describe_stream", {}),
        ("describe: limit 0", "describe_stream", {**named, "Limit": 0}),
        ("list: limit 0", "list_streams", {"Limit": 0}),
        ("shards: limit 0", "list_shards", {**named, "MaxResults": 0}),
        ("shards: a bad token", "list_shards", {"NextToken": "x"}),
        ("shards: nothing", "list_shards", {}),
        ("put: unknown stream", "put_record", {**nobody, **record}),
        ("put: no key", "put_record", {**named, "Data": b"x"}),
        ("put: no data", "put_record", {**named, "PartitionKey": "k"}),
        ("put: an empty key", "put_record", {**named, **record, "PartitionKey": ""}),
        ("put: a long key", "put_record", {**named, **record, "PartitionKey": "k" * 257}),
        ("put: much data", "put_record", {**named, **record, "Data": b"x" * 1_048_577}),
        ("put: a hash key beyond", "put_record", {**named, **record, "ExplicitHashKey": str(WHOLE)}),
        ("put: a bad hash key", "put_record", {**named, **record, "ExplicitHashKey": "-1"}),
        ("put many: none", "put_records", {**named, "Records": []}),
        ("put many: 501", "put_records", {**named, "Records": [record] * 501}),
        ("iterator: unknown stream", "get_shard_iterator", {**nobody, **place}),
        ("iterator: unknown shard", "get_shard_iterator", {**named, **place, "ShardId": NO_SHARD}),
        ("iterator: no type", "get_shard_iterator", at),
        ("iterator: a bad type", "get_shard_iterator", {**at, "ShardIteratorType": "NOPE"}),
        ("iterator: no number", "get_shard_iterator", {**at, "ShardIteratorType": "AT_SEQUENCE_NUMBER"}),
        ("iterator: a needless number", "get_shard_iterator", {**named, **place, "StartingSequenceNumber": "1"}),
        (
            "iterator: a foreign number",
            "get_shard_iterator",
            {**at, "ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": "1"},
        ),
        ("iterator: no time", "get_shard_iterator", {**at, "ShardIteratorType": "AT_TIMESTAMP"}),
        ("records: a bad iterator", "get_records", {"ShardIterator": "x"}),
        ("records: no iterator", "get_records", {}),
        ("split: unknown shard", "split_shard", {**named, "ShardToSplit": NO_SHARD, "NewStartingHashKey": "9"}),
        ("split: at the start", "split_shard", {**named, "ShardToSplit": FIRST, "NewStartingHashKey": "0"}),
        ("split: beyond", "split_shard", {**named, "ShardToSplit": FIRST, "NewStartingHashKey": str(WHOLE - 1)}),
        ("split: no key", "split_shard", {**named, "ShardToSplit": FIRST}),
        ("merge: unknown shard", "merge_shards", {**named, "ShardToMerge": FIRST, "AdjacentShardToMerge": NO_SHARD}),
        ("scale: too far", "update_shard_count", {**named, "TargetShardCount": 99, "ScalingType": "UNIFORM_SCALING"}),
        ("scale: no type", "update_shard_count", {**named, "TargetShardCount": 2}),
        ("scale: none", "update_shard_count", {**named, "TargetShardCount": 0, "ScalingType": "UNIFORM_SCALING"}),
        ("retain: too short", "decrease_stream_retention_period", {**named, "RetentionPeriodHours": 23}),
        ("retain: too long", "increase_stream_retention_period", {**named, "RetentionPeriodHours": 8761}),
        ("retain: less by more", "increase_stream_retention_period", {**named, "RetentionPeriodHours": 12}),
        ("tags: none", "add_tags_to_stream", {**named, "Tags": {}}),
        ("tags: of AWS", "add_tags_to_stream", {**named, "Tags": {"aws:a": "b"}}),
        ("tags: bad", "add_tags_to_stream", {**named, "Tags": {"a!": "b"}}),
        ("metrics: none", "enable_enhanced_monitoring", {**named, "ShardLevelMetrics": []}),
        ("metrics: unknown", "enable_enhanced_monitoring", {**named, "ShardLevelMetrics": ["NOPE"]}),
        ("encrypt: without a key", "start_stream_encryption", {**named, "EncryptionType": "KMS"}),
        ("encrypt: a bad type", "start_stream_encryption", {**named, "EncryptionType": "NOPE", "KeyId": "k"}),
        ("register: no name", "register_stream_consumer", arn),
        ("register: a bad name", "register_stream_consumer", {**arn, "ConsumerName": "a b"}),
        ("consumers: a bad token", "list_stream_consumers", {**arn, "NextToken": "x"}),
        ("consumer: nothing", "describe_stream_consumer", {}),
        ("consumer: unknown", "describe_stream_consumer", {**arn, "ConsumerName": "nobody"}),
        ("deregister: unknown", "deregister_stream_consumer", {**arn, "ConsumerName": "nobody"}),
    ]
    for label, operation, body in wrong:
        yield KinesisCall(label, operation, body)
