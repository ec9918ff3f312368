"""Finished leaves: a shard that was read to its end, of which no child was listed for longer than the service holds records.

Children may have come and gone meanwhile: that is a gap, and like any other it stands until it is accepted (law 5).
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.token import Token, TokenLane, load_token
from tests.reading.hand import Hand
from tests.worlds import DAY, HOUR, NOW, SECOND, STREAM

LEAF, CHILD, OTHER = Shard("S1", closed=True), Shard("S2", ("S1",)), Shard("S9")
LONG_AGO = NOW - DAY - HOUR


def resumed(token: Token | None = None, **options) -> Hand:
    """From a token in which S1 is a finished leaf of more than a day ago, and S9 is read beside it."""
    leaf = TokenLane("S1", depth=0, floor=LONG_AGO, ended=LONG_AGO, childless=True)
    other = TokenLane("S9", depth=0, place=("7", 0), floor=NOW - HOUR)
    return Hand(token or Token(1, STREAM, lanes=(leaf, other), clock=7), **options)


def listing(reading: Hand, now_us: int, *rows: Shard, is_final: bool = False) -> None:
    reading.tell(rows, NOW + now_us, now_us, is_final=is_final)


def list_for(reading: Hand, since_us: int, seconds: int, *rows: Shard, is_final: bool = False) -> int:
    """Lists whenever it is due, for so long; gives when that was over."""
    now_us = since_us
    while (due_us := reading.listing_due_us) is not None and due_us <= since_us + seconds * SECOND:
        now_us = max(now_us, due_us)
        listing(reading, now_us, *rows, is_final=is_final)
    return since_us + seconds * SECOND


def at_its_gap(**options) -> tuple[Hand, int]:
    reading = resumed(**options)
    now_us = list_for(reading, 0, 60, LEAF, OTHER)
    assert stands(reading)
    return reading, now_us


def stands(reading: Hand) -> bool:
    gap = reading.next_gap
    return gap is not None and gap.shard_id == "S1" and gap.gap is not None and "no child of it was listed" in gap.gap


def again(reading: Hand, now_us: int, **options) -> Hand:
    token = load_token(json.loads(json.dumps(reading.token().to_dict())))
    assert token == reading.token()
    return resumed(token, now_us=now_us, **options)


def test_a_listing_that_lags_is_no_gap():
    reading = resumed()
    listing(reading, 0, LEAF, OTHER)
    assert reading.next_gap is None and reading.held_by is None and reading.listing_due_us is not None
    listing(reading, SECOND, LEAF, OTHER, CHILD)
    assert reading.next_gap is None and reading.opening("S2") is None, "its start is older than what the service holds"
    gap = reading.next_gap
    assert gap is not None and gap.shard_id == "S2"


def test_nothing_comes_out_before_the_gap_while_children_are_looked_for_once_more():
    reading = resumed()
    listing(reading, 0, LEAF, OTHER)
    reading.push("S9", [Record("S9", "8", NOW - HOUR)], NOW, 0)
    assert reading.pop() is None and reading.held_by == "S1"
    list_for(reading, 0, 60, LEAF, OTHER)
    assert stands(reading) and reading.pop() is None


def test_it_stands_when_the_shard_is_listed_no_more():
    reading, now_us = at_its_gap()
    for _ in range(30):
        now_us = list_for(reading, now_us, 60, OTHER)
        assert stands(reading)
    reading.skip_gap(now_us)
    assert reading.next_gap is None and reading.gaps_accepted == 1
    for _ in range(30):
        now_us = list_for(reading, now_us, 60, OTHER)
    assert reading.next_gap is None and "S1" not in reading.book.lanes, "now it is forgotten"


def test_it_stands_when_a_child_turns_up_after_all():
    reading, now_us = at_its_gap()
    now_us = list_for(reading, now_us, 60, LEAF, CHILD, OTHER)
    assert stands(reading)
    second = again(reading, now_us)
    listing(second, now_us, LEAF, CHILD, OTHER)
    assert stands(second), "as it does after a resume"
    reading.skip_gap(now_us)
    assert reading.opening("S2") is None
    gap = reading.next_gap
    assert gap is not None and gap.shard_id == "S2", "and of the child the first records may be lost, too"


def test_it_stands_when_the_stream_turns_out_to_be_disabled():
    reading, now_us = at_its_gap()
    now_us = list_for(reading, now_us, 60, LEAF, OTHER, is_final=True)
    assert stands(reading)
    second = again(reading, now_us)
    list_for(second, now_us, 60, LEAF, OTHER, is_final=True)
    assert stands(second)


def test_a_stream_whose_gap_stands_is_not_read_out():
    reading = resumed(Token(1, STREAM, lanes=(TokenLane("S1", floor=LONG_AGO, ended=LONG_AGO),)))
    now_us = list_for(reading, 0, 60, LEAF)
    assert stands(reading) and not reading.book.is_read_out and not reading.is_drained
    reading.skip_gap(now_us)
    assert reading.book.is_read_out


@pytest.mark.parametrize("is_childless", [True, False])
def test_a_token_taken_at_it_comes_to_it_again_and_one_taken_after_does_not(is_childless):
    leaf = TokenLane("S1", depth=0, floor=LONG_AGO, ended=LONG_AGO, childless=is_childless)
    reading = resumed(Token(1, STREAM, lanes=(leaf,)))
    now_us = list_for(reading, 0, 60, LEAF)
    for _ in range(3):
        reading = again(reading, now_us)
        now_us = list_for(reading, now_us, 1, LEAF)
        assert stands(reading)
    reading.skip_gap(now_us)
    reading = again(reading, now_us)
    list_for(reading, now_us, 3600, LEAF)
    assert reading.next_gap is None


def test_what_waits_in_the_shard_comes_before_it():
    """A consumer that paused for more than a day, when all was fetched and nothing returned."""
    reading = Hand(Token(1, STREAM, fresh=True), now_us=0)
    listing(reading, 0, LEAF, OTHER)
    reading.push("S1", [Record("S1", "1", NOW - HOUR)], NOW, 0, ended=True)
    list_for(reading, 0, 120, LEAF, OTHER)
    assert reading.held_by == "S9" and not reading.book.discovery.is_waiting("S1")
    list_for(reading, DAY + HOUR, 60, LEAF, OTHER)
    assert reading.next_gap is None, "a record comes first, and it waits for S9"
    for _ in range(8):
        reading.push("S9", [], NOW + DAY + HOUR, DAY + HOUR)
    record = reading.pop()
    assert record is not None and record.shard_id == "S1" and stands(reading)


def test_without_lateness_it_stands_too():
    reading, now_us = at_its_gap(lateness_us=None)
    now_us = list_for(reading, now_us, 1200, OTHER)
    assert stands(reading)
    second = again(reading, now_us, lateness_us=None)
    list_for(second, now_us, 60, OTHER)
    assert stands(second)
    reading.skip_gap(now_us)
    assert reading.next_gap is None


def test_a_gap_that_was_named_is_accepted_though_something_came_before_it_meanwhile():
    reading, now_us = at_its_gap()
    reading.push("S9", [Record("S9", "8", LONG_AGO - HOUR)], NOW + now_us, now_us)
    listing(reading, now_us, OTHER, Shard("S5", ("S4",)))
    assert reading.next_gap is None and reading.held_by == "listing", "first it is to be clear what S5 follows"
    reading.skip_gap(now_us, "S1")
    assert reading.gaps_accepted == 1
    list_for(reading, now_us, 60, OTHER, Shard("S5", ("S4",)))
    assert reading.next_gap is None


happenings = st.sampled_from(["listed", "unlisted", "with child", "with stranger", "final", "pause", "resume"])


@given(st.lists(happenings, max_size=12))
def test_whatever_happens_it_stands_until_it_is_accepted(happened: list[str]):
    reading, now_us = at_its_gap()
    rows = {
        "listed": [LEAF, OTHER],
        "unlisted": [OTHER],
        "with child": [LEAF, CHILD, OTHER],
        "with stranger": [LEAF, OTHER, Shard("S5", ("S4",))],
        "final": [LEAF, OTHER],
    }
    for event in happened:
        if event in rows:
            now_us = list_for(reading, now_us, 700, *rows[event], is_final=event == "final")
        elif event == "pause":
            now_us += DAY
        elif event == "resume":
            reading = again(reading, now_us)
            now_us = list_for(reading, now_us, 60, LEAF, OTHER)
        for shard_id in reading.due(now_us):  # a page for each: what follows the gap
            reading.ask(shard_id)
            reading.push(shard_id, [Record(shard_id, str(now_us + 9), NOW + now_us)], NOW + now_us, now_us)
        note(f"{event}: {reading.token().to_dict()}")
        assert reading.pop() is None and stands(reading)
    now_us = list_for(reading, now_us, 60, LEAF, OTHER)
    reading.skip_gap(now_us)
    assert not stands(reading) and reading.gaps_accepted == 1
    for _ in range(3):
        reading = again(reading, now_us)
        now_us = list_for(reading, now_us, 60, LEAF, OTHER)
        assert not stands(reading)
