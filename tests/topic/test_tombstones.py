"""Tombstones: a key has no value any more; every log keeps them, and every reader gets None."""

from __future__ import annotations

import json

import pytest

from streamiter import App, Stream
from streamiter.errors import InvalidOption
from streamiter.log import LogRecord, MemoryLog
from tests.topic.sends import order, topic_on


def test_a_tombstone_goes_where_its_key_s_values_go_and_comes_out_as_none():
    topic = topic_on(MemoryLog(partitions=7), record=dict)
    for number in range(10):
        sent = topic.send(order(number), key=f"k{number}")
        assert topic.send_tombstone(f"k{number}", headers={"why": "gone"}).partition == sent.partition
    with pytest.raises(InvalidOption, match="None is no key"):
        topic.send_tombstone(None)
    with Stream(topic) as stream:
        found = list(stream.follow(until="caught_up"))
    for number in range(10):
        value, gone = [record for record in found if record.key == b"k%d" % number]
        assert value.payload["id"] == number and not value.is_tombstone
        assert (gone.payload, gone.is_tombstone, gone.headers) == (None, True, (("why", b"gone"),))
        assert (
            gone["payload"] is None and json.loads(gone.to_json())["payload"] is None and "nothing under" in str(gone)
        )


def test_tables_have_null_for_a_tombstone():
    topic = topic_on(MemoryLog())
    topic.sendmany([order(1)])
    topic.send_tombstone("k")
    with Stream(topic) as stream:
        assert [row is None for row in stream.to_arrow()["payload"].to_pylist()] == [False, True]


def test_a_processor_gets_none_for_a_tombstone():
    app = App("shop", store="memory:")
    orders = app.topic("sqlite:///never-opened.db?topic=orders", record=dict, partition_by="id")
    seen = []

    @app.processor(orders)
    def bill(value):
        seen.append(value)

    app.test({"orders": [LogRecord("0", "1", None, raw_payload=None, key=b"k"), {"id": 1}]})
    assert seen == [None, {"id": 1}] or seen == [{"id": 1}, None]
