"""Pages of Kinesis as JSON: GetRecords' answer."""

from __future__ import annotations

from typing import Any

import msgspec

from streamiter.testing.kinesis.service import KinesisPage, hash_keys
from streamiter.testing.kinesis.truth import KinesisShard

_encode = msgspec.json.Encoder().encode


def write_page(page: KinesisPage) -> bytes:
    """GetRecords' answer: the records' JSON was made when they were put."""
    told: dict[str, Any] = {"MillisBehindLatest": page.behind_us // 1000}
    if page.next_iterator is not None:
        told["NextShardIterator"] = page.next_iterator
    if page.children:
        told["ChildShards"] = told_children(page.children)
    records = b",".join([record.body for record in page.records])
    return b'{"Records":[%b],%b' % (records, _encode(told)[1:])


def told_children(children: list[KinesisShard]) -> list[dict[str, Any]]:
    """The shards that follow one, as the last page of it names them."""
    return [
        {"ShardId": child.id, "ParentShards": list(child.parents), "HashKeyRange": hash_keys(child)}
        for child in children
    ]
