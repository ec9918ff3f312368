"""Handing over: closed shards are left to somebody else, none before its ancestors were returned; tokens count them as read."""

from __future__ import annotations

import pytest

from streamiter import Lineage, Record
from streamiter.errors import TimeUnsupported
from streamiter.position import Horizon
from streamiter.reading.resume import token_at_start
from streamiter.token import Token, TokenLane
from tests.reading.hand import Hand

NOW = 1_750_000_000_000_000


def reading_of(token: Token | None = None, **options) -> Hand:
    return Hand(token or token_at_start("s"), hands_over=True, **options)


def listed(reading: Hand, text: str, *closed: str, now_us: int = 0) -> None:
    rows = list(Lineage.parse(text)._shards.values())
    rows = [type(row)(row.id, row.parents, row.id in closed) for row in rows]
    reading.tell(rows, NOW + now_us, now_us)


def records(shard: str, *numbers: int) -> list[Record]:
    return [Record(shard, str(number), NOW - 10_000_000 + number) for number in numbers]


def named(reading: Hand) -> dict[str, TokenLane]:
    return {lane.shard: lane for lane in reading.token().lanes}


def test_closed_shards_are_handed_over_and_open_ones_wished_for():
    reading = reading_of()
    listed(reading, "S0 => S1 => S2", "S0", "S1")
    assert [handed.shard_id for handed in reading.take_handed()] == ["S0", "S1"]
    assert reading.take_handed() == []
    reading.book.merge._check()
    assert reading.due(0) == ["S2"]
    assert named(reading)["S2"].unresolved
    assert reading.unknown_above("S2") == ["S1", "S0"], "nearest first"


def test_what_has_children_is_closed_whatever_its_row_says():
    reading = reading_of()
    listed(reading, "S0 => S1")
    assert [handed.shard_id for handed in reading.take_handed()] == ["S0"]


def test_a_child_is_not_handed_over_before_its_parent_was_returned():
    """P is followed and rolls; its child rolls, too, before anybody lists: but a record of P still waits for Q."""
    reading = reading_of()
    listed(reading, "P ~ Q")
    reading.push("P", records("P", 5), NOW, 0)
    for _ in range(2):  # listings show it open: its end is asked for once more
        reading.push("P", [], NOW, 0, ended=True)
    listed(reading, "P => C => D; Q", "P", "C")
    assert reading.take_handed() == []
    assert "C" not in named(reading), "so it is unread for whoever resumes here"
    reading.push("Q", records("Q", 9), NOW, 0)
    assert reading.pop().shard_id == "P"
    assert [handed.shard_id for handed in reading.take_handed()] == ["C"]
    assert named(reading)["D"].parents == ("C",)
    assert reading.unknown_above("D") == ["C"], "P was read here"


def test_a_shard_that_a_token_was_reading_is_handed_over_from_its_place():
    lane = TokenLane("S0", depth=0, place=("7", 2), floor=NOW - 5)
    reading = reading_of(Token(1, "s", lanes=(lane,)))
    listed(reading, "S0 => S1", "S0")
    [handed] = reading.take_handed()
    assert (handed.shard_id, handed.start.place[:2], handed.floor_us, handed.floor_unknown) == (
        "S0",
        (7, 2),
        NOW - 5,
        False,
    )
    assert named(reading)["S1"].unresolved, "how far S0 goes, only who reads it knows"


def test_a_lane_below_one_that_is_handed_over_has_an_unresolved_floor():
    above = TokenLane("S0", depth=0, place=("7", 0), floor=NOW - 5)
    below = TokenLane("S1", ("S0",), depth=1)
    reading = reading_of(Token(1, "s", lanes=(above, below)))
    listed(reading, "S0 => S1", "S0")
    reading.take_handed()
    assert named(reading)["S1"].unresolved


def test_a_start_older_than_retention_is_a_gap_for_who_is_handed_it_too():
    lane = TokenLane("S0", depth=0, opened=NOW - 2 * 86_400_000_000)
    reading = reading_of(Token(1, "s", lanes=(lane,)))
    listed(reading, "S0 => S1", "S0")
    assert reading.take_handed() == []
    assert reading.next_gap.shard_id == "S0"
    reading.skip_gap(0)
    assert [handed.shard_id for handed in reading.take_handed()] == ["S0"]
    assert reading.due(0) == ["S1"]


def test_a_stream_finds_again_how_far_a_finished_shard_went_that_a_token_leaves_open():
    leaf = TokenLane("S0", depth=0, ended=NOW - 5, unresolved=True)
    reading = Hand(Token(1, "s", lanes=(leaf,)))
    listed(reading, "S0 => S1", "S0")
    assert reading.due(0) == ["S0"], "it is read again, without returning records"
    reading.push("S0", records("S0", 1, 9), NOW, 0, ended=True)
    assert reading.peek() is None
    reading.push("S1", records("S1", 3), NOW, 0, opened=True)
    assert reading.pop().order_us == records("S0", 9)[0].created_us


def test_what_is_handed_over_below_a_shard_passed_over_for_its_age_counts_as_read():
    """The service refuses times, and the first record of a child shows that nothing of its parent is asked for."""
    reading = reading_of(token_at_start("s", NOW - 3600_000_000))
    listed(reading, "S0")
    assert reading.opening("S0") is not None
    reading.ask("S0")
    reading.failed("S0", TimeUnsupported("no times"), 0)
    listed(reading, "S0 => S1", "S0", "S1", now_us=1_000_000)
    assert reading.opening("S0") is None, "its child is looked at first"
    reading.push("S1", [Record("S1", "7", NOW - 3 * 3600_000_000)], NOW, 2_000_000)
    assert [handed.shard_id for handed in reading.take_handed()] == ["S1"]
    assert named(reading)["S1"].ended is not None


def test_below_a_shard_that_another_reader_has_an_open_one_is_read_from_its_horizon_and_all_of_it_is_returned():
    """Its first records may belong before the start, by the order times of its parent: only that reader can tell."""
    start_us = NOW - 3600_000_000
    reading = reading_of(token_at_start("s", start_us))
    listed(reading, "S0 => S1", "S0")
    for following in (reading, reading_of(reading.token())):
        listed(following, "S0 => S1", "S0")
        assert following.due(0) == ["S1"] and isinstance(following.opening("S1"), Horizon)
        assert following.book.lanes["S1"].skip_before_us is None and not following.book.lanes["S1"].closed


def test_below_a_shard_that_another_reader_has_a_closed_one_is_handed_over_with_the_start():
    start_us = NOW - 3600_000_000
    reading = reading_of(token_at_start("s", start_us))
    listed(reading, "S0 => S1", "S0", "S1")
    at_once = reading.take_handed()[1]
    reading = reading_of(token_at_start("s", start_us))
    listed(reading, "S0 => S1", "S0")
    reading = reading_of(reading.token())
    listed(reading, "S0 => S1", "S0", "S1")
    [later] = reading.take_handed()
    assert reading.book.lanes["S1"].closed
    for handed in (at_once, later):
        assert (handed.shard_id, handed.since_us, handed.floor_unknown) == ("S1", start_us, True)


@pytest.mark.parametrize("floor_us, told_us", [(None, NOW - 3), (NOW - 5, NOW - 3), (NOW - 3, None), (NOW - 2, None)])
def test_it_is_told_up_to_when_the_shard_was_read_where_that_is_behind_its_last_record(
    floor_us: int | None, told_us: int | None
):
    lane = TokenLane("S0", depth=0, floor=floor_us, time=NOW - 3, opened=NOW - 9)
    reading = reading_of(Token(1, "s", lanes=(lane,)))
    listed(reading, "S0 => S1", "S0")
    [handed] = reading.take_handed()
    assert (handed.floor_us, handed.read_up_to_us) == (floor_us, told_us)
