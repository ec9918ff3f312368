"""Gaps: what the service no longer holds is named, and stands until it is accepted (law 5)."""

from __future__ import annotations

from streamiter.errors import TransientError
from streamiter.position import After, AtTime, Horizon
from streamiter.reading.patience import FIRST_PAUSE_US
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.token import Token, TokenLane, load_token
from tests.reading.hand import Hand
from tests.reading.test_reading import order, world
from tests.worlds import DAY, HOUR, NOW, SECOND, STREAM, Drive, World, truths


def resumed(everything: World, count: int, *, after_us: int = 0, **options) -> Drive:
    """A reader that goes on from a token taken after so many records."""
    first = Drive(everything)
    first.read(count)
    return Drive(everything, first.token(), now_us=first.now_us + after_us, **options)


def stop_at_gaps(drive: Drive) -> Drive:
    """The gaps stand: nobody accepts them."""
    drive.accept_gap = lambda: None  # type: ignore[method-assign]
    return drive


def test_a_trimmed_place_is_a_gap_that_names_shard_and_position():
    everything = world("S1", S1=truths(5, 4, 3, 2), open=("S1",))
    drive = resumed(everything, 1)
    everything.shards["S1"].trimmed = 2
    stop_at_gaps(drive).run(quiet_us=5 * SECOND)
    gap = drive.reading.next_gap
    assert gap is not None and gap.shard_id == "S1" and str(gap.position) == "record 100" and not drive.out
    assert gap.gap == "the service has trimmed what comes next"


def test_a_gap_stands_until_it_is_accepted_and_then_what_is_held_comes():
    everything = world("S1", S1=truths(5, 4, 3, 2), open=("S1",))
    drive = resumed(everything, 1)
    everything.shards["S1"].trimmed = 2
    stop_at_gaps(drive).run(quiet_us=5 * SECOND)
    assert drive.token() == drive.token() and drive.reading.next_gap is drive.reading.next_gap is not None
    drive.reading.skip_gap(drive.now_us)
    assert drive.reading.next_gap is None and drive.reading.gaps_accepted == 1
    drive.run(2)
    assert order(drive) == "R13 < R14"


def test_a_token_taken_before_a_standing_gap_comes_to_it_again():
    everything = world("S1 ~ S2", S1=truths(5, 4), S2=truths(3), open=("S1", "S2"))
    drive = resumed(everything, 1)
    everything.shards["S1"].trimmed = 2
    stop_at_gaps(drive).run(quiet_us=5 * SECOND)
    again = stop_at_gaps(Drive(everything, drive.token(), now_us=drive.now_us))
    again.run(quiet_us=5 * SECOND)
    assert again.reading.next_gap is not None and again.reading.next_gap.shard_id == "S1"


def test_a_gap_stands_before_what_may_come_after_the_records_lost():
    everything = world("S1 ~ S2", S1=truths(5, 3), S2=truths(4, 2), open=("S1", "S2"))
    drive = resumed(everything, 1)
    everything.shards["S1"].trimmed = 1
    stop_at_gaps(drive).run(quiet_us=5 * SECOND)
    # What S1 has lost may be older than S2's first, of 4 hours ago.
    assert order(drive) == "" and drive.reading.next_gap is not None


def test_other_lanes_keep_fetching_meanwhile():
    everything = world("S1 ~ S2", S1=truths(5, 3), S2=truths(4, 2), open=("S1", "S2"))
    drive = resumed(everything, 1)
    everything.shards["S1"].trimmed = 2
    stop_at_gaps(drive).run(quiet_us=5 * SECOND)
    assert drive.reading.next_gap is not None and len(drive.reading.book.lanes["S2"]) == 2


def test_what_was_fetched_before_the_trim_comes_out_before_the_gap():
    everything = world("S1", S1=truths(5, 4, 3, 2), open=("S1",))
    drive = stop_at_gaps(Drive(everything))
    drive.pages._count = lambda shard_id, waiting, *rest: min(2, waiting)  # type: ignore[method-assign]
    drive.begin()
    drive.deliver(0)
    drive.begin()
    drive.deliver(0)
    everything.shards["S1"].trimmed = 3
    drive.begin()
    drive.deliver(0)
    assert drive.reading.next_gap is None
    drive.pop()
    gap = drive.reading.next_gap
    assert order(drive) == "R11 < R12" and gap is not None and str(gap.position) == "record 101"


def test_a_place_trimmed_where_nothing_follows_is_no_gap_at_the_tip():
    # All up to the tip was read a moment ago; only the last record is a day old.
    everything = world("S1", S1=truths(5), open=("S1",))
    drive = Drive(everything)
    drive.read(1)
    while drive.now_us < 25 * HOUR:
        drive.round()
        drive.now_us += 600 * SECOND
    everything.shards["S1"].trimmed = 1
    drive.iterators.clear()
    drive.reading.expire("S1", drive.now_us)
    everything.shards["S1"].records += truths(-25, first=200)
    drive.run(2)
    assert order(drive) == "R11 < R12" and not drive.gaps


def test_a_lane_not_read_since_it_was_opened_longer_ago_than_retention_is_a_gap():
    everything = world("S1 ~ S2", S1=truths(5), S2=truths(4, 3), open=("S1", "S2"))
    drive = resumed(everything, 1, after_us=DAY - 60 * SECOND)
    drive.run(2)
    assert order(drive) == "R21 < R22" and not drive.gaps
    drive = resumed(everything, 1, after_us=DAY + 60 * SECOND)
    drive.run(2)
    assert order(drive) == "R21 < R22"
    assert drive.gaps == [("S2", "its start is older than what the service holds")]


def test_a_time_older_than_retention_is_a_gap_too():
    token = Token(1, STREAM, start=NOW - HOUR, lanes=(TokenLane("S1", time=NOW - HOUR, opened=NOW),))
    everything = world("S1", S1=truths(5), open=("S1",))
    drive = Drive(everything, token, now_us=DAY)
    drive.run(quiet_us=5 * SECOND)
    assert drive.gaps == [("S1", "its start is older than what the service holds")]


def test_a_time_that_was_before_the_horizon_already_is_as_old_as_the_start():
    start_us = NOW - 3 * DAY
    everything = world("S1", S1=truths(5), open=("S1",))
    drive = Drive(everything, token_at_start(STREAM, start_us))
    drive.run(1)
    assert order(drive) == "R11" and not drive.gaps
    late = AtTime(start_us, NOW)
    assert not late.is_expired(NOW + DAY, DAY) and late.is_expired(NOW + DAY + 1, DAY)
    assert not AtTime(NOW, NOW).is_expired(NOW + DAY, DAY) and AtTime(NOW, NOW).is_expired(NOW + DAY + 1, DAY)
    assert not Horizon().is_expired(NOW + 9 * DAY, DAY)


def test_a_listed_shard_that_is_gone_is_a_gap_where_an_ancestor_was_read():
    everything = world("S1 => S2", S1=truths(5), S2=truths(4), open=("S2",))
    drive = resumed(everything, 1)
    everything.gone.add("S2")
    drive.run(quiet_us=60 * SECOND)
    assert drive.gaps == [("S2", "the service has removed the shard")] and drive.reading.shards_gone == 0


def test_a_listed_shard_that_is_gone_is_only_counted_where_nothing_was_read():
    everything = world("S1 => S2 ~ S3", S1=truths(25), S2=truths(4), S3=truths(5))
    everything.gone.add("S1")
    drive = Drive(everything)
    drive.run(2)
    assert order(drive) == "R31 < R21" and not drive.gaps and drive.reading.shards_gone == 1


def test_a_shard_that_was_half_read_and_is_gone_is_a_gap_and_its_child_is_read():
    everything = world("S1 => S2", S1=truths(5, 4), S2=truths(3), open=("S2",))
    drive = resumed(everything, 1)
    everything.gone.add("S1")
    drive.run(1)
    assert order(drive) == "R21" and drive.gaps == [("S1", "the service has removed the shard")]


def test_a_shard_of_bloops_that_was_half_read_and_is_gone_is_a_gap():
    lane = {"shard_id": "S1", "iterator_type": "after_sequence", "sequence_number": "100"}
    token = load_token({"stream_arn": STREAM, "active": ["S1"], "shards": [lane]})
    everything = world("S1 => S2", S1=truths(5, 4), S2=truths(3), open=("S2",))
    everything.gone.add("S1")
    drive = Drive(everything, token)
    drive.run(1)
    assert order(drive) == "R21" and drive.gaps == [("S1", "the service has removed the shard")]


def test_after_a_gap_order_times_go_on():
    everything = world("S1", S1=truths(5, 4, 7), open=("S1",))
    drive = resumed(everything, 1)
    everything.shards["S1"].trimmed = 2
    drive.run(1)
    assert drive.out[0].order_us == NOW - 5 * HOUR and not drive.out[0].late


def test_gaps_of_several_shards_stand_one_after_another():
    everything = world("S1 ~ S2", S1=truths(5, 3), S2=truths(4, 2), open=("S1", "S2"))
    drive = resumed(everything, 2)
    for shard in everything.shards.values():
        shard.trimmed = 2
    drive.run(quiet_us=5 * SECOND)
    assert [shard for shard, _ in drive.gaps] == ["S1", "S2"] and drive.reading.gaps_accepted == 2


def test_a_gap_stands_without_lateness_too():
    everything = world("S1", S1=truths(5, 4, 3), open=("S1",))
    first = Drive(everything, lateness_us=None)
    first.read(1)
    everything.shards["S1"].trimmed = 2
    drive = Drive(everything, first.token(), lateness_us=None)
    drive.run(1)
    assert order(drive) == "R13" and [shard for shard, _ in drive.gaps] == ["S1"]


def test_an_unread_child_is_asked_for_from_its_horizon_and_keeps_from_when_on_it_may_hold_records():
    everything = world("S1 => S2", S1=truths(5), S2=truths(4))
    drive = Drive(everything)
    drive.read(1)
    (lane,) = [lane for lane in drive.token().lanes if lane.shard == "S2"]
    assert lane.position == Horizon(NOW - 5 * HOUR) and lane.floor == NOW - 5 * HOUR


def test_an_expired_iterator_is_no_gap():
    reading = Hand(token_at_start(STREAM))
    reading.tell([Shard("S1")], NOW, 0)
    reading.push("S1", [Record("S1", "100", NOW - HOUR), Record("S1", "101", NOW - HOUR)], NOW, 0)
    assert reading.pop() is not None
    reading.ask("S1")
    reading.expire("S1", 0)
    position = reading.opening("S1")
    assert reading.due(0) == ["S1"] and isinstance(position, After) and position.place[:2] == (101, 0)


def test_a_failed_call_changes_nothing_but_when_it_is_due():
    reading = Hand(token_at_start(STREAM))
    reading.tell([Shard("S1")], NOW, 0)
    token = reading.token()
    reading.ask("S1")
    reading.failed("S1", TransientError("no"), 5 * SECOND)
    assert reading.token() == token and not reading.due(5 * SECOND + FIRST_PAUSE_US - 1)
    assert reading.due(5 * SECOND + 2 * FIRST_PAUSE_US) == ["S1"]


def test_a_finished_leaf_whose_child_may_have_come_and_gone_meanwhile_is_a_gap():
    everything = world("S1 ~ S2", S1=truths(5), S2=truths(4, -30), open=("S2",))
    drive = resumed(everything, 2, after_us=DAY + HOUR)
    drive.run(1, quiet_us=3 * DAY)
    reason = "no child of it was listed in all the time that the service holds records"
    assert drive.gaps == [("S1", reason)] and order(drive) == "R22"
    again = Drive(everything, drive.token(), now_us=drive.now_us + HOUR)
    again.run(quiet_us=60 * SECOND)
    assert not again.gaps and not again.out


def test_a_finished_leaf_that_was_watched_all_the_time_is_none():
    everything = world("S1 ~ S2", S1=truths(5), S2=truths(4), open=("S2",))
    drive = Drive(everything)
    drive.read(2)
    while drive.now_us < DAY + HOUR:
        drive.round()
        drive.now_us += 1800 * SECOND
    assert not drive.gaps
    again = Drive(everything, drive.token(), now_us=drive.now_us + HOUR)
    again.run(quiet_us=60 * SECOND)
    assert not again.gaps


def test_leaves_of_a_disabled_stream_are_none():
    reading = Hand(Token(1, STREAM, lanes=(TokenLane("S1", depth=0, floor=NOW, ended=NOW),)))
    reading.tell([Shard("S1", closed=True)], NOW + 2 * DAY, 0, is_final=True)
    assert reading.next_gap is None
    now_us = 0
    while now_us <= 60 * SECOND:
        reading.tell([Shard("S1", closed=True)], NOW + 4 * DAY, now_us)
        now_us = reading.listing_due_us or now_us
    assert reading.next_gap is not None


def test_a_trimmed_start_of_bloops_is_a_gap():
    lane = {"shard_id": "S1", "iterator_type": "at_sequence", "sequence_number": "100"}
    token = load_token({"stream_arn": STREAM, "active": ["S1"], "shards": [lane]})
    everything = world("S1", S1=truths(5, 4), open=("S1",))
    assert Drive(everything, token).reading.token().lanes[0].at == "100"
    everything.shards["S1"].trimmed = 1
    drive = Drive(everything, token)
    drive.run(1)
    assert order(drive) == "R12" and [shard for shard, _ in drive.gaps] == ["S1"]


def test_an_increase_of_retention_hides_no_loss_in_a_shard_that_was_fetched_whole_and_not_returned():
    """Its token tells only when it was opened, 20 hours ago. Ten hours later a day has passed, whatever is held since then."""
    opened_us = NOW - 20 * HOUR
    lanes = (TokenLane("S1", opened=opened_us), TokenLane("S9", place=("5", 0), floor=NOW - 30 * HOUR))
    reading = Hand(Token(1, STREAM, lanes=lanes))
    listing = [Shard("S1", (), True), Shard("S9")]
    reading.tell(listing, NOW, 0)
    reading.ask("S1")
    reading.push("S1", [Record("S1", "7", NOW - HOUR)], NOW, 0, opened=True, ended=True)
    reading.retain(7 * DAY)
    reading.tell(listing, NOW, SECOND)
    assert reading.pop() is None, "S9 may hold older ones"
    token = reading.token()
    again = Hand(token, retention_us=7 * DAY)
    again.tell(listing, NOW + 10 * HOUR, 0)
    again.ask("S1")
    assert "S1" in again.book.gaps
