"""The reading of a whole stream: which shard is read when, and in what order records come out (laws 1 to 4)."""

from __future__ import annotations

from streamiter.lineage import notation
from streamiter.reading.resume import token_at_start
from tests.oracle import expected
from tests.worlds import ALWAYS, HOUR, NOW, SECOND, STREAM, Drive, Truth, World, truths


def world(text: str, *, open: tuple[str, ...] = (), **records: list[Truth]) -> World:
    """A world of closed shards, but those that are open; records by shard."""
    return World.parse(notation.parse(text), records, open=open)


def order(drive: Drive) -> str:
    """What came out, as the design writes it: `R11` is the first record of S1, `!` marks what is late."""
    return " < ".join(f"R{o.shard[1:]}{o.index + 1}{'!' * o.late}" for o in drive.out)


def read(world: World, **options) -> str:
    drive = Drive(world, **options)
    drive.run()
    return order(drive)


def test_the_seed_case():
    # S0 => {S1, S2}: R00 7 h ago; R11 6 h, R12 4 h, R13 2 h; R24 4 h, R25 and R26 3 h.
    everything = world(
        "S0 => {S1, S2}", S0=truths(7, first=0), S1=truths(6, 4, 2, first=1), S2=truths(4, 3, 3, first=4)
    )
    drive = Drive(everything)
    drive.run()
    came = [f"R{o.shard[1:]}{everything.shards[o.shard].records[o.index].number}" for o in drive.out]
    assert " < ".join(came) == "R00 < R11 < R12 < R24 < R25 < R26 < R13"


def test_no_child_before_every_record_of_its_parent():
    # The child's clock is two hours slow: its records take the order time of the parent's last.
    everything = world("S1 => {S12, S13}", S1=truths(5, 4), S12=truths(6, 6), S13=truths(3))
    assert read(everything) == "R11 < R12 < R121 < R122 < R131"


def test_order_time_goes_on_below_an_empty_shard():
    everything = world("S1 => S2 => S3 ~ S4", S1=truths(4), S3=truths(6), S4=truths(5))
    assert read(everything) == "R41 < R11 < R31"


def test_a_child_of_two_parents_follows_both():
    everything = world("{S1, S2} => S3", S1=truths(6, 5), S2=truths(4), S3=truths(7))
    assert read(everything) == "R11 < R12 < R21 < R31"


def test_ties_come_by_rank_and_never_a_child_before_its_parent():
    everything = world("S5 => S1 ~ S3", S5=truths(4), S1=truths(4), S3=truths(4, 4))
    assert read(everything) == "R31 < R32 < R51 < R11"


def test_shard_order_stands_whatever_times_and_numbers_say():
    everything = world("S1 ~ S2", S1=[*truths(5, first=9), *truths(7, 3, first=3)], S2=truths(4))
    assert read(everything) == "R11 < R12 < R21 < R13"


def test_records_without_creation_time_stay_with_the_one_before():
    everything = world("S1 ~ S2", S1=truths(5, None, 3), S2=truths(4))
    assert read(everything) == "R11 < R12 < R21 < R13"


def test_parents_that_are_not_listed_hold_nothing_up():
    everything = world("{(S0), S1} => S2; (S0) => S3", S1=truths(5), S2=truths(6), S3=truths(7))
    assert read(everything) == "R31 < R11 < R21"


def test_an_unopened_child_is_not_asked_before_its_parents_are_read_to_their_end():
    everything = world("{S1, S2} => S3", S1=truths(5), S2=truths(4))
    drive = Drive(everything)
    drive.begin()
    drive.deliver(0)
    drive.begin()
    assert {flight.shard for flight in drive.flights} == {"S1", "S2"}
    drive.deliver(0)
    drive.begin()
    assert {flight.shard for flight in drive.flights} - {None} == {"S2"}
    while len(drive.out) < 2:
        drive.round()
    assert "S3" in drive.reading.book.lanes


def test_roots_are_asked_side_by_side():
    drive = Drive(world("S1 ~ S2 ~ S3"))
    drive.begin()
    drive.deliver(0)
    assert sorted(drive.reading.due(0)) == ["S1", "S2", "S3"]
    drive.reading.ask("S2")
    assert sorted(drive.reading.due(0)) == ["S1", "S3"]


def test_the_lane_that_holds_the_merge_is_asked_first_then_the_emptiest():
    everything = world("S1 ~ S2 ~ S3", S1=truths(1), S2=truths(9, 8, 7), S3=truths(9), open=("S1", "S2", "S3"))
    drive = Drive(everything)
    drive.begin()
    drive.deliver(0)
    drive.begin()
    while drive.flights:
        drive.deliver(0)
    # S3 is known up to 9 hours ago, S2 up to 7, S1 up to 1; S1 and S3 hold one record, S2 holds three.
    assert drive.reading.due(0) == ["S3", "S1", "S2"]


def test_from_a_time_on_what_is_older_is_left_out_by_its_order_time():
    start_us = NOW - 4 * HOUR
    # R12's own creation time is older, but its order time is that of R11.
    everything = world("S1 => S2 ~ S3", S1=truths(4, 5), S2=truths(6), S3=truths(5, 4.5, 3))
    out = read(everything, token=token_at_start(STREAM, start_us))
    assert out == "R11 < R12 < R21 < R33"
    assert [(e.shard, e.index) for e in expected(everything.shards, start_us=start_us)] == [
        ("S1", 0), ("S1", 1), ("S2", 0), ("S3", 2),
    ]  # fmt: skip


def test_from_a_time_in_the_future_nothing_comes_until_then():
    everything = world("S1", S1=truths(1, -0.01, -0.02, -0.03), open=("S1",))
    drive = Drive(everything, token_at_start(STREAM, NOW + HOUR // 60))
    drive.run(2)
    assert order(drive) == "R13 < R14", "the second is of 36 s from now, the start a minute"


def test_where_times_are_refused_the_same_records_come():
    everything = world("S1 => S2 ~ S3", S1=truths(4, 5), S2=truths(4.5), S3=truths(5, 4.5, 3))
    everything.refuses_times = True
    out = read(everything, token=token_at_start(STREAM, NOW - 4 * HOUR))
    assert out == "R11 < R12 < R21 < R33"


def test_where_times_are_refused_old_shards_are_passed_over_unread():
    everything = world("S1 => S2 => S3", S1=truths(20, 19), S2=truths(18, 17), S3=truths(5, 1), open=("S3",))
    everything.refuses_times = True
    asked: list[str] = []
    drive = Drive(everything, token_at_start(STREAM, NOW - 6 * HOUR))
    fetch = drive.pages.fetch
    drive.pages.fetch = lambda shard_id, *rest: (asked.append(shard_id), fetch(shard_id, *rest))[1]  # type: ignore[method-assign]
    drive.run(2)
    assert order(drive) == "R31 < R32"
    assert asked.count("S1") == 0 and asked.count("S2") > 0


def test_lateness_none_never_waits_but_keeps_shard_and_lineage_order():
    everything = world("S1 => S3 ~ S2", S1=truths(5, 4), S2=truths(6), S3=truths(7), open=("S2", "S3"))
    drive = Drive(everything, lateness_us=None)
    drive.begin()
    drive.deliver(0)
    drive.begin()
    drive.deliver(0)
    assert order(drive) == "" and drive.reading.held_by is None
    drive.pop()
    assert order(drive) == "R11 < R12", "S2 has not answered yet"
    drive.run(4)
    assert order(drive) == "R11 < R12 < R21! < R31"


def test_the_clock_counts_what_came_out_over_all_resumes():
    everything = world("S1 ~ S2", S1=truths(5, 3), S2=truths(4))
    first = Drive(everything)
    first.read(2)
    second = Drive(everything, first.token())
    second.run(1)
    assert [o.clock for o in first.out + second.out] == [1, 2, 3]


def test_a_page_of_a_closed_shard_may_be_empty_any_number_of_times():
    everything = world("S1", S1=truths(5))
    drive = Drive(everything)
    drive.begin()
    drive.deliver(0)
    for _ in range(100):
        assert drive.reading.due(drive.now_us) == ["S1"]
        drive.reading.ask("S1")
        drive.reading.push("S1", [], NOW, drive.now_us)
    assert drive.reading.book.lanes["S1"].is_behind


def test_the_same_is_read_with_one_call_at_a_time():
    everything = world(
        "S1 => {S2, S3}; {S2, S3} => S4 ~ S5", **{f"S{n}": truths(9 - n, 8 - n, 8 - n) for n in range(1, 6)}
    )
    drive = Drive(everything)
    while len(drive.out) < everything.size:
        drive.begin(room=1)
        if drive.flights:
            drive.deliver(0)
            drive.pop()
        else:
            drive.advance()
    assert [(o.shard, o.index) for o in drive.out] == [(e.shard, e.index) for e in expected(everything.shards)]


def test_a_stream_that_is_drained_says_so():
    drive = Drive(world("S1 => S2", S1=truths(5), S2=truths(4)))
    assert not drive.reading.is_drained
    drive.read(2)
    assert not drive.reading.is_drained, "children of S2 are still looked for"
    drive.run(quiet_us=60 * SECOND)
    assert drive.reading.is_drained
    drive = Drive(world("S1", S1=truths(5), open=("S1",)))
    drive.run(quiet_us=60 * SECOND)
    assert not drive.reading.is_drained


def test_a_long_lineage_is_read_in_its_order():
    count = 60
    text = " => ".join(f"S{index:02d}" for index in range(count))
    everything = world(text, **{f"S{index:02d}": truths(20) for index in range(count)})
    assert [o.shard for o in Drive(everything).run(count)] == [f"S{index:02d}" for index in range(count)]
    assert all(shard.closed_us == ALWAYS for shard in everything.shards.values())
