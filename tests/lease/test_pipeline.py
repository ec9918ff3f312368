"""The pipeline of a lease: what may be delivered, and the checkpoint that follows from what was acked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.errors import InvalidOption
from streamiter.lease.pipeline import Pipeline
from streamiter.lease.ways import Order
from streamiter.lease.wishes import Entries, numbers_of, records_of


def pipeline(groups: str, **order) -> Pipeline:
    made = Pipeline("TRIM_HORIZON", Order(**order))
    made.push((str(place), group, f"r{place}") for place, group in enumerate(groups, 1))
    return made


def out(made: Pipeline, now: int = 0) -> list[int]:
    return [entry.number for entry in made.take(now)]


def test_in_shard_order_a_batch_waits_for_the_one_before():
    made = pipeline("abcde", batch=2)
    assert out(made) == [0, 1]
    assert out(made) == []
    made.ack(1)
    assert made.checkpoint == "TRIM_HORIZON"  # the first is not acked
    made.ack(0)
    assert made.checkpoint == "2"
    assert out(made) == [2, 3]


def test_by_key_each_key_is_in_order_and_others_go_beside():
    made = pipeline("aabca", by_key=True, concurrency=3)
    assert out(made) == [0, 2, 3]
    made.ack(2)
    assert out(made) == []  # only records of a are left, and one is out
    made.ack(0)
    assert made.checkpoint == "1"
    assert out(made) == [1]
    made.ack(1)
    assert made.checkpoint == "3"


def test_records_without_a_key_wait_for_none():
    made = Pipeline("TRIM_HORIZON", Order(by_key=True, concurrency=9))
    made.push([("1", None, "x"), ("2", None, "y")])
    assert out(made) == [0, 1]


def test_what_failed_comes_again_in_its_place_and_holds_its_key_alone():
    made = pipeline("aab", by_key=True, concurrency=3)
    assert out(made) == [0, 2]
    made.give_back(0, again_us=100)
    made.ack(2)
    assert out(made, now=50) == []
    assert made.again_us(50) == 100
    assert out(made, now=100) == [0]
    made.ack(0)
    assert out(made, now=100) == [1]


def test_an_ack_of_what_is_not_out_changes_nothing():
    made = pipeline("ab", batch=1)
    made.ack(0)
    made.ack(7)
    assert made.checkpoint == "TRIM_HORIZON"
    assert out(made) == [0]
    made.ack(0)
    made.ack(0)
    assert made.checkpoint == "1"
    assert made.is_idle


def test_the_end_is_reached_when_all_is_acked():
    made = pipeline("a")
    made.is_ended = True
    assert not made.is_done
    assert out(made) == [0]
    made.ack(0)
    assert made.is_done
    made.gap = "trimmed"
    assert not made.is_done


def test_a_gap_stops_deliveries_and_fetches():
    made = pipeline("ab")
    made.gap = "trimmed"
    assert out(made) == []
    assert not made.wants_page
    made.gap = None
    assert out(made) == [0, 1]
    assert made.wants_page


def test_no_page_is_fetched_while_enough_waits():
    assert not pipeline("abc", buffer=3).wants_page
    assert pipeline("abc", buffer=4).wants_page


def test_what_is_abandoned_counts_as_not_processed():
    made = pipeline("ab")
    out(made)
    made.ack(0)
    made.abandon()
    assert made.is_idle
    assert made.checkpoint == "1"


def test_an_order_says_what_is_wrong_with_it():
    with pytest.raises(InvalidOption, match="1 or more"):
        Order(batch=0)


def test_no_more_records_are_out_than_side_by_side():
    made = pipeline("abc", by_key=True, concurrency=2)
    assert out(made) == [0, 1]
    assert out(made) == []
    made.ack(1)
    assert out(made) == [2]


def test_the_first_group_that_rests_is_waited_for():
    made = pipeline("ab", by_key=True, concurrency=2)
    out(made)
    made.give_back(0, again_us=100)
    made.give_back(1, again_us=50)
    assert made.again_us(0) == 50
    assert made.again_us(50) == 100
    assert made.again_us(100) is None


def test_a_batch_that_is_not_full_waits_as_long_as_it_is_told():
    made = Pipeline("TRIM_HORIZON", Order(batch=3, within_us=100))
    made.push([("1", None, "x")], 10)
    made.push([("2", None, "y")], 60)
    assert out(made, now=60) == [] and made.again_us(60) == 110
    assert out(made, now=110) == [0, 1]
    made.push([("3", None, "z")], 120)
    made.ack(0)
    made.ack(1)
    assert out(made, now=219) == [] and made.again_us(219) == 220
    assert out(made, now=220) == [2]


def test_a_full_batch_and_the_last_one_wait_for_nothing():
    made = Pipeline("TRIM_HORIZON", Order(batch=2, within_us=100))
    made.push(((str(place), None, place) for place in range(3)), 10)
    assert out(made, now=10) == [0, 1]
    made.ack(0)
    made.ack(1)
    assert out(made, now=20) == []
    made.is_ended = True
    assert out(made, now=20) == [2]


def test_in_open_order_more_goes_out_while_something_is_and_stays_in_order():
    made = pipeline("abcdef", batch=3, is_open=True)
    assert out(made) == [0, 1, 2]
    assert out(made) == []
    made.ack(1)
    assert out(made) == [3] and made.checkpoint == "TRIM_HORIZON"
    made.ack(0)
    assert made.checkpoint == "2" and out(made) == [4]


def test_in_open_order_what_is_given_back_comes_again_with_all_behind_it_that_was_not_acked():
    made = pipeline("abcdef", batch=4, is_open=True)
    assert out(made) == [0, 1, 2, 3]
    made.ack(2)
    made.give_back(1)
    assert out(made) == []  # until 0 and 3 are done with
    made.give_back(3)
    made.ack(0)
    assert made.checkpoint == "1"
    assert out(made) == [1, 3, 4]
    assert made.checkpoint == "1"
    made.ack(1)
    assert made.checkpoint == "3"


def test_a_tip_counts_once_all_before_it_is_acked():
    made = pipeline("ab", batch=2)
    made.push([], 0, 1_000)
    assert made.tip_us is None
    out(made)
    made.ack(0)
    assert made.tip_us is None
    made.ack(1)
    assert made.tip_us == 1_000
    made.push([], 0, 2_000)
    assert made.tip_us == 2_000
    made.push([("3", None, "c")])
    out(made)
    made.ack(2)
    assert made.tip_us is None  # it lies before that record


def test_a_checkpoint_may_be_a_function_that_is_asked_when_the_row_is_written():
    told = ["five"]
    made = Pipeline("TRIM_HORIZON", Order(batch=1))
    made.push([(lambda _: told[0] if told else None, None, "x"), (lambda _: None, None, "y")])
    out(made)
    made.ack(0)
    assert made.checkpoint == "five"
    out(made)
    made.ack(1)
    assert made.checkpoint == "five"  # the second could not be told


def test_what_the_processor_committed_is_done_even_if_it_failed_afterwards():
    made = pipeline("abc", batch=2)
    out(made)
    made.promise(1, "2")
    made.adopt("7")
    assert made.checkpoint == "TRIM_HORIZON"  # that was somebody else
    made.adopt("2")
    assert made.checkpoint == "2"
    made.give_back(0)
    made.give_back(1)
    assert made.checkpoint == "2" and out(made) == [2]


def test_what_was_promised_and_not_committed_comes_again():
    made = pipeline("abc", batch=2)
    out(made)
    made.promise(1, "2")
    made.give_back(0)
    made.give_back(1)
    assert out(made) == [0, 1]


def test_nothing_goes_out_in_quarantine():
    made = pipeline("abc", batch=2)
    made.quarantine = "the second cannot be read"
    assert out(made) == [] and not made.wants_page


def test_what_is_let_go_fills_the_holes_before_what_is_acked_and_goes_no_further():
    made = pipeline("aabac", by_key=True, concurrency=2)
    assert out(made) == [0, 2]
    made.ack(2)
    made.let_go(100)
    assert out(made) == []  # a is at work, and c lies behind all that is acked
    assert made.is_hole(1) and not made.is_hole(3)
    made.ack(0)
    assert not made.is_idle
    assert out(made, now=50) == [1]
    made.ack(1)
    assert made.is_idle
    assert made.checkpoint == "3"
    assert out(made, now=60) == []


def test_a_hole_whose_record_failed_is_waited_for_if_it_comes_again_in_time():
    for again_us, waits in [(80, True), (200, False)]:
        made = pipeline("ab", by_key=True, concurrency=2)
        assert out(made) == [0, 1]
        made.ack(1)
        made.let_go(100)
        made.give_back(0, again_us)
        assert made.is_idle is not waits
        assert out(made, now=80) == ([0] if waits else [])


def test_holes_are_filled_no_longer_than_until_that_moment():
    made = pipeline("aab", by_key=True, concurrency=2)
    out(made)
    made.ack(2)
    made.let_go(100)
    assert made.again_us(50) == 100
    made.ack(0)
    assert not made.is_idle
    assert out(made, now=100) == []
    assert made.is_idle


def test_one_that_is_kept_after_all_goes_on():
    made = pipeline("aac", by_key=True, concurrency=1)
    assert out(made) == [0]
    made.let_go(100)
    made.keep()
    made.ack(0)
    assert out(made, now=500) == [1]


def test_entries_are_made_of_columns_when_they_are_looked_at():
    entries = Entries(7, ["a", "b", "c"], ["x", "y", "z"])
    assert [(entry.number, entry.place, entry.record) for entry in entries] == [
        (7, "a", "x"),
        (8, "b", "y"),
        (9, "c", "z"),
    ]
    assert entries[-1] == list(entries)[-1]
    assert list(entries[1:]) == list(entries)[1:]
    assert list(numbers_of(entries[:2])) == numbers_of(list(entries)[:2]) == [7, 8]
    assert records_of(entries) == records_of(list(entries)) == ["x", "y", "z"]
    assert repr(entries) == repr(tuple(entries))


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12))
def test_many_records_come_out_once_and_what_is_acked_is_let_go(sizes: list[int]):
    made = Pipeline("TRIM_HORIZON", Order(batch=150))
    came, sent = [], 0
    for size in sizes:
        made.push((str(number), None, number) for number in range(sent, sent + size))
        sent += size
        entries = made.take(0)
        assert made.oldest == len(came)
        came += records_of(entries)
        made.ack_all(numbers_of(entries))
        assert made.checkpoint == str(len(came) - 1)
    while entries := made.take(0):
        came += records_of(entries)
        made.ack_all(numbers_of(entries))
    assert came == list(range(sent))
    assert made.oldest is None and made.is_idle
