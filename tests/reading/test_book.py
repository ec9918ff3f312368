"""The book: each shard is in one stage, goes only where the table lets it, and every move of the table really occurs."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from streamiter.merge import Lane
from streamiter.position import Horizon
from streamiter.reading.book import MOVES, Book, Stage, Turn
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Rank, Shard
from streamiter.token import VERSION, Token, TokenLane
from tests.drawn import DrawnLag, live_world
from tests.reading.test_reading import world
from tests.worlds import DAY, HOUR, NOW, STREAM, Drive, Tape, truths

ALL_MOVES = {(before, after) for before, found in MOVES.items() for after in found}
ILLEGAL = sorted(
    ((before, after) for before in Stage for after in Stage if after not in MOVES[before]),
    key=lambda pair: (pair[0].value, pair[1].value),
)


def a_book(stage: Stage) -> Book:
    """A book with one shard, in this stage."""
    book = Book(token_at_start(STREAM))
    book.lineage.add(Shard("S1"))
    lane = Lane("S1", Rank("S1", 0, "S1"), Horizon())
    match stage:
        case Stage.UNREAD:
            book.enter("S1", Stage.UNREAD)
        case Stage.WAITING:
            book.enter("S1", Stage.WAITING, lane)
        case Stage.LANE | Stage.ENDED:
            book.enter("S1", Stage.UNREAD)
            book.move("S1", Stage.LANE, lane)
            if stage is Stage.ENDED:
                lane.push([], NOW, ended=True)
                book.move("S1", Stage.ENDED)
        case Stage.PAST:
            book.enter("S1", Stage.UNREAD)
            book.move("S1", Stage.PAST)
    book._check()
    return book


@pytest.mark.parametrize("before, after", ILLEGAL)
def test_what_the_table_lacks_is_refused(before: Stage, after: Stage):
    with pytest.raises(AssertionError, match=f"S1 cannot go from {before.value} to {after.value}"):
        a_book(before).move("S1", after)


@pytest.mark.parametrize("stage", Stage)
def test_only_what_was_read_is_forgotten(stage: Stage):
    book = a_book(stage)
    if None in MOVES[stage]:
        book.forget("S1")
        assert not len(book) and not book.lanes and "S1" not in book.lineage
        book._check()
    else:
        with pytest.raises(AssertionError):
            book.forget("S1")


def test_every_move_of_the_table_occurs_and_no_other(monkeypatch: pytest.MonkeyPatch):
    moves: Counter[tuple[Stage | None, Stage | None]] = Counter()
    enter, move, forget = Book.enter, Book.move, Book.forget

    def entered(book, shard_id, stage, lane=None):
        moves[None, stage] += 1
        return enter(book, shard_id, stage, lane)

    def moved(book, shard_id, stage, lane=None):
        moves[book[shard_id].stage, stage] += 1
        return move(book, shard_id, stage, lane)

    def forgotten(book, shard_id):
        moves[book[shard_id].stage, None] += 1
        forget(book, shard_id)

    monkeypatch.setattr(Book, "enter", entered)
    monkeypatch.setattr(Book, "move", moved)
    monkeypatch.setattr(Book, "forget", forgotten)
    chance = random.Random(1)
    for _ in range(8):
        tape = Tape(chance.randbytes(400))
        everything = live_world(tape)
        first = Drive(everything, tape=tape, lag=DrawnLag(everything, tape), faults=True)
        first.read(tape.draw(everything.size + 1))
        second = Drive(everything, first.token(), tape=tape, lag=DrawnLag(everything, tape), now_us=first.now_us)
        second.run(quiet_us=120_000_000)
        everything.unlisted |= {shard_id for shard_id in everything.shards if chance.random() < 0.5}
        while second.now_us < first.now_us + HOUR // 3:
            second.round()
    assert moves.keys() == ALL_MOVES, (
        f"lacking: {ALL_MOVES - moves.keys()}; not in the table: {moves.keys() - ALL_MOVES}"
    )


def test_what_is_forgotten_leaves_nothing_behind():
    everything = world("S1 => S2", S1=truths(5), S2=truths(4), open=("S2",))
    drive = Drive(everything)
    drive.read(2)
    everything.unlisted.add("S1")
    while drive.now_us < 1200_000_000:
        drive.round()
    reading = drive.reading
    assert [entry.shard_id for entry in reading.book] == ["S2"] and list(reading.book.lanes) == ["S2"]
    assert all("S1" not in str(vars(part)) for part in (reading.book.discovery, reading.asking, reading._patience))


def test_a_page_for_a_shard_that_was_forgotten_is_nothing():
    drive = Drive(world("S1 => S2", S1=truths(5), S2=truths(4), open=("S2",)))
    drive.read(2)
    drive.reading.push("S9", [], NOW, 0)
    drive.reading.opened("S9")
    drive.reading.book._check()


def test_how_long_records_are_held_follows_the_token_until_all_of_it_is_opened():
    token = Token(VERSION, STREAM, lanes=(TokenLane("S1", time=NOW - HOUR, opened=NOW - HOUR),), retention=2 * HOUR)
    book = Book(token, retention_us=DAY)
    assert book.held_us == 2 * HOUR
    book.retain(7 * DAY)
    assert book.held_us == 2 * HOUR, "an increase brings nothing back"
    book.retain(HOUR)
    assert book.held_us == HOUR


def test_a_token_taken_does_not_change_how_starts_are_judged():
    book = Book(Token(VERSION, STREAM, lanes=(TokenLane("S1", opened=0),)))
    book.lineage.add(Shard("S1"))
    book.retain(7 * DAY)
    nothing_unread = Token(VERSION, STREAM, lanes=(TokenLane("S1", place=("7", 0)),))
    for _ in range(2):
        assert book.note_retention(nothing_unread).retention == 7 * DAY
        assert book.held_us == DAY
    lane = Lane("S1", Rank("S1", 0, "S1"), Horizon())
    book.enter("S1", Stage.WAITING, lane)
    book.relax()
    assert book.held_us == DAY, "it is unread still"
    book.move("S1", Stage.LANE)
    book.relax()
    assert book.held_us == DAY, "nothing was read of it"
    lane.push([Record("S1", "7", NOW)], NOW)
    lane.advance(1)
    empty, other = Lane("S2", Rank("S2", 0, "S2"), Horizon()), Lane("S3", Rank("S3", 0, "S3"), Horizon())
    empty.push([], NOW, ended=True)
    other.push([Record("S3", "7", NOW)], NOW, ended=True)
    for ended in (empty, other):
        book.enter(ended.shard_id, Stage.ENDED, ended)
    book.relax()
    assert book.held_us == DAY, "another lane was fetched to its end, and not returned"
    other.advance(1)
    book.relax()
    assert book.held_us == 7 * DAY


def test_a_token_keeps_the_retention_that_its_own_lanes_are_to_be_judged_by():
    """As long as one waits, or is named without a place, what was held for a day counts; then the week does."""
    token = Token(VERSION, STREAM, lanes=(TokenLane("S1", opened=0),), retention=DAY // 2)
    book = Book(token, retention_us=7 * DAY)
    book.lineage.add(Shard("S1"))
    book.enter("S1", Stage.WAITING, Lane("S1", Rank("S1", 0, "S1"), Horizon()))
    read = Token(VERSION, STREAM, lanes=(TokenLane("S1", place=("7", 0)), TokenLane("S0", ended=NOW)))
    assert book.note_retention(read).retention == DAY // 2, "a lane of the token waits"
    book.move("S1", Stage.LANE)
    assert book.note_retention(token).retention == DAY // 2, "nothing was returned of it"
    assert book.note_retention(read).retention == 7 * DAY


def test_a_book_that_contradicts_itself_says_so():
    book = a_book(Stage.LANE)
    book["S1"].turn = Turn(due_us=0)
    book._check()
    book["S1"].is_asked = True
    with pytest.raises(AssertionError):
        book._check()
    for stage in (Stage.WAITING, Stage.PAST):
        book = a_book(stage)
        book["S1"].turn = Turn()
        with pytest.raises(AssertionError, match="and is asked"):
            book._check()
    book = a_book(Stage.ENDED)
    book.lanes["S1"].ended_us = None
    with pytest.raises(AssertionError, match="S1 is ended"):
        book._check()
    book = a_book(Stage.LANE)
    book.merge.waiting_bytes = 100
    with pytest.raises(AssertionError):
        book._check()
