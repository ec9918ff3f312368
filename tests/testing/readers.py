"""Readers: the plainest ones that a boto3 client allows, to look at the simulator with."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from streamiter.testing import Simulator


@functools.lru_cache(maxsize=1)  # a client takes as long to make as ten calls
def client_of(sim: Simulator) -> Any:
    return sim.client()


def iterator(sim: Simulator, shard: str, type: str = "TRIM_HORIZON", **options: Any) -> str:
    response = client_of(sim).get_shard_iterator(
        StreamArn=sim.stream_arn, ShardId=sim.shard_id(shard), ShardIteratorType=type, **options
    )
    return response["ShardIterator"]


def get(sim: Simulator, iterator: str, **options: Any) -> dict[str, Any]:
    return client_of(sim).get_records(ShardIterator=iterator, **options)


def read_pages(sim: Simulator, iterator: str | None, most: int = 20, **options: Any) -> list[list[str]]:
    """The pages from an iterator on, as hash keys; no more than `most`, and none after the first that has no next."""
    pages: list[list[str]] = []
    client = client_of(sim)
    while iterator is not None and len(pages) < most:
        page = client.get_records(ShardIterator=iterator, **options)
        pages.append([record["dynamodb"]["Keys"]["id"]["S"] for record in page["Records"]])
        iterator = page.get("NextShardIterator")
    return pages


def read(sim: Simulator, shard: str, type: str = "TRIM_HORIZON", most: int = 5, **options: Any) -> list[str]:
    """The keys of a shard from a place on."""
    return [key for page in read_pages(sim, iterator(sim, shard, type, **options), most) for key in page]


def list_pages(sim: Simulator, most: int = 20, **options: Any) -> list[list[dict[str, Any]]]:
    """One listing, by pages."""
    pages: list[list[dict[str, Any]]] = []
    client = client_of(sim)
    while len(pages) < most:
        description = client.describe_stream(StreamArn=sim.stream_arn, **options)["StreamDescription"]
        pages.append(description["Shards"])
        if "LastEvaluatedShardId" not in description:
            break
        options["ExclusiveStartShardId"] = description["LastEvaluatedShardId"]
    return pages


def list_rows(sim: Simulator, **options: Any) -> list[dict[str, Any]]:
    return [row for page in list_pages(sim, **options) for row in page]


def listed(sim: Simulator, **options: Any) -> list[str]:
    """The ids that one listing shows."""
    return [row["ShardId"] for row in list_rows(sim, **options)]


@contextlib.contextmanager
def refused(name: str, match: str | None = None) -> Iterator[None]:
    """`with refused("ThrottlingException"):` the service must answer with this error."""
    with pytest.raises(ClientError, match=match) as caught:
        yield
    assert caught.value.response["Error"]["Code"] == name
