"""What a reading makes of answers that are no pages: rows of failures, waits, and what an errand or a probe runs into."""

from __future__ import annotations

from streamiter.errors import PositionTrimmed, ShardGone, TimeUnsupported, TransientError
from streamiter.lineage import notation
from streamiter.reading.patience import Failure, Patience
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.token import Token, TokenLane
from tests.reading.hand import Hand
from tests.worlds import DAY, HOUR, NOW, SECOND, STREAM


def rows(text: str, *closed: str) -> list[Shard]:
    """The rows of a listing."""
    return [Shard(shard.id, shard.parents, shard.id in closed) for shard in notation.parse(text)]


def fail(reading: Hand, shard_id: str, error: BaseException, now_us: int) -> None:
    """The shard is asked, and its call fails."""
    reading.ask(shard_id)
    reading.failed(shard_id, error, now_us)


def test_a_gap_ends_a_row_of_failures():
    """The service gave its word. What fails once the gap is accepted, perhaps days later, begins a row of its own."""
    told: list[Failure] = []
    reading = Hand(token_at_start(STREAM), patience=Patience(60 * SECOND, told.append))
    reading.tell(rows("S1"), NOW, 0)
    reading.ask("S1")
    reading.push("S1", [Record("S1", "7", NOW)], NOW, 0, opened=True)
    assert reading.pop() is not None
    for second in (0, 20, 40, 55):
        fail(reading, "S1", TransientError("no network"), second * SECOND)
    fail(reading, "S1", PositionTrimmed("trimmed"), 57 * SECOND)
    assert told[-1].pause_us is None and told[-1].times == 4, "it answers again"
    assert reading.next_gap is not None
    reading.skip_gap(DAY)
    fail(reading, "S1", TransientError("no network"), DAY)
    assert reading.overdue() is None and told[-1].times == 1


def test_a_shard_that_is_gone_ends_a_row_of_failures():
    told: list[Failure] = []
    reading = Hand(token_at_start(STREAM), patience=Patience(60 * SECOND, told.append))
    reading.tell(rows("S1"), NOW, 0)
    fail(reading, "S1", TransientError("no network"), 0)
    fail(reading, "S1", ShardGone("gone"), SECOND)
    assert told[-1].pause_us is None and reading.shards_gone == 1


def test_a_closed_shard_before_a_gap_is_nothing_to_catch_up_with():
    """Else each listing would wait for further ends, as long as the gap is not accepted."""
    reading = Hand(token_at_start(STREAM))
    reading.tell(rows("S1"), NOW, 0)
    reading.ask("S1")
    reading.push("S1", [Record("S1", "7", NOW)], NOW, 0, opened=True)
    fail(reading, "S1", PositionTrimmed("trimmed"), 0)
    for second in (1, 2, 3):
        reading.tell(rows("S1", "S1"), NOW, second * SECOND)
        assert not reading.asking.schedule.is_catching_up


def test_an_errand_is_read_whole_where_times_are_refused():
    """A token of Spark's names an ended shard whose last order time is not known; no probe may pass that shard over."""
    start_us = NOW - 2 * HOUR
    lane = TokenLane("S1", (), unresolved=True, ended=NOW - HOUR)
    reading = Hand(Token(1, STREAM, start=start_us, lanes=(lane,)))
    reading.tell(rows("S1 => S2", "S1"), NOW, 0)
    assert reading.due(0) == ["S1"], "it is read for its child's floor"
    fail(reading, "S1", TimeUnsupported("no times"), 0)
    assert reading.due(0) == ["S1"]
    reading.ask("S1")
    assert not reading.book["S2"].is_probe
    reading.push("S1", [Record("S1", "7", NOW - 30 * HOUR)], NOW, 0, opened=True, ended=True)
    reading.book._check()
    assert reading.due(0) == ["S2"]


def test_a_lane_whose_other_parent_turns_up_waits_for_it_and_blocks_nothing():
    """It was not clear what the lane follows; now it follows a shard that is still read, which must come out first."""
    reading = Hand(Token(1, STREAM, lanes=(TokenLane("S3", ("S2",), unresolved=True), TokenLane("S4"))))
    reading.tell(rows("S2 => S3 ~ S4", "S2", "S4"), NOW, 0)
    assert reading.book.unsure == {"S3"} and reading.held_by == "listing"
    reading.tell(rows("{S2, S4} => S3", "S2", "S4"), NOW, SECOND)
    reading.push("S4", [Record("S4", "7", NOW)], NOW, SECOND, opened=True)
    assert reading.pop() is not None
