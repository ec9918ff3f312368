"""Snapshots: what a reading says of itself, for stats."""

from __future__ import annotations

from streamiter.position import AtTime
from streamiter.reading.resume import token_at_start
from streamiter.reading.snapshot import Snapshot, snapshot
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.token import Token, TokenLane
from tests.reading.hand import Hand

NOW = 1_750_000_000_000_000
SECOND = 1_000_000


def reading_of(*shard_ids: str, token: Token | None = None) -> Hand:
    reading = Hand(token or token_at_start("s"), lateness_us=SECOND)
    reading.tell(list(map(Shard, shard_ids)), NOW, 0)
    return reading


def put(reading: Hand, shard_id: str, *ages: int, first: int = 1, caught_up: bool | None = True, **options) -> None:
    records = [Record(shard_id, str(number), NOW - age * SECOND) for number, age in enumerate(ages, first)]
    reading.push(shard_id, records, NOW, 0, caught_up=caught_up, **options)


def seen(reading: Hand) -> Snapshot:
    return snapshot(reading, None, is_whole=True)


def test_it_counts_what_was_returned_and_what_waits():
    reading = reading_of("S1", "S2", "S3")
    put(reading, "S1", 40, 30, 20)
    put(reading, "S2", 35)
    put(reading, "S3", caught_up=None)
    assert [seen(reading)[:2], seen(reading).held_by] == [(0, 0), "S3"]
    put(reading, "S3", 50, ended=True)
    put(reading, "S3", ended=True, caught_up=None)
    reading.pop()
    found = seen(reading)
    assert (found.records, found.late, found.waiting, found.waiting_bytes) == (1, 0, 4, 400)
    assert (found.open_shards, found.held_ahead, found.gaps, found.gone) == (2, 0.0, 0, 0)
    assert list(found.lag) == ["S1", "S2"]
    again = Hand(reading.token(), lateness_us=SECOND)
    assert seen(again).records == 0, "those before the token are not its own"


def test_what_was_taken_but_not_told_yet_counts_as_the_caller_says():
    reading = reading_of("S1")
    put(reading, "S1", 30, 20)
    before = reading.standing()
    next(reading.records())
    told = snapshot(reading, before, is_whole=False)
    assert (told.records, told.waiting) == (0, 1)
    assert seen(reading).records == 1 and seen(reading).waiting == 1


def test_a_record_far_ahead_is_told_unless_work_was_broken_off():
    reading = reading_of("S1", "S2")
    put(reading, "S1", -3_600)
    put(reading, "S2")
    assert (seen(reading).held_by, seen(reading).held_ahead) == ("S1", 3_600.0)
    broken_off = snapshot(reading, None, is_whole=False)
    assert (broken_off.held_by, broken_off.held_ahead) == (None, 0.0)


def test_the_lag_is_that_of_the_first_record_that_waits_or_of_the_last_time_that_none_was_missed():
    reading = reading_of("S1", "S2", "S3", "S4", "S5")
    assert set(seen(reading).lag.values()) == {0.0}, "at its horizon a shard has missed nothing so far"
    put(reading, "S1", 40, 30, caught_up=False)
    put(reading, "S2", -10)
    put(reading, "S3")
    put(reading, "S4", 70, 50, caught_up=False)
    reading.book.lanes["S5"].restart(AtTime(NOW - 90 * SECOND, NOW))
    assert seen(reading).lag == {"S1": 40.0, "S2": 0.0, "S3": 0.0, "S4": 70.0, "S5": 90.0}
    put(reading, "S5", 69, caught_up=True)
    assert reading.pop().shard_id == "S4"
    assert seen(reading).lag["S4"] == 50.0 and seen(reading).lag["S5"] == 69.0


def test_a_shard_that_returned_all_it_has_lags_since_its_last_record_until_it_is_at_its_tip():
    reading = reading_of("S1")
    put(reading, "S1", 40, 30, caught_up=False)
    reading.pop(), reading.pop()
    assert seen(reading).lag == {"S1": 30.0}
    put(reading, "S1")
    assert seen(reading).lag == {"S1": 0.0}


def test_a_shard_that_was_at_its_tip_is_known_to_lack_nothing_until_ten_minutes_before():
    reading = reading_of("S1")
    put(reading, "S1", 900)
    reading.pop()
    for _ in range(8):
        put(reading, "S1")
    reading.book.lanes["S1"].reopen()
    assert seen(reading).lag == {"S1": 600.0}


def test_a_shard_of_which_nothing_is_known_has_no_lag():
    reading = reading_of("S1", token=Token(1, "s", lanes=(TokenLane("S1", depth=0),)))
    assert seen(reading).lag == {"S1": 0.0}
