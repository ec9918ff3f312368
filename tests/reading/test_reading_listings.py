"""What the reading makes of listings: they lag, repeat, lack rows, and come before or after what they tell of."""

from __future__ import annotations

import pytest

from streamiter.errors import AccessDenied
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import ShardPage
from streamiter.token import Token, TokenLane
from tests.reading.hand import Hand
from tests.reading.test_reading import order, read, world
from tests.worlds import DAY, HOUR, NOW, SECOND, STREAM, Drive, Lag, Truth, World, WorldShard, truths


class Lacks(Lag):
    """Listings that lack these shards: the first lacks the first set, and so on; later ones lack nothing."""

    def __init__(self, *hidden: str) -> None:
        self.sets = [set(names.split()) for names in hidden]

    def hidden(self, world: World, call: int, service_us: int) -> set[str]:
        return self.sets[call] if call < len(self.sets) else set()


def test_a_child_listed_late_is_waited_for():
    everything = world("S1 => S3 ~ S2", S1=truths(5), S3=truths(4), S2=truths(3))
    assert read(everything, lag=Lacks(*["S3"] * 9)) == "R11 < R31 < R21"


def test_a_listing_begun_before_the_end_does_not_count():
    everything = world("S1 => {S3, S4} ~ S2", S1=truths(5), S3=truths(4), S4=truths(4), S2=truths(3))
    drive = Drive(everything, lag=Lacks("S3 S4"))
    drive.begin()
    drive.deliver(0)
    drive.now_us += 60 * SECOND
    drive.begin()  # a listing begins, then S1 is read to its end
    (listing,) = [flight for flight in drive.flights if flight.shard is None]
    drive.lag = Lacks("", "S4")
    for flight in [flight for flight in drive.flights if flight.shard]:
        drive.deliver(drive.flights.index(flight))
    drive.deliver(drive.flights.index(listing))
    drive.pop()
    assert order(drive) == "R11" and drive.reading.book.discovery.is_waiting("S1")


def test_siblings_that_turn_up_apart_the_later_one_is_late_where_it_is():
    everything = world("S1 => {S2, S3} ~ S4", S1=truths(5), S2=truths(4, 1), S3=truths(4, 2), S4=truths(3))
    assert read(everything, lag=Lacks("S2 S3", *["S3"] * 3)) == "R11 < R21 < R41 < R31! < R32 < R22"


def test_a_late_sibling_still_knows_its_floor():
    everything = world("S9 => {S2, S3} ~ S4", S9=truths(5), S2=truths(4), S3=truths(7, 3), S4=truths(2))
    drive = Drive(everything, lag=Lacks("S2 S3", *["S3"] * 3))
    drive.run()
    late = [o for o in drive.out if o.shard == "S3"]
    assert [o.order_us for o in late] == [NOW - 5 * HOUR, NOW - 3 * HOUR] and late[0].rank == ("S9", 1, "S3")


def test_a_shard_that_ends_without_children_stops_holding_after_ten_listings_and_half_a_minute():
    drive = Drive(world("S1 ~ S2", S1=truths(5), S2=truths(4), open=("S2",)))
    drive.read(1)
    assert order(drive) == "R11" and drive.reading.held_by == "S1" and drive.now_us == 0
    while len(drive.out) < 2:
        drive.round()
    assert drive.now_us >= 30 * SECOND and drive.listings >= 10
    assert order(drive) == "R11 < R21" and drive.now_us <= 40 * SECOND


def test_children_that_turn_up_after_all_are_read_late_where_they_are():
    everything = world("S1 => S3 ~ S2", S1=truths(5), S3=truths(4, 2), S2=truths(3), open=("S2", "S3"))
    drive = Drive(everything, lag=Lacks(*["S3"] * 14))
    drive.run(4, quiet_us=600 * SECOND)
    assert order(drive) == "R11 < R21 < R31! < R32"


def test_an_empty_list_is_one_of_the_ways_in_which_listings_lag():
    everything = world("S1 => S2", S1=truths(5), S2=truths(4))
    assert read(everything, lag=Lacks("S1 S2", "S1 S2")) == "R11 < R21"


def test_a_stream_being_enabled_lists_no_shards_for_long():
    everything = World([WorldShard("S1", (), truths(0), born_us=NOW + 40 * SECOND)])
    drive = Drive(everything)
    drive.run(1)
    assert order(drive) == "R11" and drive.now_us < 45 * SECOND


def test_a_child_whose_parent_a_listing_lacks_waits_for_the_next():
    everything = world("S1 => S2 => S3", S1=truths(5), S2=truths(4), S3=truths(3))
    assert read(everything, lag=Lacks("S1", "S2")) == "R11 < R21 < R31"
    assert read(everything, lag=Lacks("", "S2", "S2")) == "R11 < R21 < R31"


def test_a_row_between_that_turns_up_later_is_read_between():
    everything = world("S1 => S2 => S3 ~ S4", S1=truths(5), S2=truths(4), S3=truths(2), S4=truths(3), open=("S4",))
    assert read(everything, lag=Lacks("S2 S3", "S2")) == "R11 < R21 < R41 < R31"


def test_a_parent_that_three_listings_lack_over_a_second_counts_as_trimmed():
    everything = world("(S0) => S1", S1=truths(5), open=("S1",))
    drive = Drive(everything)
    drive.read(1)
    assert order(drive) == "R11" and drive.listings == 3 and drive.now_us == SECOND


@pytest.mark.parametrize("age_us, waited_us, listings", [(DAY + 1, 0, 3), (HOUR, 10 * SECOND, 5)])
def test_how_long_it_takes_depends_on_how_old_the_id_says_that_the_shard_is(age_us, waited_us, listings):
    shard_id = f"shardId-{(NOW - age_us) // 1000:020d}-f35f62ef"
    drive = Drive(World([WorldShard(shard_id, ("shardId-00000001541626099285-f35f62ef",), truths(5))]))
    drive.read(1)
    assert len(drive.out) == 1 and drive.listings == listings and drive.now_us == waited_us


def test_three_listings_of_one_moment_that_lack_a_parent_do_not_make_its_child_an_orphan():
    reading = Hand(token_at_start(STREAM))
    rows = [Shard("S2", ("S9",)), Shard("S9"), Shard("S3")]
    for _ in range(3):
        reading.tell([rows[0], rows[2]], NOW, 0)
    assert reading.held_by == "listing" and not reading.due(0)
    reading.tell(rows, NOW + SECOND, SECOND)
    assert sorted(reading.due(SECOND)) == ["S3", "S9"]


def test_a_shard_in_doubt_that_no_listing_shows_any_more_does_not_hold_for_ever():
    """It was trimmed while listings had still to agree: the service says that it is gone."""
    everything = world("(S0) => S1 ~ S2", S1=truths(), S2=truths(5), open=("S2",))
    drive = Drive(everything)
    drive.begin()
    drive.deliver(0)
    everything.unlisted = everything.gone = {"S1"}
    drive.read(1)
    assert order(drive) == "R21" and drive.now_us < 45 * SECOND and drive.reading.shards_gone == 1 and not drive.gaps


def test_nothing_comes_out_before_the_listing_may_be_relied_on():
    reading = Hand(token_at_start(STREAM))
    assert reading.held_by == "listing" and reading.wants_listing(0) and not reading.due(0)
    reading.tell([Shard("S2", ("S1",))], NOW, 0)
    assert reading.held_by == "listing" and reading.wants_listing(SECOND // 4)
    reading.tell([Shard("S2", ("S1",)), Shard("S1")], NOW, 0)
    assert reading.held_by is None and reading.due(0) == ["S1"]


def test_what_a_broken_listing_told_is_true():
    reading = Hand(token_at_start(STREAM))
    reading.begin_listing(0)
    reading.listed(ShardPage((Shard("S1"),), "2", NOW), 0)
    reading.begin_listing(0)
    reading.listing_failed(AccessDenied("no"), 0)
    assert reading.wants_listing(SECOND) and not reading.due(0)
    # The next one begins where that one had come to; S1 is known, so S2 is no riddle.
    reading.tell([Shard("S2", ("S1",))], NOW, 0)
    assert reading.due(0) == ["S1"]


def test_rows_repeated_or_told_apart_are_one_shard():
    reading = Hand(token_at_start(STREAM))
    rows = [Shard("S1"), Shard("S1", closed=True), Shard("S3", ("S1",)), Shard("S3", ("S2",)), Shard("S2")]
    reading.tell(rows, NOW, 0)
    assert sorted(reading.due(0)) == ["S1", "S2"]
    assert reading.book.lineage["S3"].parents == ("S1", "S2") and reading.book.lanes["S1"].closed


def test_an_open_parent_with_an_open_child_is_read_to_its_end_first():
    everything = World([WorldShard("S1", (), truths(5)), WorldShard("S2", ("S1",), truths(4))])
    drive = Drive(everything)
    drive.run(2, quiet_us=60 * SECOND)
    assert order(drive) == "R11"
    everything.shards["S1"].closed_us = NOW + drive.now_us
    drive.run(2)
    assert order(drive) == "R11 < R21"


def test_a_split_under_way_is_followed():
    everything = World([WorldShard("S1", (), truths(1))])
    drive = Drive(everything)
    drive.run(1)
    born_us = NOW + drive.now_us
    everything.shards["S1"].closed_us = born_us
    for name in ("S2", "S3"):
        created_us = born_us - born_us % SECOND
        everything.shards[name] = WorldShard(name, ("S1",), [Truth(1, created_us)], born_us=born_us + 3 * SECOND)
    before_us = drive.now_us
    drive.run(3)
    assert order(drive) == "R11 < R21 < R31" and drive.now_us < before_us + 10 * SECOND


def test_listings_go_on_once_a_minute_at_least():
    drive = Drive(world("S1", S1=truths(5), open=("S1",)))
    drive.read(1)
    drive.listings = 0
    while drive.now_us < 600 * SECOND:
        drive.round()
    assert 10 <= drive.listings <= 15


def test_a_resumed_reader_believes_one_listing_that_shows_what_it_knows():
    everything = world("S1 => {S2, S3}", S1=truths(5), S2=truths(4, 2), S3=truths(3), open=("S2", "S3"))
    first = Drive(everything)
    first.read(2)
    second = Drive(everything, first.token())
    second.begin()
    second.deliver(0)
    assert second.reading.held_by is None and sorted(second.reading.due(0)) == ["S2", "S3"]


def test_after_a_resume_a_shard_that_nothing_connects_opens_only_when_listings_agree():
    everything = world(
        "S1 => S2 => S3 ~ S9", S1=truths(5, 4), S2=truths(3), S3=truths(2), S9=truths(6, 1), open=("S9",)
    )
    first = Drive(everything)
    first.read(2)
    assert order(first) == "R91 < R11"
    # The first listing lacks S2: that S3 follows S1 is not to be seen yet, and it must not come before S2.
    second = Drive(everything, first.token(), lag=Lacks("S2", "S2"))
    second.run(4)
    assert order(second) == "R12 < R21 < R31 < R92"


def test_after_a_resume_a_new_root_is_read_once_three_listings_show_it():
    everything = world("S1", S1=truths(5, 4), open=("S1",))
    first = Drive(everything)
    first.read(1)
    everything.shards["S2"] = WorldShard("S2", (), truths(3))
    second = Drive(everything, first.token())
    second.run(2)
    assert order(second) == "R12 < R21" and second.listings >= 3


def test_an_ancestor_that_turns_up_late_was_read():
    everything = world("S0 => S1 => S2", S0=truths(9), S1=truths(8), S2=truths(5, 4), open=("S2",))
    first = Drive(everything)
    first.read(3)
    # Listings lack S1, so that S0 seems to be a root of its own; then S1 connects it.
    second = Drive(everything, first.token(), lag=Lacks("S0 S1", "S1"))
    second.run(1)
    assert order(second) == "R22" and second.reading.held_by is None


def test_a_shard_that_nothing_connects_holds_all_others_until_it_is_clear_what_it_follows():
    reading = Hand(token_at_start(STREAM))
    rows = [Shard("S1"), Shard("S2", ("S1",)), Shard("S3", ("S2",)), Shard("S4")]
    reading.tell([rows[0], rows[3]], NOW, 0)
    for shard_id in ("S1", "S4"):
        reading.push(shard_id, [Record(shard_id, "1", NOW - HOUR)], NOW, 0)
    reading.tell([rows[0], rows[2], rows[3]], NOW, 0)
    assert reading.held_by == "listing" and reading.wants_listing(SECOND // 4), "S3 may be older than both"
    reading.tell(rows, NOW, 0)
    assert reading.held_by is None and reading.pop() is not None


def test_once_its_parent_turns_up_a_gap_above_it_is_told():
    everything = world("S1 => S2 => S3", S1=truths(5, 4, 3), S2=truths(2), S3=truths(1))
    first = Drive(everything)
    first.read(1)
    everything.shards["S1"].trimmed = 2
    drive = Drive(everything, first.token())
    for hidden in ({"S2", "S3"}, {"S2"}, set()):
        drive.reading.tell(everything.rows(NOW, hidden), NOW, 0)
    drive.run(3)
    assert order(drive) == "R13 < R21 < R31" and [shard for shard, _ in drive.gaps] == ["S1"]


def test_what_the_service_lists_no_more_is_forgotten_in_time():
    everything = world("S1 => S2", S1=truths(5), S2=truths(4), open=("S2",))
    drive = Drive(everything)
    drive.read(2)
    everything.unlisted.add("S1")
    while drive.now_us < 1200 * SECOND:
        drive.round()
    assert "S1" not in drive.reading.book.lineage and "S1" not in drive.reading.book.lanes
    assert [lane.shard for lane in drive.token().lanes] == ["S2"]


def test_a_child_that_only_a_parents_end_told_of_is_no_orphan():
    """S1's end tells of S4, which S3 was merged into, too. Listings that lack both do not say that S3 was trimmed."""
    everything = world("S1 ~ S3; {S1, S3} => S4", S1=truths(5), S3=truths(4), S4=truths(3))
    everything.knows_tip = True
    assert read(everything, lag=Lacks(*["S3 S4"] * 6)) == "R11 < R31 < R41"
    assert read(everything, lag=Lacks(*["S4", *["S3 S4"] * 6])) == "R11 < R31 < R41"
    # One that three listings show without its other parent is.
    assert read(everything, lag=Lacks(*["S3"] * 6)) == "R11 < R41 < R31!"


def test_after_a_resume_a_listing_that_lacks_a_shard_between_makes_nothing_come_twice():
    """S2 was read, and is above S5 of the token, but for S3, which the first listing lacks: so S2 looks like a late sibling."""
    everything = world(
        "S1 => {S2, S6}; S2 => S3 => S4 => S5; S6 => S7",
        S1=truths(9),
        S2=truths(8),
        S3=truths(7),
        S4=truths(6),
        S5=truths(5, 4),
        S6=truths(7),
        S7=truths(6, 3),
        open=("S5", "S7"),
    )
    first = Drive(everything)
    first.read(7)
    assert {lane.shard for lane in first.token().lanes} >= {"S4", "S5", "S6", "S7"}
    rest = Drive(everything, first.token(), lag=Lacks("S3"), now_us=first.now_us)
    rest.run(2)
    assert order(rest) == "R52 < R72"


def test_only_shards_that_the_token_goes_on_with_are_expected_in_listings():
    """A resumed reader doubts a first listing that lacks an open lane; one that lacks what has ended tells enough."""
    lanes = (TokenLane("S1", ended=NOW - HOUR, childless=True), TokenLane("S2", place=("7", 0)))
    reading = Hand(Token(1, STREAM, lanes=lanes))
    reading.tell([Shard("S1", (), True)], NOW, 0)
    assert reading.held_by == "listing"
    reading.tell([Shard("S2")], NOW, SECOND // 4)
    assert reading.held_by is None and reading.due(SECOND // 4) == ["S2"]
