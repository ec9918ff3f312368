"""Shards as tasks read them: where the service lacks what comes next, the rules are those of `next(stream)`."""

from __future__ import annotations

import pytest

from streamiter import RecordsExpired
from streamiter.errors import PositionTrimmed, ShardGone, TimeUnsupported
from streamiter.position import After, AtTime, Horizon, Place, Position
from streamiter.reading import gaps
from streamiter.shard import Rank
from streamiter.spark.planning.parts import ShardRange
from streamiter.spark.tasks.floors import Floors
from streamiter.spark.tasks.shards import ShardReader
from streamiter.testing import ManualClock
from tests.spark.test_fetching import Script
from tests.worlds import DAY, HOUR, NOW, SECOND

TRIMMED = PositionTrimmed("trimmed")
READ_UP_TO = After(Place.of("5"))


def part(start: Position, **told) -> ShardRange:
    return ShardRange("S0", Rank("S0", 0, "S0"), start, **told)


class Reading:
    """A task reads a range of a shard whose calls go as they are written; it gives where the shard was opened."""

    def __init__(self, *calls: Exception | int) -> None:
        self.source = Script(*calls)
        self.source.retention_us = DAY
        self.clock = ManualClock()

    def read(self, shard_range: ShardRange, *, fails: bool = True) -> list[Position]:
        floors = Floors(self.source, self.clock)
        reader = ShardReader(self.source, floors, self.clock, fails_on_gap=fails)
        assert list(reader.read(shard_range, None, NOW)) == []
        return self.source.opened


def test_where_nothing_was_read_yet_the_horizon_only_moved_on():
    reading = Reading(TRIMMED, TRIMMED, NOW)
    assert reading.read(part(Horizon(NOW - HOUR))) == [Horizon(NOW - HOUR)] * 3
    assert 0 < reading.clock.monotonic() < 1, "it is asked again after a pause"


def test_where_all_up_to_the_tip_was_read_only_the_last_record_is_old():
    reading = Reading(TRIMMED, NOW)
    tip = NOW - 600 * SECOND
    opened = reading.read(part(READ_UP_TO, floor_us=NOW - 25 * HOUR, read_up_to_us=tip))
    assert opened == [READ_UP_TO, AtTime(tip, NOW)]


@pytest.mark.parametrize(
    "shard_range, calls, reason",
    [
        (part(READ_UP_TO, floor_us=NOW - HOUR), [TRIMMED, NOW], gaps.TRIMMED),
        (part(READ_UP_TO, floor_us=NOW - 25 * HOUR, read_up_to_us=NOW - 25 * HOUR + 1), [TRIMMED, NOW], gaps.TRIMMED),
        (part(Horizon(NOW - 2 * DAY)), [NOW], gaps.TOO_OLD),
        (part(AtTime(NOW - 2 * DAY, NOW - DAY - HOUR)), [NOW], gaps.TOO_OLD),
    ],
)
def test_what_may_be_lost_is_told_in_the_words_of_the_core(shard_range, calls, reason):
    with pytest.raises(RecordsExpired, match=f"{reason}.*failOnDataLoss=false"):
        Reading(*calls).read(shard_range)
    assert Reading(*calls).read(shard_range, fails=False)[1:] in ([], [Horizon(NOW)])


def test_a_shard_that_the_service_removed_is_a_gap_only_where_it_or_an_ancestor_was_read():
    gone = ShardGone("gone")
    assert Reading(gone, NOW).read(part(Horizon(NOW - HOUR))) == [Horizon(NOW - HOUR)]
    for read in (part(READ_UP_TO), part(Horizon(NOW - HOUR), floor_us=NOW - HOUR)):
        with pytest.raises(RecordsExpired, match=gaps.REMOVED):
            Reading(gone, NOW).read(read)
        assert len(Reading(gone, NOW).read(read, fails=False)) == 1


def test_after_a_gap_a_shard_goes_on_at_the_time_that_was_asked_for():
    stale = part(AtTime(NOW - 25 * HOUR, NOW - 25 * HOUR), since_us=NOW - 25 * HOUR)
    assert Reading(TRIMMED, NOW).read(stale, fails=False) == [stale.start, AtTime(NOW - 25 * HOUR, NOW)]


def test_where_the_service_knows_no_times_or_not_that_one_the_shard_is_opened_as_it_can():
    start = AtTime(NOW - HOUR, NOW)
    assert Reading(TimeUnsupported("no times"), NOW).read(part(start)) == [start, Horizon(NOW)]
    assert Reading(NOW).read(part(AtTime(NOW + 5 * SECOND, NOW))) == [AtTime(NOW, NOW)]
