"""Mistakes: requests that a service refuses, and what its refusal is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.testing.differential.step import Run, Step, done
from tests.testing.differential.world import KEYS, World

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/nobody/stream/2025-01-01T00:00:00.000"
NO_SHARD = f"shardId-{'0' * 20}-00000000"


def ask(operation: str, fill: Callable[[World], dict[str, Any]] | None = None, **asked: Any) -> Run:
    """A call of a streams client; `fill` adds what depends on the service."""
    return lambda world: done(getattr(world.service.streams, operation)(**asked, **(fill(world) if fill else {})))


def on_a_table_of_its_own(view: str | None, **stream: Any) -> Run:
    """What UpdateTable says of a StreamSpecification, on a table that has this view's stream, or none."""

    def run(world: World) -> Any:
        spare, specification = f"{world.table}-spare", {"StreamEnabled": True, "StreamViewType": view}
        having = {"StreamSpecification": specification} if view else {}
        world.service.tables.create_table(TableName=spare, BillingMode="PAY_PER_REQUEST", **KEYS, **having)
        try:
            return done(world.service.tables.update_table(TableName=spare, StreamSpecification=stream))
        finally:
            world.service.tables.delete_table(TableName=spare)

    return run


def creating(**stream: Any) -> Run:
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
    Step("describe: unknown start", ask("describe_stream", _here, ExclusiveStartShardId=NO_SHARD)),
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
        "iterator: a number before the shard's",
        ask("get_shard_iterator", _shard, ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber="0" * 21),
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
        ask("get_shard_iterator", _here, ShardId=NO_SHARD, ShardIteratorType="LATEST"),
    ),
    Step(
        "iterator: unknown stream",
        ask("get_shard_iterator", StreamArn=ARN, ShardId=NO_SHARD, ShardIteratorType="LATEST"),
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
