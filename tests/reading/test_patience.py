"""Patience: pauses between calls that fail, warnings, and when a row of failures is told to the caller."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamiter.errors import SourceError, Throttled, TransientError
from streamiter.reading.patience import Failure, Patience, pause_after, retrying
from streamiter.testing.clock import ManualClock

SECOND = 1_000_000
FAULT = TransientError("no answer")


def patience(seconds: int = 30) -> tuple[Patience, list[Failure]]:
    told: list[Failure] = []
    return Patience(seconds * SECOND, told.append), told


def test_pauses_double_up_to_the_longest_and_those_after_throttling_are_longer():
    assert [pause_after(FAULT, times) / SECOND for times in range(1, 8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 2, 2]
    assert [pause_after(Throttled("slowly"), times) / SECOND for times in range(1, 7)] == [0.5, 1, 2, 4, 5, 5]
    assert pause_after(FAULT, 1_000) == 2 * SECOND


def test_shards_that_failed_together_do_not_come_back_together():
    rows, _ = patience()
    pauses = [rows.failed(f"S{number}", FAULT, 7) - 7 for number in range(20)]
    assert len(set(pauses)) > 15 and min(pauses) >= SECOND // 10 and max(pauses) < 3 * SECOND // 20


def test_each_failure_is_told_and_so_is_the_answer_that_ends_the_row():
    rows, told = patience()
    again_us = rows.failed("S1", FAULT, SECOND)
    rows.failed("S1", Throttled("slowly"), 3 * SECOND)
    rows.failed(None, FAULT, 3 * SECOND)
    rows.recovered("S1", 4 * SECOND)
    rows.recovered("S1", 5 * SECOND)
    assert [(each.shard_id, each.times, each.lasts_us, each.tried_us) for each in told] == [
        ("S1", 1, 0, 0),
        ("S1", 2, 2 * SECOND, 2 * SECOND),
        (None, 1, 0, 0),
        ("S1", 2, 3 * SECOND, 2 * SECOND),
    ]
    assert told[0].pause_us == again_us - SECOND and told[-1].pause_us is None
    assert (rows.retries, rows.throttles) == (3, 1)
    assert not any(each.is_worth_a_warning for each in told)


def test_the_time_in_which_the_caller_asked_for_nothing_does_not_count():
    rows, told = patience()
    pause_us = rows.failed("S1", FAULT, 0)
    rows.failed("S1", FAULT, 3_600 * SECOND)
    assert told[-1].tried_us == pause_us + 25 * SECOND and told[-1].lasts_us == 3_600 * SECOND
    assert rows.overdue() is None


def test_a_row_is_worth_a_warning_after_five_seconds_once_and_rows_of_others_a_minute_later():
    rows, told = patience(600)

    def warned(shard_id: str, seconds: float) -> bool:
        rows.failed(shard_id, FAULT, round(seconds * SECOND))
        return told[-1].is_worth_a_warning

    assert [warned("S1", seconds) for seconds in (0, 4.9, 5, 6, 80)] == [False, False, True, False, False]
    assert [warned("S2", seconds) for seconds in (40, 50, 64.9, 65)] == [False, False, False, True]


def test_a_row_that_outlasts_the_patience_is_told_and_then_has_all_of_it_again():
    rows, _ = patience()
    for second in range(0, 30, 10):
        rows.failed("S1", FAULT, second * SECOND)
        rows.failed("S2", Throttled("slowly"), (second + 1) * SECOND)
        assert rows.overdue() is None
    rows.failed("S1", FAULT, 30 * SECOND)
    error = rows.overdue()
    assert type(error) is TransientError and error.__cause__ is FAULT and "shard S1" in str(error)
    assert "30 s (4 tries)" in str(error) and "look at the network" in str(error)
    assert rows.overdue() is None
    rows.failed("S2", Throttled("slowly"), 31 * SECOND)
    error = rows.overdue()
    assert isinstance(error, Throttled) and "other readers" in str(error)


def test_what_is_forgotten_or_given_up_is_not_told_again():
    rows, told = patience(0)
    rows.failed("S1", FAULT, 0)
    rows.forget("S1")
    assert rows.overdue() is None and len(told) == 1
    rows.failed(None, ValueError("odd"), 0)
    error = rows.give_up(None)
    assert type(error) is SourceError and "listing the shards" in str(error)
    assert rows.overdue() is None


def calls(*outcomes: BaseException | str) -> Callable[[], str]:
    """A call with these outcomes, one after the other."""
    left = iter(outcomes)

    def call() -> str:
        outcome = next(left)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return call


def test_a_call_is_made_again_after_pauses_until_it_is_answered():
    (rows, told), clock = patience(), ManualClock()
    clock.advance(100)
    began = clock.monotonic()
    assert retrying(calls(FAULT, FAULT, "answer"), clock, rows) == "answer"
    pauses_us = [each.pause_us for each in told]
    assert pauses_us[-1] is None, "the row has ended"
    assert clock.monotonic() - began == pytest.approx(sum(us for us in pauses_us if us) / SECOND)
    with pytest.raises(ValueError):
        retrying(calls(ValueError("odd"), "answer"), clock, rows)


def test_a_call_that_fails_as_long_as_patience_lasts_raises_its_last_error():
    clock, last = ManualClock(), TransientError("the last")
    began = clock.monotonic()

    def call() -> str:
        raise last if clock.monotonic() - began >= 4 else FAULT

    with pytest.raises(TransientError) as raised:
        retrying(call, clock, Patience(4 * SECOND))
    assert raised.value is last


def test_patience_that_is_just_over_is_over():
    clock = ManualClock()
    began = clock.monotonic()

    def call() -> str:
        clock.advance(4)
        raise FAULT

    with pytest.raises(TransientError):
        retrying(call, clock, Patience(4 * SECOND))
    assert clock.monotonic() == pytest.approx(began + 4)
