"""Reading a stream by its client's calls."""

from __future__ import annotations

from typing import Any


def iterator(client: Any, shard: str, type: str = "TRIM_HORIZON", **options: Any) -> str:
    place = {"StreamName": "orders", "ShardId": shard, "ShardIteratorType": type}
    return client.get_shard_iterator(**place, **options)["ShardIterator"]


def read(client: Any, shard: str, type: str = "TRIM_HORIZON", **options: Any) -> list[bytes]:
    return [
        row["Data"] for row in client.get_records(ShardIterator=iterator(client, shard, type, **options))["Records"]
    ]
