"""What a token names: the lanes that records may still come from, and of finished ones only what is needed (law 8)."""

from __future__ import annotations

import json

from streamiter.reading.resume import token_at_start
from tests.oracle import assert_same, expected
from tests.reading.test_reading import order, world
from tests.reading.test_resume import go_on, named
from tests.worlds import HOUR, NOW, STREAM, Drive, truths


def test_before_the_first_listing_a_token_says_only_where_to_start():
    drive = Drive(world("S1", S1=truths(5)))
    assert drive.token().to_dict() == {"streamiter": 2, "stream": STREAM, "fresh": True}
    drive = Drive(world("S1", S1=truths(5)), token_at_start(STREAM, NOW - HOUR))
    assert drive.token().to_dict() == {"streamiter": 2, "stream": STREAM, "start": NOW - HOUR, "fresh": True}


def test_before_the_first_record_it_names_the_shards_that_were_opened():
    drive = Drive(world("S1 => S2 ~ S3", S1=truths(5), S2=truths(4), S3=truths(3)))
    drive.begin()
    drive.deliver(0)
    assert named(drive) == "S1 S3"


def test_a_shard_whose_parent_is_not_returned_whole_is_not_named():
    drive = Drive(world("S1 => S2 => S3", S1=truths(5, 4), S2=truths(3)))
    drive.read(1)
    drive.fetch()
    assert {"S1", "S2", "S3"} == set(drive.reading.book.lanes) and named(drive) == "S1"
    drive.read(2)
    assert named(drive) == "(S1) S2"


def test_nor_is_an_empty_one_below_it():
    drive = Drive(world("S1 => S2 => S3 ~ S4", S1=truths(5), S4=truths(9, 4), open=("S4",)))
    drive.read(1)
    drive.fetch()
    assert order(drive) == "R41" and drive.reading.book.lanes["S3"].ended and named(drive) == "S1 S4"
    rest = go_on(drive)
    rest.run(2)
    assert order(rest) == "R11 < R42"


def test_finished_parents_stay_for_the_floor_of_a_sibling_and_finished_leaves_while_they_are_listed():
    drive = Drive(
        world("S1 => {S2, S3}; S2 => S4 ~ S5", S1=truths(9), S2=truths(8), S3=truths(7), S4=truths(6, 1), S5=truths(5))
    )
    drive.read(5)
    assert order(drive) == "R11 < R21 < R31 < R41 < R51"
    assert named(drive) == "(S2) (S3) S4 (S5)"


def test_a_parent_of_two_worlds_stays_until_its_other_childs_other_parent_is_done():
    everything = world(
        "S9 => {S3, S4}; S2 => S3; S4 => S5",
        S9=truths(9),
        S2=truths(9.5, 3),
        S3=truths(9),
        S4=truths(8),
        S5=truths(7, 1),
    )
    drive = Drive(everything)
    drive.read(4)
    assert "(S9)" in named(drive).split(), "S3 is unread, and will need the floor of S9"
    everything.unlisted = everything.gone = {"S9"}
    rest = go_on(drive)
    assert_same(rest.run(3), expected(everything.shards)[4:], clock=4)


def test_it_holds_no_iterator_and_no_content():
    drive = Drive(world("S1", S1=truths(5, 4)))
    drive.read(1)
    told = drive.token().to_dict()
    assert set(told) <= {"streamiter", "stream", "clock", "high", "lanes", "times"}
    assert told["lanes"] == [["S1", 0, [], "100", 0]]


def test_its_size_follows_the_open_lanes():
    count = 40
    text = " => ".join(f"S{index:02d}" for index in range(count))
    drive = Drive(world(text, **{f"S{index:02d}": truths(20) for index in range(count)}))
    drive.read(count // 2)
    assert len(drive.token().lanes) <= 2
    assert len(json.dumps(drive.token().to_dict())) < 500
