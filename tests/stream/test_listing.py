"""Listings lag: children that come late, siblings apart, open parents, duplicates, nothing at all, circles."""

from __future__ import annotations

import math

import pytest

from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, assert_none_lost, drain, identities, in_order, take, write


@pytest.fixture
def split(sim: Simulator) -> Simulator:
    """S0 was split into S1 and S2; T0 goes on beside them."""
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "T0", "S2")
    return sim


@pytest.mark.parametrize("last_page", ["records", "empty"])
def test_the_parents_last_page_may_carry_records_and_no_next_iterator(split: Simulator, open_stream: Open, last_page):
    split.knobs.last_page = last_page
    assert_all_came(drain(open_stream(), split.clock), split)


@pytest.mark.parametrize("listing", [1, 2, 3, 4, 7])
def test_children_may_be_listed_late(split: Simulator, open_stream: Open, listing: int):
    split.hide("S1", "S2", passes=listing - 1)
    assert_all_came(drain(open_stream(), split.clock), split)


@pytest.mark.parametrize("apart", [1, 2, 5])
@pytest.mark.parametrize("first", ["S1", "S2"])
def test_a_sibling_may_be_listed_polls_after_the_other(split: Simulator, open_stream: Open, first: str, apart: int):
    """Nobody can know that it is missing: it is read when it turns up, its records late where they are."""
    second = {"S1": "S2", "S2": "S1"}[first]
    split.hide(second, passes=apart)
    records = drain(open_stream(), split.clock, quiet=70 * apart)
    assert_none_lost(records, split.history)
    others = [record for record in records if record.shard_id != second]
    assert identities(others) == identities(w for w in in_order(split) if w.shard_id != second)
    for record in records:
        assert record.late == any(earlier.order_key > record.order_key for earlier in records[: records.index(record)])


def test_an_open_parent_may_stand_beside_its_open_child(split: Simulator, open_stream: Open):
    split.list_open("S0")
    assert_all_came(drain(open_stream(), split.clock), split)


def test_an_open_parent_that_still_gives_records_holds_its_child(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    write(sim, "S0")
    sim.shape("S0 => {S1, S2}")
    sim.list_open("S0")
    stream = open_stream()
    came = take(stream, sim.clock, 2)
    write(sim, "S1", "S2")
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)


def test_rows_may_come_twice(split: Simulator, open_stream: Open):
    split.list_twice("S0", "S1", "T0")
    assert_all_came(drain(open_stream(), split.clock), split)


@pytest.mark.parametrize("passes", [1, 2])
def test_a_listing_may_be_empty(split: Simulator, open_stream: Open, passes: int):
    split.list_nothing(passes=passes)
    assert_all_came(drain(open_stream(), split.clock), split)


def test_a_stream_without_shards_is_looked_at_again(sim: Simulator, open_stream: Open):
    stream = open_stream()
    assert drain(stream, sim.clock, quiet=20) == []
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    assert_all_came(drain(stream, sim.clock), sim)


@pytest.mark.parametrize("order", ["created", "id", "newest_first"])
@pytest.mark.parametrize("per_page", [1, 2, 100])
@pytest.mark.parametrize("empty_end", [True, False])
def test_listings_come_in_any_pages_and_order(split: Simulator, open_stream: Open, order, per_page, empty_end):
    split.knobs.listing_order = order
    split.knobs.shards_per_page = per_page
    split.knobs.ends_with_empty_page = empty_end
    assert_all_came(drain(open_stream(), split.clock), split)


def test_short_pages_do_not_end_a_listing(split: Simulator, open_stream: Open):
    split.knobs.shards_per_page = 1
    split.knobs.listing_order = "id"
    split.hide("S0", passes=1)  # its page is empty, and only LastEvaluatedShardId says that more follows
    split.clock.advance(60)
    assert_none_lost(drain(open_stream(), split.clock), split.history)


@pytest.mark.parametrize("times", [1, 3, math.inf])
def test_a_paging_cursor_may_repeat(split: Simulator, open_stream: Open, times: float):
    split.knobs.shards_per_page = 1
    split.repeat_cursor(times)
    records = drain(open_stream(), split.clock)
    if times < math.inf:
        assert_all_came(records, split)
    else:  # It never shows more than two of them; what it shows is read, and it does not spin.
        assert len(split.calls.of("DescribeStream")) < 100


def test_a_parent_that_is_no_longer_listed_holds_nothing_up(split: Simulator, open_stream: Open):
    split.remove("S0")
    wanted = in_order(split, [record for record in split.history if record.shard_id != "S0"], absent=["S0"])
    assert identities(drain(open_stream(), split.clock)) == identities(wanted)


def test_a_chain_of_empty_closed_shards_is_passed_quickly(sim: Simulator, open_stream: Open):
    sim.shape("S00")
    sim.put("S00")
    for number in range(12):
        sim.shape(f"S{number:02d} => S{number + 1:02d}")
        sim.clock.advance(1)
    sim.put("S12")
    began = sim.clock.monotonic()
    records = take(open_stream(), sim.clock, 2, step=0.1)
    assert identities(records) == identities(sim.history)
    assert sim.clock.monotonic() - began < 5


def test_long_runs_of_empty_pages_are_no_tip(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    sim.empty_pages("S1", 7, 7, 7)
    sim.empty_pages("S2", 0, 5, 7)
    sim.clock.advance(3600)
    assert_all_came(drain(open_stream(), sim.clock), sim)


def test_a_closed_shard_has_no_tip_however_many_empty_pages(sim: Simulator, open_stream: Open):
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.shape("S0 => S1")
    write(sim, "S1", "T0")
    sim.empty_pages("S0", 0, 60, 60)
    sim.clock.advance(3600)
    assert_all_came(drain(open_stream(), sim.clock), sim)


def test_a_closed_shard_without_children_stops_holding_after_ten_listings_and_30_seconds(
    sim: Simulator, open_stream: Open
):
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.close_shard("S0")
    sim.clock.advance(10)
    write(sim, "T0")
    began = sim.clock.monotonic()
    assert_all_came(take(open_stream(), sim.clock, 9), sim)
    assert 30 <= sim.clock.monotonic() - began <= 45
    assert sim.calls.total("DescribeStream") >= 10


def test_a_child_that_turns_up_after_that_is_read_all_the_same(sim: Simulator, open_stream: Open):
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.close_shard("S0")
    write(sim, "T0")
    stream = open_stream()
    came = drain(stream, sim.clock, quiet=60)
    assert len(came) == 9
    sim.shape("S0 => S1")
    write(sim, "S1")
    assert_none_lost(came + drain(stream, sim.clock, quiet=100), sim.history)


def test_a_family_that_turns_up_later_is_read(split: Simulator, open_stream: Open):
    stream = open_stream()
    came = drain(stream, split.clock)
    split.shape("U0")
    write(split, "U0")
    assert_none_lost(came + drain(stream, split.clock, quiet=100), split.history)


def test_listings_go_on_once_a_minute_when_all_is_quiet(split: Simulator, open_stream: Open):
    stream = open_stream()
    drain(stream, split.clock)
    split.calls.clear()
    drain(stream, split.clock, quiet=600)
    assert 9 <= split.calls.total("DescribeStream") <= 12


def test_one_listing_serves_all_that_ended_together(sim: Simulator, open_stream: Open):
    sim.shape(" ~ ".join(f"S{number:02d}" for number in range(20)))
    write(sim, *sim.open_shards)
    sim.roll()
    write(sim, *sim.open_shards)
    records = drain(open_stream(), sim.clock, quiet=20)
    assert_all_came(records, sim)
    assert sim.calls.total("DescribeStream") <= 8


def test_a_listed_shard_that_the_service_does_not_know_is_counted_not_a_gap(split: Simulator, open_stream: Open):
    """Nothing of it, nor of an ancestor, was read (law 5)."""
    split.remove("T0", listed=True)
    stream = open_stream()
    records = drain(stream, split.clock)
    wanted = in_order(split, [record for record in split.history if record.shard_id != "T0"])
    assert identities(records) == identities(wanted)
    assert stream.stats.gone == 1


def test_its_children_are_read(split: Simulator, open_stream: Open):
    split.remove("S0", listed=True)
    stream = open_stream()
    wanted = in_order(split, [record for record in split.history if record.shard_id != "S0"])
    assert sorted(identities(drain(stream, split.clock))) == sorted(identities(wanted))
    assert stream.stats.gone == 1
