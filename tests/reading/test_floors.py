"""Floors: what a lane begins with, as far as its parents tell."""

from __future__ import annotations

import msgspec

from streamiter.reading.floors import begins_us, floor, is_floor_unknown
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.token import Token, TokenLane
from tests.reading.hand import Hand

NOW = 1_750_000_000_000_000
SECOND = 1_000_000
ROWS = [Shard("S1", closed=True), Shard("S2", closed=True), Shard("S3", ("S1", "S2")), Shard("S4")]


def test_a_child_begins_with_the_later_one_of_its_parents_and_a_shard_without_parents_now():
    reading = Hand(token_at_start("s"))
    reading.tell(ROWS, NOW, 0)
    assert (floor(reading.book, "S3"), begins_us(reading.book, "S4")) == (None, NOW)
    for shard_id, age in (("S1", 10), ("S2", 30)):
        reading.push(shard_id, [Record(shard_id, "1", NOW - age * SECOND)], NOW, 0)
        reading.push(shard_id, [], NOW, 0, ended=True)
    assert floor(reading.book, "S3") == begins_us(reading.book, "S3") == NOW - 10 * SECOND
    assert not is_floor_unknown(reading.book, "S3")


def test_below_a_shard_that_was_read_before_the_token_the_floor_is_unknown_unless_closed_shards_count_as_read():
    token = Token(1, "s", lanes=(TokenLane("S3", ("S1", "S2"), depth=1),))
    reading = Hand(token)
    reading.tell(ROWS, NOW, 0)
    assert is_floor_unknown(reading.book, "S3") and not is_floor_unknown(reading.book, "S4")
    reading = Hand(msgspec.structs.replace(token, closed_are_read=True))
    reading.tell(ROWS, NOW, 0)
    assert not is_floor_unknown(reading.book, "S3")
