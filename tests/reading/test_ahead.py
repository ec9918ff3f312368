"""A record far ahead of the service's clock: who is told to hold the others up, and the token that goes past it."""

from __future__ import annotations

import msgspec
import pytest

from streamiter.clock import SECOND_US
from streamiter.merge.lane import BEHIND_US
from streamiter.position import After, Place
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.token import Token
from tests.reading.hand import Hand

NOW = 1_750_000_000_000_000
AHEAD_US = 60 * SECOND_US  # how far clocks may differ
FAR = 3_600 * SECOND_US


def reading_of(*shard_ids: str, token: Token | None = None) -> Hand:
    reading = Hand(token or token_at_start("s"), lateness_us=SECOND_US)
    reading.tell(list(map(Shard, shard_ids)), NOW, 0)
    return reading


def put(reading: Hand, shard_id: str, *ahead_us: int, first: int = 1) -> None:
    """A page with records created so long after the service's clock; none follow them yet."""
    records = [Record(shard_id, str(number), NOW + us) for number, us in enumerate(ahead_us, first)]
    reading.push(shard_id, records, NOW, 0, caught_up=True)


def test_a_record_is_far_ahead_only_beyond_what_clocks_may_differ():
    reading = reading_of("S1", "S2")
    put(reading, "S1", AHEAD_US)
    put(reading, "S2")
    assert reading.ahead is None and reading.token_past_ahead() is None
    reading = reading_of("S1", "S2")
    put(reading, "S1", AHEAD_US + 1)
    put(reading, "S2")
    ahead = reading.ahead
    assert ahead is not None
    assert (ahead.shard_id, ahead.sequence_number, ahead.ahead_us) == ("S1", "1", AHEAD_US + 1)


@pytest.mark.parametrize("behind_us, told", [(0, "S1"), (1, None)])
def test_while_another_shard_is_behind_that_one_holds_the_record(behind_us: int, told: str | None):
    reading = reading_of("S1", "S2")
    put(reading, "S1", FAR)
    oldest = Record("S2", "1", NOW - SECOND_US - BEHIND_US - behind_us)
    reading.push("S2", [oldest], NOW, 0)
    assert reading.pop() is oldest
    assert (reading.ahead and reading.ahead.shard_id) == told


def test_without_a_record_that_waits_or_before_the_first_page_none_is_ahead():
    assert reading_of().ahead is None and Hand(token_at_start("s")).ahead is None
    reading = reading_of("S1", "S2")
    put(reading, "S1")
    put(reading, "S2")
    assert reading.ahead is None
    put(reading, "S1", FAR)
    assert reading.ahead is not None
    reading.book.merge.is_blocked = True
    assert reading.ahead is None, "a shard that no listing has shown may hold the record, too"


def test_the_token_past_it_stands_behind_it_and_its_time_raises_nothing():
    reading = reading_of("S1", "S2")
    put(reading, "S1", -10 * SECOND_US, FAR)
    put(reading, "S2")
    assert reading.pop().sequence_number == "1"
    token, past = reading.token(), reading.token_past_ahead()
    assert past is not None and past.high == token.high and past.clock == token.clock
    assert [(row.shard, row.place) for row in past.lanes] == [("S1", ("2", 0)), ("S2", None)]
    assert past.lanes[1] == token.lanes[1] and not past.lanes[0].latest
    assert Hand(past).opening("S1") == After(Place(2, 0))


def test_where_such_a_record_was_returned_before_the_token_only_forgets_its_time():
    reading = reading_of("S1")
    put(reading, "S1", FAR)
    assert reading.pop().sequence_number == "1"
    reading.tell([Shard("S1"), Shard("S2")], NOW, 0)
    put(reading, "S2")
    put(reading, "S1", 0, first=2)
    token, past = reading.token(), reading.token_past_ahead()
    assert token.high is not None and token.high[0] == token.lanes[0].floor == NOW + FAR
    assert past is not None and past.high is None
    assert [(row.shard, row.place, row.floor) for row in past.lanes] == [
        ("S1", ("1", 0), None),
        ("S2", None, token.lanes[1].floor),
    ]


def test_a_time_that_clocks_may_differ_by_is_not_forgotten():
    reading = reading_of("S1", "S2")
    put(reading, "S1", AHEAD_US)
    put(reading, "S2", AHEAD_US)
    assert reading.pop().shard_id == "S1"
    put(reading, "S1", FAR, first=2)
    assert reading.pop().shard_id == "S2"
    past = reading.token_past_ahead()
    assert past is not None and [row.place for row in past.lanes] == [("2", 0), ("1", 0)]
    first, second = reading.token().lanes
    far = msgspec.structs.replace(reading.token(), lanes=(msgspec.structs.replace(first, floor=NOW + FAR), second))
    reading = reading_of("S1", "S2", token=far)
    put(reading, "S1", 0, first=2)
    put(reading, "S2")
    past = reading.token_past_ahead()
    assert past is not None and past.high == far.high
    assert [row.floor for row in past.lanes] == [None, second.floor] and second.floor == NOW + AHEAD_US
