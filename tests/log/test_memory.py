"""The memory log: what is appended comes out, in one order over all partitions."""

from __future__ import annotations

import pytest

from streamiter import Stream
from streamiter.errors import PositionTrimmed
from streamiter.log import Entry, MemoryLog
from streamiter.testing import ManualClock


def test_what_is_appended_comes_out_in_the_order_of_time():
    clock = ManualClock()
    log = MemoryLog(partitions=3, clock=clock)
    for number in range(30):
        log.append(number % 3, [Entry(b"%d" % number, key=b"k")])
    clock.advance(10)
    with Stream(log, "trim_horizon") as stream:
        records = [next(stream) for _ in range(12)]
        token = stream.token
    with Stream(log, token) as stream:
        records += [next(stream) for _ in range(18)]
    assert [int(record.payload) for record in records] == list(range(30))
    assert {record.key for record in records} == {b"k"}


def test_what_was_trimmed_unread_is_told():
    log = MemoryLog()
    log.append(0, [Entry(b"%d" % number) for number in range(10)])
    log.trim(0, before=5)
    assert [record.number for record in log.read(0, 4, 100).records] == [5, 6, 7, 8, 9, 10]
    with pytest.raises(PositionTrimmed):
        log.read(0, 3, 100)
