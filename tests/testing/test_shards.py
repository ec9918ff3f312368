"""Shards come, split, roll, close and go; listings show them page by page."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import list_pages, list_rows, listed, read, refused


def parents(sim: Simulator) -> dict[str, str | None]:
    return {row["ShardId"]: row.get("ParentShardId") for row in list_rows(sim)}


def open_ids(sim: Simulator) -> list[str]:
    return [row["ShardId"] for row in list_rows(sim) if "EndingSequenceNumber" not in row["SequenceNumberRange"]]


def test_a_shape_is_listed_as_written(sim):
    assert sim.shape("S0 => {S1, S2}; S2 => S3; (T0) => T1") == ["S0", "S1", "S2", "S3", "T1"]
    assert parents(sim) == {"S0": None, "S1": "S0", "S2": "S0", "S3": "S2", "T1": "T0"}
    assert open_ids(sim) == ["S1", "S3", "T1"]
    assert sim.open_shards == ["S1", "S3", "T1"]


def test_a_shape_can_be_added_to(sim):
    sim.shape("S0 => S1")
    assert sim.shape("S0 => S1 => {S2, S3}") == ["S2", "S3"]
    assert open_ids(sim) == ["S2", "S3"]
    with pytest.raises(ValueError, match="cannot change"):
        sim.shape("T => S2")


def test_dynamodb_has_no_merges(sim):
    with pytest.raises(ValueError, match="S1, S2"):
        sim.shape("{S1, S2} => S3")
    assert listed(sim) == []


def test_a_split_closes_the_parent_and_opens_two_children(sim):
    sim.shape("S0")
    assert sim.split("S0", "S1", "S2") == ["S1", "S2"]
    assert parents(sim) == {"S0": None, "S1": "S0", "S2": "S0"}
    assert open_ids(sim) == ["S1", "S2"]
    with pytest.raises(ValueError, match="already"):
        sim.split("S1", "S2")


def test_children_without_names_get_ids_of_the_service_s_form(sim):
    sim.shape("S0")
    children = sim.split("S0")
    assert len(set(children)) == 2
    assert all(re.fullmatch(r"shardId-\d{20}-[0-9a-f]{8}", child) for child in children)
    assert listed(sim) == ["S0", *children]
    assert children == sorted(children)


def test_a_roll_gives_each_open_shard_one_child(sim):
    sim.shape("S0 => {S1, S2}")
    one, two = sim.roll()
    assert parents(sim) == {"S0": None, "S1": "S0", "S2": "S0", one: "S1", two: "S2"}
    assert sim.roll(one, "S4") == ["S4"]
    assert open_ids(sim) == [two, "S4"]


def test_a_shard_can_close_without_a_child(sim):
    sim.shape("S0")
    record = sim.put("S0")
    sim.close_shard("S0")
    [row] = list_rows(sim)
    numbers = row["SequenceNumberRange"]
    assert int(numbers["StartingSequenceNumber"]) < record.number <= int(numbers["EndingSequenceNumber"])
    assert sim.open_shards == []


def test_unknown_shards_are_a_mistake_of_the_test(sim):
    with pytest.raises(LookupError, match="'S9'"):
        sim.put("S9")


def test_ids_of_the_service_s_form_pass_the_client_s_own_check():
    with Simulator("S1 => S0", ids="service") as sim:
        sim.put("S0", key="a")
        assert re.fullmatch(r"shardId-\d{20}-[0-9a-f]+", sim.shard_id("S0"))
        assert listed(sim) == [sim.shard_id("S1"), sim.shard_id("S0")]
        assert sim.shard_id("S1") < sim.shard_id("S0"), "ids sort as shards were made"
        assert read(sim, "S0") == ["a"]
        assert sim.calls[-1].shard == "S0", "notes name a shard as the test does"
        assert sim.history[0].shard_id == sim.shard(sim.shard_id("S0")).id
        assert sim.split("S0") == sim.open_shards


def test_a_listing_comes_in_pages_of_a_hundred(sim):
    sim.shape(" ~ ".join(f"S{number:03d}" for number in range(250)))
    assert [len(page) for page in list_pages(sim)] == [100, 100, 50]
    assert [len(page) for page in list_pages(sim, Limit=99)] == [99, 99, 52]
    assert listed(sim) == [f"S{number:03d}" for number in range(250)]


def test_a_full_last_page_can_be_followed_by_an_empty_one(sim):
    sim.shape("S0 ~ S1 ~ S2 ~ S3")
    assert [len(page) for page in list_pages(sim, Limit=2)] == [2, 2]
    sim.knobs.ends_with_empty_page = True
    assert [len(page) for page in list_pages(sim, Limit=2)] == [2, 2, 0]


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_limits_out_of_range_are_refused(sim, limit):
    with refused("ValidationException", match="'limit'"):
        listed(sim, Limit=limit)


def test_a_listing_goes_on_after_a_shard_that_was_removed_meanwhile(sim):
    sim.shape("S0 ~ S1 ~ S2")
    sim.remove("S1")
    assert listed(sim, ExclusiveStartShardId="S1") == ["S2"]
    assert listed(sim, ExclusiveStartShardId="S01") == ["S2"], "also after one that never was"
    assert listed(sim, ExclusiveStartShardId="S9") == []


def test_children_are_found_by_the_filter(sim):
    sim.shape("S0 => {S1, S2, S3}; S1 => S4")
    children: dict[str, Any] = {"ShardFilter": {"Type": "CHILD_SHARDS", "ShardId": "S0"}}
    assert listed(sim, **children) == ["S1", "S2", "S3"]
    assert [len(page) for page in list_pages(sim, Limit=2, **children)] == [2, 1]
    sim.knobs.knows_child_filter = False
    assert listed(sim, **children) == ["S0", "S1", "S2", "S3", "S4"]
    with refused("ValidationException"):
        listed(sim, ShardFilter={"Type": "CHILD_SHARDS"})
    with refused("ValidationException"):
        listed(sim, ShardFilter={"Type": "PARENTS", "ShardId": "S0"})


@pytest.mark.parametrize(
    "order,expected",
    [("created", ["S2", "S1", "S3"]), ("id", ["S1", "S2", "S3"]), ("newest_first", ["S3", "S1", "S2"])],
)
def test_listings_have_an_order(sim, order, expected):
    sim.shape("S2 => S1 => S3")
    sim.knobs.listing_order = order
    assert listed(sim) == expected
    assert listed(sim, Limit=1) == expected


# -- listings that lag


def test_a_child_hides_for_some_passes(sim):
    sim.shape("S0 => {S1, S2}")
    sim.hide("S2", passes=2)
    assert [listed(sim, Limit=1) for _ in range(3)] == [["S0", "S1"], ["S0", "S1"], ["S0", "S1", "S2"]]


def test_hidden_rows_leave_short_pages_behind(sim):
    sim.shape("S0 ~ S1 ~ S2")
    sim.hide("S1", "S2")
    assert [[row["ShardId"] for row in page] for page in list_pages(sim, Limit=1)] == [["S0"], [], []]
    sim.show()
    assert listed(sim) == ["S0", "S1", "S2"]


def test_a_child_hides_for_some_seconds(sim):
    sim.shape("S0")
    sim.hide("S1", seconds=3)  # before it is there
    sim.split("S0", "S1")
    assert listed(sim) == ["S0"]
    sim.clock.advance(3)
    assert listed(sim) == ["S0", "S1"]


def test_rows_are_lost_for_some_calls_later_on(sim):
    sim.shape("S0 => {S1, S2}")
    sim.hide("S0", "S1", passes=1, after=1)
    assert [listed(sim) for _ in range(3)] == [["S0", "S1", "S2"], ["S2"], ["S0", "S1", "S2"]]
    sim.hide("S0", calls=1)
    assert [listed(sim, Limit=2), listed(sim, Limit=2)] == [["S1", "S2"], ["S0", "S1", "S2"]]


def test_hidden_shards_are_readable_and_hide_from_the_filter_too(sim):
    sim.shape("S0 => {S1, S2}")
    sim.put("S1", key="a")
    sim.hide("S1")
    assert read(sim, "S1") == ["a"]
    assert listed(sim, ShardFilter={"Type": "CHILD_SHARDS", "ShardId": "S0"}) == ["S2"]


def test_a_closed_parent_can_look_open_beside_its_open_child(sim):
    sim.shape("S0 => S1")
    sim.list_open("S0", passes=1)
    assert open_ids(sim) == ["S0", "S1"]
    assert open_ids(sim) == ["S1"]


def test_rows_can_come_twice(sim):
    sim.shape("S0 => S1")
    sim.list_twice("S0", passes=1)
    assert listed(sim) == ["S0", "S0", "S1"]
    assert listed(sim) == ["S0", "S1"]


def test_a_listing_can_be_empty(sim):
    sim.shape("S0 ~ S1")
    sim.list_nothing(passes=1)
    assert listed(sim, Limit=1) == []
    assert listed(sim, Limit=1) == ["S0", "S1"]


def test_a_cursor_can_repeat(sim):
    sim.shape("S0 ~ S1 ~ S2")
    sim.repeat_cursor()
    assert listed(sim, Limit=1) == ["S0", "S1", "S1", "S2"]
    sim.repeat_cursor(2)
    assert listed(sim, Limit=1) == ["S0", "S1", "S1", "S1", "S2"]
    sim.repeat_cursor(math.inf)
    assert len(list_pages(sim, Limit=1, most=9)) == 9
    sim.show()
    assert listed(sim, Limit=1) == ["S0", "S1", "S2"]


# -- removal


def test_a_removed_shard_is_not_found_and_not_listed(sim):
    sim.shape("S0 => S1")
    sim.remove("S0")
    assert parents(sim) == {"S1": "S0"}
    with refused("ResourceNotFoundException", match="Shard does not exist"):
        read(sim, "S0")


def test_a_removed_shard_can_be_listed_still(sim):
    sim.shape("S0 => S1")
    sim.remove("S0", listed=True)
    assert listed(sim) == ["S0", "S1"]
    with refused("ResourceNotFoundException"):
        read(sim, "S0")


def test_a_closed_shard_leaves_a_day_after_it_closed_and_its_records_went(sim):
    sim.shape("S0")
    sim.clock.advance(hours=1)
    sim.put("S0", key="a")
    sim.split("S0", "S1", "S2")
    sim.clock.advance(hours=23, minutes=59)
    assert listed(sim) == ["S0", "S1", "S2"]
    sim.clock.advance(minutes=1)
    assert listed(sim) == ["S1", "S2"], "open shards stay, however old"
    with refused("ResourceNotFoundException"):
        read(sim, "S0")
