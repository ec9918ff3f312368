"""Pages of Kinesis as JSON: GetRecords' answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from streamiter.testing.kinesis.cbor_pages import write_cbor_page
from streamiter.testing.kinesis.service import KinesisPage, hash_keys
from streamiter.testing.kinesis.truth import KinesisShard, PutRecord

_encode = msgspec.json.Encoder().encode


def write_page(page: KinesisPage) -> bytes:
    """GetRecords' answer: the records' JSON was made when they were put."""
    return with_records(page.records, _rest(page))


def page_in_cbor(page: KinesisPage) -> Callable[[], bytes]:
    """The same in CBOR, when it is asked for."""
    return lambda: write_cbor_page(page.records, _rest(page))


def with_records(records: list[PutRecord], rest: bytes) -> bytes:
    """A JSON object: records, and other members."""
    return b'{"Records":[%b],%b' % (b",".join([record.body for record in records]), rest[1:])


def _rest(page: KinesisPage) -> bytes:
    told: dict[str, Any] = {"MillisBehindLatest": page.behind_us // 1000}
    if page.next_iterator is not None:
        told["NextShardIterator"] = page.next_iterator
    if page.children:
        told["ChildShards"] = told_children(page.children)
    return _encode(told)


def told_children(children: list[KinesisShard]) -> list[dict[str, Any]]:
    """The shards that follow one, as the last page of it names them."""
    return [
        {"ShardId": child.id, "ParentShards": list(child.parents), "HashKeyRange": hash_keys(child)}
        for child in children
    ]
