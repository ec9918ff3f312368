"""Tokens of a whole stream: a reader goes on from any moment of another, as if it had never been cut (laws 5, 6, 8)."""

from __future__ import annotations

import json

import pytest

from streamiter.errors import Throttled
from streamiter.lineage import Lineage
from streamiter.position import AtTime, Place
from streamiter.precision import Precision
from streamiter.reading.resume import token_at_latest, token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.token import Token, TokenLane, load_token
from tests.oracle import assert_same, expected
from tests.reading.hand import Hand
from tests.reading.test_reading import order, world
from tests.reading.test_reading_listings import Lacks
from tests.worlds import HOUR, NOW, SECOND, STREAM, Drive, Lag, World, WorldShard, truths


def named(drive: Drive) -> str:
    """The lanes of the token, finished ones in parentheses."""
    return " ".join(f"({lane.shard})" if lane.ended is not None else lane.shard for lane in drive.token().lanes)


def go_on(drive: Drive, *, lag: Lag | None = None) -> Drive:
    """A reader that goes on from the token, as it comes back from a file."""
    token = load_token(json.loads(json.dumps(drive.token().to_dict())))
    return Drive(drive.world, token, now_us=drive.now_us, lag=lag)


def test_a_token_follows_what_was_returned_not_what_was_fetched():
    drive = Drive(world("S1", S1=truths(5, 4, 3)))
    drive.begin()
    drive.deliver(0)
    before = drive.token()
    drive.begin()
    drive.deliver(0)
    assert drive.token() == before, "a page was fetched"
    assert drive.reading.peek() is not None and drive.token() == before, "a record was looked at"
    drive.pop(1)
    assert drive.token().lanes[0].place == ("100", 0) and drive.token().clock == 1


def test_what_is_taken_from_a_run_of_records_counts():
    drive = Drive(world("S1", S1=truths(5, 4, 3)))
    drive.begin()
    drive.deliver(0)
    drive.begin()
    drive.deliver(0)
    records = drive.reading.records()
    next(records)
    assert drive.token().lanes[0].place == ("100", 0)
    next(records)
    assert drive.token().lanes[0].place == ("101", 0)


def test_faults_and_expired_iterators_change_no_token():
    drive = Drive(world("S1 ~ S2", S1=truths(5, 4), S2=truths(4, 2), open=("S1", "S2")))
    drive.read(1)
    before = drive.token()
    for shard_id in ("S1", "S2"):
        drive.reading.failed(shard_id, Throttled("no"), 0)
        drive.reading.expire(shard_id, 0)
    assert drive.token() == before


@pytest.mark.parametrize("cut", range(7))
def test_the_seed_case_goes_on_from_any_of_its_records(cut: int):
    everything = world("S0 => {S1, S2}", S0=truths(7), S1=truths(6, 4, 2), S2=truths(4, 3, 3))
    wanted = expected(everything.shards)
    drive = Drive(everything)
    drive.read(cut)
    assert_same(drive.out, wanted[:cut])
    assert_same(go_on(drive).run(7 - cut), wanted[cut:], clock=cut)


def test_a_parent_ended_and_half_returned():
    drive = Drive(world("S1 => S2", S1=truths(5, 4, 3), S2=truths(6)))
    drive.read(2)
    assert drive.reading.book.lanes["S1"].ended and "S2" in drive.reading.book.lanes
    rest = go_on(drive)
    rest.run(2)
    assert order(rest) == "R13 < R21" and rest.out[1].order_us == NOW - 3 * HOUR


def test_a_sibling_that_was_not_listed_yet():
    everything = world("S1 => {S2, S3}", S1=truths(5), S2=truths(4, 2), S3=truths(6, 3))
    drive = Drive(everything, lag=Lacks("", *["S3"] * 99))
    del everything.shards["S3"]
    drive.read(2)
    everything.shards["S3"] = WorldShard("S3", ("S1",), truths(6, 3), closed_us=0)
    rest = go_on(drive)
    rest.run(3)
    assert order(rest) == "R31! < R32 < R22", "its first comes at the floor, after R21 was out"
    assert rest.out[0].order_us == NOW - 5 * HOUR


def test_a_sibling_that_was_not_listed_yet_though_its_parent_is_trimmed_since():
    everything = world("S1 => S2", S1=truths(5), S2=truths(4, 2))
    drive = Drive(everything)
    drive.read(2)
    everything.shards["S3"] = WorldShard("S3", ("S1",), truths(6, 3), closed_us=0)
    everything.unlisted = everything.gone = {"S1"}
    rest = go_on(drive)
    rest.run(3)
    assert order(rest) == "R31! < R32 < R22" and rest.out[0].order_us == NOW - 5 * HOUR


def test_a_sibling_far_below_finds_its_floor_by_reading_anew():
    # S1 is no lane of the token any more: only its records tell where S3's may stand.
    everything = world("S1 => S2 => S4 => S5", S1=truths(5), S2=truths(4), S4=truths(3), S5=truths(2, 1))
    drive = Drive(everything)
    drive.read(4)
    assert named(drive) == "(S4) S5"
    everything.shards["S3"] = WorldShard("S3", ("S1",), truths(6), closed_us=0)
    rest = go_on(drive)
    rest.run(2)
    assert order(rest) == "R31! < R52" and rest.out[0].order_us == NOW - 5 * HOUR
    assert not any(o.shard == "S1" for o in rest.out)


def test_an_unresolved_floor_is_found_before_anything_comes_out():
    everything = world(
        "S1 => S2 => S3 ~ S4", S1=truths(5), S2=truths(4), S3=truths(6, 2), S4=truths(4.5, 3), open=("S3", "S4")
    )
    lanes = (TokenLane("S3", ("S2",), unresolved=True), TokenLane("S4"))
    drive = Drive(everything, Token(1, STREAM, lanes=lanes))
    drive.run(4)
    assert order(drive) == "R41 < R31 < R42 < R32", "R31 stands where S2 ended, 4 hours ago"
    assert not drive.token().lanes[0].unresolved


def test_an_unresolved_floor_whose_ancestors_are_trimmed_is_none():
    everything = world("S2 => S3", S2=truths(4), S3=truths(6), open=("S3",))
    everything.gone.add("S2")
    drive = Drive(everything, Token(1, STREAM, lanes=(TokenLane("S3", ("S2",), unresolved=True),)))
    drive.run(1)
    assert order(drive) == "R31" and drive.out[0].order_us == NOW - 6 * HOUR and not drive.gaps


def test_a_token_with_a_floor_unresolved_keeps_it_until_it_is_known():
    token = Token(1, STREAM, lanes=(TokenLane("S3", ("S2",), unresolved=True),))
    reading = Hand(token)
    reading.tell([Shard("S2"), Shard("S3", ("S2",))], NOW, 0)
    assert reading.due(0) == ["S2"] and reading.token().lanes[0].unresolved
    reading.push("S2", [Record("S2", "1", NOW - HOUR)], NOW, 0, ended=True)
    assert reading.due(0) == ["S3"] and not reading.token().lanes[0].unresolved
    assert reading.token().lanes[0].floor == NOW - HOUR


def test_late_stays_late_over_a_resume():
    everything = world("S1 => {S2, S3}", S1=truths(5), S2=truths(4, 2), S3=truths(3))
    drive = Drive(everything)
    del everything.shards["S3"]
    drive.read(3)
    everything.shards["S3"] = WorldShard("S3", ("S1",), truths(3), closed_us=0)
    rest = go_on(drive)
    rest.run(1)
    assert order(rest) == "R31!" and rest.reading.book.merge.late == 1


def test_a_finished_leaf_whose_children_turn_up_after_the_resume():
    everything = world("S1 ~ S2", S1=truths(5), S2=truths(4, 1), open=("S2",))
    drive = Drive(everything)
    drive.run(3)
    assert named(drive) == "(S1) S2"
    everything.shards["S3"] = WorldShard("S3", ("S1",), truths(6, 2))
    rest = go_on(drive)
    rest.run(2)
    assert order(rest) == "R31! < R32!" and rest.out[0].order_us == NOW - 5 * HOUR


def test_a_finished_leaf_that_is_listed_is_not_read_again():
    everything = world("S1 ~ S2", S1=truths(5), S2=truths(4))
    drive = Drive(everything)
    drive.run(2)
    rest = go_on(drive)
    rest.run(quiet_us=60 * SECOND)
    assert not rest.out and named(rest) == "(S1) (S2)"


def test_a_childless_leaf_holds_nobody_up_after_a_resume():
    everything = world("S1 ~ S2", S1=truths(5), S2=truths(4, 3), open=("S2",))
    drive = Drive(everything)
    drive.read(2)
    assert drive.now_us >= 30 * SECOND
    rest = go_on(drive)
    rest.read(1)
    assert order(rest) == "R22" and rest.now_us == drive.now_us


def test_ranks_stay_when_ancestors_are_trimmed():
    everything = world("S9 => {S1, S2} ~ S5", S9=truths(5), S1=truths(4, 4), S2=truths(4), S5=truths(4))
    wanted = expected(everything.shards)
    drive = Drive(everything)
    drive.read(2)
    everything.unlisted = everything.gone = {"S9"}
    assert_same(go_on(drive).run(3), wanted[2:], clock=2)


def test_an_idle_lane_resumes_ten_minutes_behind_its_tip():
    everything = world("S1", S1=truths(5), open=("S1",))
    drive = Drive(everything, token_at_start(STREAM, NOW - HOUR))
    while drive.now_us < 60 * SECOND:
        drive.round()
    (lane,) = drive.token().lanes
    assert lane.time is not None and 599 * SECOND <= NOW + drive.now_us - lane.time <= 605 * SECOND
    everything.shards["S1"].records += truths(-0.001)
    rest = go_on(drive)
    rest.run(1)
    assert order(rest) == "R12" and not rest.gaps


# -- latest


def test_latest_names_every_leaf_and_the_second_before_now():
    rows = [Shard("S1", closed=True), Shard("S2", ("S1",)), Shard("S3", ("S1",), closed=True), Shard("S9", ("S0",))]
    token = token_at_latest(STREAM, rows, NOW + 500_000, Precision(SECOND))
    start_us = NOW - SECOND
    assert [lane.shard for lane in token.lanes] == ["S2", "S3", "S9"] and token.start == start_us and not token.fresh
    assert all(lane.position == AtTime(start_us, NOW + 500_000) for lane in token.lanes)


def test_latest_of_a_stream_without_shards_reads_whatever_comes():
    token = token_at_latest(STREAM, [], NOW, Precision(SECOND))
    assert token.fresh and token.start == NOW - SECOND
    everything = World([WorldShard("S1", (), truths(-0.001), born_us=NOW)])
    drive = Drive(everything, token)
    drive.run(1)
    assert order(drive) == "R11"


def test_latest_sees_what_is_written_later_in_shards_that_are_born_later():
    everything = world("S1", S1=truths(5, -0.01), open=("S1",))
    token = token_at_latest(STREAM, everything.rows(NOW), NOW, Precision(SECOND))
    everything.shards["S1"].closed_us = NOW + 40 * SECOND
    everything.shards["S2"] = WorldShard("S2", ("S1",), truths(-0.02), born_us=NOW + 40 * SECOND)
    drive = Drive(everything, token)
    drive.run(2)
    assert order(drive) == "R12 < R21"


def test_a_token_of_latest_is_good_before_the_first_record():
    everything = world("S1 => S2", S1=truths(5), S2=truths(4, -0.01), open=("S2",))
    drive = Drive(everything, token_at_latest(STREAM, everything.rows(NOW), NOW, Precision(SECOND)))
    rest = go_on(go_on(drive))
    rest.run(1)
    assert order(rest) == "R22"


def test_the_lineage_of_a_token_is_the_one_that_was_read():
    drive = Drive(world("S9 => {S1, S2}", S9=truths(5), S1=truths(4), S2=truths(3)))
    drive.read(2)
    reading = Hand(drive.token())
    assert reading.book.lineage == Lineage.parse("S9 => {S1, S2}")
    assert reading.book.lineage.rank("S1") == drive.reading.book.lineage.rank("S1")


def test_a_place_that_the_source_tells_as_it_opens_a_shard_stands_in_the_token_at_once():
    reading = Hand(token_at_start(STREAM))
    reading.tell([Shard("S1")], NOW, 0)
    reading.opened("S1", Place(7, 0))
    reading.push("S1", [], NOW, 0)
    assert [lane.place for lane in reading.token().lanes] == [("7", 0)]
