"""Cuts: a stream ends at an awkward moment, the listing loses rows meanwhile, and another one goes on from the token."""

from __future__ import annotations

import json

import pytest

from streamiter import RecordsExpired
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import (
    assert_came,
    assert_none_lost,
    drain,
    drain_over_gaps,
    identities,
    in_order,
    take,
    until_raises,
    write,
)


@pytest.fixture
def grown(sim: Simulator) -> Simulator:
    """Three generations: S0 => {S1, S2}, S1 => S3; T0 => T1 beside them."""
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "T0", "S2")
    sim.shape("S1 => S3; T0 => T1")
    write(sim, "S3", "T1", "S2")
    return sim


def cut(stream) -> dict:
    token = json.loads(json.dumps(stream.token))
    stream.close()
    return token


MISSING = [["S0"], ["S1"], ["S2"], ["S3"], ["S0", "S1"], ["S1", "S2"], ["T0"], ["S0", "T0"], ["S0", "S1", "S2", "S3"]]


@pytest.mark.parametrize("missing", MISSING, ids=" ".join)
@pytest.mark.parametrize("came", [0, 2, 6, 9, 13, 17, 23, 24])
def test_a_first_listing_that_lacks_rows_costs_no_record(grown: Simulator, open_stream: Open, came: int, missing):
    first = open_stream()
    before = take(first, grown.clock, came)
    token = cut(first)
    grown.hide(*missing, passes=2)
    after = drain(open_stream(token), grown.clock, quiet=130)
    assert_none_lost(before + after, grown.history)
    of_those_seen = [record for record in after if not record.late]
    assert [record.order_key for record in of_those_seen] == sorted(record.order_key for record in of_those_seen)


def test_nothing_was_emitted_yet(grown: Simulator, open_stream: Open):
    first = open_stream()
    grown.fault("GetRecords", kind="500", times=None)
    assert next(first) is None
    token = cut(first)
    grown.heal()
    assert_came(drain(open_stream(token), grown.clock), in_order(grown))


def test_nothing_was_emitted_and_the_service_removed_rows(grown: Simulator, open_stream: Open):
    token = cut(open_stream())
    grown.remove("S0")
    grown.remove("T0")
    records, gaps = drain_over_gaps(open_stream(token), grown.clock)
    left = [record for record in grown.history if record.shard_id not in ("S0", "T0")]
    assert identities(records) == identities(in_order(grown, left, absent=["S0", "T0"]))
    assert gaps == []


def test_a_parent_has_ended_and_its_children_are_not_listed(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    write(sim, "S0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2")
    sim.hide("S1", "S2")
    first = open_stream()
    before = take(first, sim.clock, 3)
    next(first)
    token = cut(first)
    sim.show()
    assert_came(before + drain(open_stream(token), sim.clock), in_order(sim), clock=0)


def test_a_parent_has_ended_and_is_not_listed_any_more(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    write(sim, "S0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2")
    sim.hide("S1", "S2")
    first = open_stream()
    before = take(first, sim.clock, 3)
    token = cut(first)
    sim.show()
    sim.remove("S0")
    records, _ = drain_over_gaps(open_stream(token), sim.clock)
    assert identities(before + records) == identities(in_order(sim))


def test_a_sibling_is_unlisted_at_the_cut(sim: Simulator, open_stream: Open):
    """Its parent's floor has to be in the token."""
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    now = sim.clock.now()
    sim.shape("S0 => {S1, S2}")
    for shard in ("S1", "S2"):
        sim.put(shard, created=now - 3600)  # a skewed clock: the floor lifts it
        sim.put(shard)
    sim.hide("S2")
    sim.clock.advance(60)
    first = open_stream()
    before = take(first, sim.clock, 8)
    token = cut(first)
    sim.show()
    after = drain(open_stream(token), sim.clock, quiet=130)
    assert_none_lost(before + after, sim.history)
    keys = {
        identity: record.order_key for record in drain(open_stream(), sim.clock) for identity in identities([record])
    }
    assert {identities([record])[0]: record.order_key for record in before + after} == keys


def test_a_gap_stands_at_the_cut_and_the_listing_loses_the_shard(grown: Simulator, open_stream: Open):
    first = open_stream()
    before = take(first, grown.clock, 4)
    grown.trim("S0")
    second = open_stream(cut(first))
    more, error = until_raises(RecordsExpired, second, grown.clock)
    assert error.shard_id == "S0"
    token = cut(second)
    grown.remove("S0")
    records, gaps = drain_over_gaps(open_stream(token), grown.clock)
    assert [gap.shard_id for gap in gaps] == ["S0"]
    came = identities(before + more + records)
    lost = set(identities(grown.history)) - set(came)
    assert {shard for shard, _ in lost} == {"S0"}
    assert len(came) == len(set(came))


def test_a_leaf_of_the_token_is_gone_and_so_are_its_children(grown: Simulator, open_stream: Open):
    first = open_stream()
    before = take(first, grown.clock, 7)
    token = cut(first)
    for shard in ("S0", "S1", "T0"):
        grown.remove(shard)
    records, gaps = drain_over_gaps(open_stream(token), grown.clock)
    came = identities(before + records)
    assert len(came) == len(set(came))
    assert {shard for shard, _ in set(identities(grown.history)) - set(came)} <= {"S0", "S1", "T0"}
    assert gaps


@pytest.mark.parametrize("came", [0, 1, 5, 12])
def test_growth_while_nobody_reads(grown: Simulator, open_stream: Open, came: int):
    first = open_stream()
    before = take(first, grown.clock, came)
    token = cut(first)
    grown.split("S3", "S4", "S5")
    grown.roll("T1", "T2")
    write(grown, "S4", "T2", "S2", "S5")
    grown.roll("S2", "S6")
    grown.roll("T2", "T3")
    write(grown, "S6", "T3", "S5")
    assert_came(before + drain(open_stream(token), grown.clock), in_order(grown))


def test_every_record_of_a_late_sibling_is_flagged_and_counted(grown: Simulator, open_stream: Open):
    grown.hide("S2", seconds=50)
    stream = open_stream()
    records = drain(stream, grown.clock, quiet=130)
    assert_none_lost(records, grown.history)
    late = [record for record in records if record.late]
    assert {record.shard_id for record in late} == {"S2"}
    assert stream.stats.late == len(late)
