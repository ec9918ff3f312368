"""The book's answers: which shards are known and linked, by what time they are judged, and what it takes a moment to forget."""

from __future__ import annotations

import pytest

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.position import After, Horizon, Place
from streamiter.precision import Precision
from streamiter.reading.book import Book, Stage
from streamiter.reading.resume import token_at_start
from streamiter.shard import Rank, Shard
from streamiter.token import VERSION, Token, TokenLane
from tests.worlds import DAY, NOW, STREAM


def test_the_book_knows_the_shards_that_were_entered():
    book = Book(token_at_start(STREAM))
    entry = book.enter("S1", Stage.UNREAD)
    assert ("S1" in book, book["S1"], book.get("S1"), book.stage("S1")) == (True, entry, entry, Stage.UNREAD)
    assert ("S2" in book, book.get("S2"), book.stage("S2")) == (False, None, None)
    assert book.move("S1", Stage.PAST) is entry


@pytest.mark.parametrize("lateness_us, holds, counts_as", [(None, False, 0), (0, True, 0), (7, True, 7)])
def test_records_are_held_by_lateness_and_not_without(lateness_us: int | None, holds: bool, counts_as: int):
    book = Book(token_at_start(STREAM), precision=Precision(lateness_us or 0), holds=lateness_us is not None)
    assert (book.holds, book.precision.lateness_us) == (holds, counts_as)


def test_lateness_is_a_second_and_every_shard_is_read_here_unless_told_otherwise():
    book = Book(token_at_start(STREAM))
    assert (book.holds, book.precision.lateness_us, book.hands_over) == (True, SECOND_US, False)


def test_a_first_reading_judges_by_what_the_service_holds():
    assert Book(token_at_start(STREAM), retention_us=7 * DAY).held_us == 7 * DAY


def test_an_answer_that_was_overtaken_sets_no_clock_back():
    book = Book(token_at_start(STREAM))
    for newest_seen_us in (NOW, NOW - 5, NOW - 9):
        book.see_time(newest_seen_us)
    assert book.service_us == NOW
    book.see_time(NOW + 1)
    assert book.service_us == NOW + 1


def test_the_shorter_retention_counts_as_long_as_any_lane_of_the_token_waits():
    """Even where all that waits has a place: a shard that the token left unread may stand below it."""
    book = Book(Token(VERSION, STREAM, lanes=(TokenLane("S1", place=("7", 0)),)), retention_us=7 * DAY)
    book.lineage.add(Shard("S1"))
    book.enter("S1", Stage.WAITING, Lane("S1", Rank("S1", 0, "S1"), After(Place.of("7"))))
    book.relax()
    assert book.held_us == DAY
    book.move("S1", Stage.LANE)
    book.relax()
    assert book.held_us == 7 * DAY


# -- which shards may be ancestors of a lane of the token, through a shard that listings lack


def resumed(*deep: tuple[str, int | None]) -> Book:
    """A reading whose token names OPEN, ENDED, and these shards of such depths, each below a parent that is not listed.

    X is a child of OPEN, Y of ENDED; OLD is of no known parent.
    """
    named = (TokenLane("OPEN", depth=0, place=("7", 0)), TokenLane("ENDED", depth=0, place=("7", 0), ended=NOW))
    lanes = (*named, *(TokenLane(name, depth=depth, place=("7", 0)) for name, depth in deep))
    book = Book(Token(VERSION, STREAM, lanes=lanes))
    book.see([Shard("OPEN"), Shard("ENDED"), Shard("OLD"), Shard("X", ("OPEN",)), Shard("Y", ("ENDED",))])
    return book


def orphan(name: str) -> Shard:
    """A shard whose parent no listing showed."""
    return Shard(name, (f"above-{name}",))


def test_what_is_below_an_unfinished_lane_was_not_read_and_below_a_finished_one_it_may_have_been():
    book = resumed(("D", 10))
    assert book.is_connected("X") and book.is_connected("Y"), "no lane that is known has an unknown ancestor"
    book.see([orphan("D")])
    assert (book.is_connected("X"), book.is_connected("Y")) == (True, False)
    assert not book.is_connected("OLD") and not book.is_connected("D")


@pytest.mark.parametrize("depth, is_connected", [(None, False), (4, False), (3, False), (2, True), (1, True)])
def test_what_is_too_deep_to_have_a_shard_between_was_not_read(depth: int | None, is_connected: bool):
    """Y is one deep: below it comes the shard that listings lack, and below that a lane three deep."""
    book = resumed(("D", depth))
    book.see([orphan("D")])
    assert book.is_connected("Y") == is_connected


def test_the_deepest_of_the_lanes_counts_whichever_is_named_first():
    for lanes in ((("D", 10), ("E", 1)), (("E", 1), ("D", 10))):
        book = resumed(*lanes)
        book.see([orphan("D"), orphan("E")])
        assert not book.is_connected("Y")


def test_what_was_forgotten_stands_in_doubt_no_more():
    book = resumed(("D", 10))
    book.see([orphan("D")])
    assert not book.is_connected("Y")
    book.move("D", Stage.PAST)
    book.forget("D")
    assert book.is_connected("Y")


def test_a_lane_that_waits_is_told_that_its_shard_is_closed():
    book = Book(Token(VERSION, STREAM, lanes=(TokenLane("S1", place=("7", 0)),)))
    lane = Lane("S1", Rank("S1", 0, "S1"), Horizon())
    book.see([])
    book.lineage.add(Shard("S1"))
    book.enter("S1", Stage.WAITING, lane)
    book.see([Shard("S1", (), True)])
    assert lane.closed
    book._check()
