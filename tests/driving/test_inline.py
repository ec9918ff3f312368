"""Inline: calls are made where their answers are asked for, by whoever asks."""

from __future__ import annotations

import threading

import pytest

from streamiter.driving.inline import Inline


def test_a_call_is_made_when_its_answer_is_asked_for():
    calls, made = Inline(4), []
    calls.submit("job", lambda: made.append(threading.current_thread()))
    assert (calls.under_way, calls.room, calls.has_answers, made) == (1, 3, True, [])
    (answer,) = calls.answers()
    assert (answer.job, answer.error) == ("job", None)
    assert made == [threading.current_thread()]
    assert (calls.under_way, calls.room, calls.has_answers) == (0, 4, False)


def test_errors_come_with_the_answer_and_ctrl_c_at_once():
    calls = Inline(4)
    calls.submit("first", lambda: 1 // 0)
    (answer,) = calls.answers(10.0)
    assert isinstance(answer.error, ZeroDivisionError)

    def interrupted() -> None:
        raise KeyboardInterrupt

    calls.submit("second", interrupted)
    with pytest.raises(KeyboardInterrupt):
        calls.answers()


def test_closed_it_makes_no_call_any_more():
    calls, made = Inline(4), []
    calls.submit("before", lambda: made.append(1))
    calls.close()
    calls.submit("after", lambda: made.append(2))
    calls.wait(10.0)
    assert calls.answers() == []
    assert not made
