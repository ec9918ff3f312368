"""Opening: which shards may be read, and what a listing says of those that are read already."""

from __future__ import annotations

import msgspec

from streamiter.reading.book import Stage
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from tests.reading.hand import Hand

NOW = 1_750_000_000_000_000
SECOND = 1_000_000


def reading_of(*rows: Shard) -> Hand:
    reading = Hand(token_at_start("s"))
    reading.tell(rows, NOW, 0)
    return reading


def test_a_shard_that_a_listing_shows_closed_is_idle_no_longer():
    reading = reading_of(Shard("S1"), Shard("S2"))
    for shard_id in ("S1", "S2"):
        reading.ask(shard_id)
        reading.push(shard_id, [], NOW, 0, opened=True, caught_up=True)
    schedule = reading.asking.schedule
    assert set(schedule.behind(SECOND)) == set()
    reading.tell([Shard("S1", closed=True), Shard("S2")], NOW, 0)
    assert set(schedule.behind(SECOND)) == {"S1"}


def test_a_listing_without_a_shard_of_the_token_opens_none():
    token = reading_of(Shard("S1"), Shard("S2")).token()
    reading = Hand(token)
    reading.tell([Shard("S2")], NOW, 0)
    assert reading.due(0) == []
    reading.tell([Shard("S1"), Shard("S2")], NOW, 0)
    assert reading.due(0) == ["S1", "S2"]


def test_a_lane_of_the_token_that_was_closed_meanwhile_has_no_tip_any_more():
    token = reading_of(Shard("S1"), Shard("S2")).token()
    reading = Hand(token)
    reading.tell([Shard("S1", closed=True), Shard("S2")], NOW, 0)
    assert [reading.book.lanes[shard_id].closed for shard_id in ("S1", "S2")] == [True, False]


def test_where_closed_shards_count_as_read_reading_begins_with_the_open_ones_below_them():
    token = msgspec.structs.replace(token_at_start("s"), closed_are_read=True)
    reading = Hand(token)
    rows = [Shard("S0", closed=True), Shard("S1", ("S0",), closed=True), Shard("S2", ("S1",)), Shard("S3")]
    reading.tell(rows[::-1], NOW, 0)
    assert reading.due(0) == ["S2", "S3"]
    assert reading.book.stage("S0") is reading.book.stage("S1") is Stage.PAST


def test_a_child_whose_other_parent_is_not_listed_holds_up_all_others_from_its_first_parents_end_on():
    reading = reading_of(Shard("S1"), Shard("S4"))
    reading.push("S4", [Record("S4", "1", NOW)], NOW, 0, caught_up=True)
    rows = [Shard("S1", closed=True), Shard("S3", ("S1", "S2")), Shard("S4")]
    reading.tell(rows, NOW, 0)
    assert not reading.book.merge.is_blocked
    reading.push("S1", [], NOW, 0, ended=True)
    assert reading.book.merge.is_blocked and reading.peek() is None
