"""At the tip: what is held back, for how long, and what is late (law 7)."""

from __future__ import annotations

from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from tests.reading.hand import Hand
from tests.reading.test_reading import order, world
from tests.worlds import HOUR, NOW, SECOND, STREAM, Drive, Truth, World, WorldShard, truths


def caught_up(*shards: str, lateness_us: int = SECOND) -> Hand:
    """A reading of open shards, all at their tip at service time NOW."""
    reading = Hand(token_at_start(STREAM), lateness_us=lateness_us)
    reading.tell([Shard(shard_id) for shard_id in shards], NOW, 0)
    for shard_id in shards:
        for _ in range(8):
            reading.push(shard_id, [], NOW, 0)
    return reading


def write(reading: Hand, shard_id: str, number: int, created_us: int, service_us: int) -> None:
    reading.push(shard_id, [Record(shard_id, str(number), created_us)], service_us, service_us - NOW)


def end(reading: Hand, shard_id: str, service_us: int = NOW) -> None:
    """The shard ends: listings show it open, so it is asked once more before that is believed."""
    for _ in range(2):
        reading.push(shard_id, [], service_us, 0, ended=True)


def popped(reading: Hand) -> str:
    return " ".join(f"{r.shard_id}:{r.sequence_number}{'!' * r.late}" for r in iter(reading.pop, None))


def test_a_record_waits_for_the_other_lanes_to_pass_its_second():
    reading = caught_up("S1", "S2")
    write(reading, "S1", 1, NOW, NOW + SECOND // 2)
    assert popped(reading) == "" and reading.held_by == "S2"
    reading.push("S2", [], NOW + 2 * SECOND - 1, 0)
    assert popped(reading) == ""
    reading.push("S2", [], NOW + 2 * SECOND, 0)
    assert popped(reading) == "S1:1"


def test_lateness_says_how_long():
    reading = caught_up("S1", "S2", lateness_us=5 * SECOND)
    write(reading, "S1", 1, NOW, NOW)
    reading.push("S2", [], NOW + 6 * SECOND - 1, 0)
    assert popped(reading) == ""
    reading.push("S2", [], NOW + 6 * SECOND, 0)
    assert popped(reading) == "S1:1"


def test_a_single_lane_never_waits():
    reading = caught_up("S1")
    write(reading, "S1", 1, NOW + 3600 * SECOND, NOW)
    assert popped(reading) == "S1:1"


def test_a_record_written_within_lateness_is_never_late():
    reading = caught_up("S1", "S2")
    write(reading, "S1", 1, NOW + SECOND, NOW + SECOND)
    # Written at NOW + 1.9 s in S2, to be read 1 s later; the floor makes it look older than S1's.
    reading.push("S2", [], NOW + 2 * SECOND + 800_000, 0)
    assert popped(reading) == ""
    write(reading, "S2", 1, NOW + SECOND, NOW + 2 * SECOND + 900_000)
    write(reading, "S1", 2, NOW + 2 * SECOND, NOW + 3 * SECOND)
    write(reading, "S2", 2, NOW + 2 * SECOND, NOW + 3 * SECOND)
    assert popped(reading) == "S1:1 S2:1 S1:2"


def test_a_record_that_comes_later_than_that_is_late_and_counted():
    reading = caught_up("S1", "S2")
    write(reading, "S1", 1, NOW + SECOND, NOW + SECOND)
    reading.push("S2", [], NOW + 3 * SECOND, 0)
    assert popped(reading) == "S1:1"
    write(reading, "S2", 1, NOW, NOW + 3 * SECOND)
    assert popped(reading) == "S2:1!" and reading.book.merge.late == 1


def test_a_shard_that_does_not_answer_is_named():
    reading = caught_up("S1", "S2", "S3")
    write(reading, "S1", 1, NOW, NOW)
    reading.push("S3", [], NOW + 60 * SECOND, 0)
    assert popped(reading) == "" and reading.held_by == "S2"


def test_a_creation_time_ahead_of_the_services_clock_holds_by_as_much():
    reading = caught_up("S1", "S2")
    write(reading, "S1", 1, NOW + 60 * SECOND, NOW)
    reading.push("S2", [], NOW + 61 * SECOND, 0)
    assert popped(reading) == ""
    reading.push("S2", [], NOW + 62 * SECOND, 0)
    assert popped(reading) == "S1:1"


def test_idle_lanes_slow_down_to_a_second():
    drive = Drive(world("S1", S1=truths(5), open=("S1",)))
    drive.read(1)
    while drive.now_us < 10 * SECOND:
        drive.round()
    before_us = drive.now_us
    asked = 0
    while drive.now_us < before_us + 30 * SECOND:
        drive.begin()
        asked += sum(flight.shard is not None for flight in drive.flights)
        drive.round()
    assert 28 <= asked <= 32


def test_catching_up_is_done_without_pause():
    drive = Drive(world("S1 ~ S2", S1=truths(*range(20)), S2=truths(*range(20)), open=("S1", "S2")))
    drive.run(40)
    assert len(drive.out) == 40 and all(lane.is_at_tip for lane in drive.reading.book.lanes.values())
    drive = Drive(world("S1 ~ S2", S1=truths(5), S2=truths(4), open=("S1", "S2")))
    drive.work()
    assert drive.now_us == 0 and order(drive) == "R11 < R21"


def test_an_idle_lane_is_asked_sooner_when_a_held_record_waits_on_it():
    everything = World([WorldShard("S1", (), truths(1)), WorldShard("S2", (), truths(1))])
    drive = Drive(everything)
    drive.run(2)
    while drive.now_us < 20 * SECOND:
        drive.round()
    created_us = NOW + drive.now_us - drive.now_us % SECOND
    everything.shards["S1"].records.append(Truth(200, created_us))
    drive.read(3)
    waited_us = NOW + drive.came_us - created_us
    # The record is free when S2 is known to be past its second: 2 s after that second began.
    assert 2 * SECOND <= waited_us <= 2 * SECOND + SECOND // 4 + SECOND // 10, waited_us


def test_a_reader_behind_is_exact_though_pages_are_empty_for_long():
    everything = world("S1 ~ S2", S1=truths(5, 3), S2=truths(4, 2), open=("S1", "S2"))
    reading = Hand(token_at_start(STREAM))
    reading.tell(everything.rows(NOW), NOW, 0)
    reading.push("S1", [Record("S1", "100", NOW - 5 * HOUR), Record("S1", "101", NOW - 3 * HOUR)], NOW, 0)
    for _ in range(7):
        reading.push("S2", [], NOW, 0)
        assert popped(reading) == "", "S2 may still give older ones"
    reading.push("S2", [Record("S2", "100", NOW - 4 * HOUR)], NOW, 0)
    assert popped(reading) == "S1:100 S2:100"
    for _ in range(7):
        reading.push("S2", [], NOW, 0)
        assert popped(reading) == "", "S2 is behind: an empty page is not yet the tip"
    reading.push("S2", [], NOW, 0)
    assert popped(reading) == "S1:101"


def test_a_shard_that_ends_holds_from_its_tip_until_its_children_are_listed():
    reading = caught_up("S1", "S2")
    reading.push("S1", [], NOW + 10 * SECOND, 0)
    write(reading, "S2", 1, NOW + 8 * SECOND, NOW + 10 * SECOND)
    write(reading, "S2", 2, NOW + 9 * SECOND, NOW + 10 * SECOND)
    end(reading, "S1", NOW + 11 * SECOND)
    assert popped(reading) == "S2:1" and reading.held_by == "S1"
    reading.tell([Shard("S1", closed=True), Shard("S2"), Shard("S3", ("S1",))], NOW, 0)
    assert popped(reading) == "" and reading.held_by == "S3"
    for _ in range(8):
        reading.push("S3", [], NOW + 12 * SECOND, 0)
    assert popped(reading) == "S2:2"


def test_while_others_catch_up_ends_are_gathered_for_one_listing():
    reading = Hand(token_at_start(STREAM))
    reading.tell([Shard("S1"), Shard("S2"), Shard("S3")], NOW, 0)
    end(reading, "S1")
    assert not reading.wants_listing(0), "S2 and S3 may end as well"
    end(reading, "S2")
    assert reading.wants_listing(SECOND)
    for _ in range(8):
        reading.push("S3", [], NOW, 0)
    assert reading.wants_listing(0), "nothing is to be caught up with any more"


def test_a_listing_that_records_wait_for_is_not_gathered_for_long():
    reading = Hand(token_at_start(STREAM))
    reading.tell([Shard("S1"), Shard("S2"), Shard("S3")], NOW, 0)
    end(reading, "S1")
    reading.push("S2", [Record("S2", "1", NOW - HOUR)], NOW, 0)
    reading.push("S3", [Record("S3", "1", NOW - HOUR)], NOW, 0)
    assert reading.held_by == "S1" and not reading.wants_listing(0) and reading.wants_listing(SECOND // 10)
