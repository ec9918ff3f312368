"""Calls: what was asked, and how it was answered."""

from __future__ import annotations

from streamiter.testing import Simulator
from streamiter.testing.clock import START
from tests.testing.readers import get, iterator, listed, refused


def test_every_call_is_noted():
    with Simulator("S0 => S1") as sim:
        record = sim.put("S0")
        listed(sim)
        sim.clock.advance(1.5)
        first = iterator(sim, "S0", "AT_SEQUENCE_NUMBER", SequenceNumber=record.sequence_number)
        iterator(sim, "S1", "AT_TIMESTAMP", Timestamp=START)
        get(sim, first, Limit=10)
        sim.fault("GetRecords", kind="throttle")
        with refused("ThrottlingException"):
            get(sim, first)
        listing, at_number, at_time, records, refusal = sim.calls
    assert (listing.operation, listing.table, listing.shard, listing.time) == ("DescribeStream", "users", None, START)
    assert (at_number.operation, at_number.shard, at_number.time) == ("GetShardIterator", "S0", START + 1.5)
    assert (at_number.iterator_type, at_number.sequence_number) == ("AT_SEQUENCE_NUMBER", record.sequence_number)
    assert (at_time.iterator_type, at_time.timestamp) == ("AT_TIMESTAMP", START)
    assert (records.operation, records.shard, records.records, records.limit) == ("GetRecords", "S0", 1, 10)
    assert (records.outcome, refusal.outcome, refusal.records) == ("ok", "ThrottlingException", 0)


def test_they_can_be_counted_and_forgotten():
    with Simulator("S0 ~ S1") as sim:
        for shard in ("S0", "S0", "S1"):
            get(sim, iterator(sim, shard))
        assert sim.calls.by_operation == {"GetShardIterator": 3, "GetRecords": 3}
        assert sim.calls.total("GetRecords", shard="S0") == 2
        assert sim.calls.total(shard="S1", outcome="ok") == 2
        assert [call.shard for call in sim.calls.of("GetShardIterator")] == ["S0", "S0", "S1"]
        assert len(sim.calls[1:3]) == 2
        assert "GetRecords" in repr(sim.calls)
        sim.calls.clear()
        assert not sim.calls
        listed(sim)
        assert len(sim.calls) == 1
