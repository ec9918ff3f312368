"""Stderr: the level of each line, the tail, and lines that are not ended."""

from __future__ import annotations

import logging

import pytest

from streamiter.multilang.stderr import TAIL_LINES, Stderr, level_of


@pytest.mark.parametrize(
    "line, level",
    [
        ("2026-11-19 12:00:00,123 WARNING shop: low", logging.WARNING),
        ("[main] ERROR com.shop.Bill - failed", logging.ERROR),
        ("error: no such table", logging.ERROR),
        ("Error: no such table", logging.ERROR),
        ('{"time": "x", "level": "warn", "msg": "ERROR"}', logging.WARNING),
        ("Traceback (most recent call last):", logging.ERROR),
        ("panic: runtime error", logging.CRITICAL),
        ("DEBUG x", logging.DEBUG),
        ("there were 3 errors in all", logging.INFO),
        ("", logging.INFO),
    ],
)
def test_a_line_is_logged_at_the_level_that_it_names(line: str, level: int):
    assert level_of(line) == level


def test_a_traceback_has_one_level():
    told = Stderr().feed(b'Traceback (most recent call last):\n  File "x"\n    1 / 0\nfine again\n')
    assert [level for level, _ in told] == [logging.ERROR, logging.ERROR, logging.ERROR, logging.INFO]


def test_a_line_that_is_not_ended_is_shown_and_goes_on():
    stderr = Stderr()
    assert stderr.feed(b"half ") == []
    assert stderr.rest() == [(logging.INFO, "half ")]
    assert stderr.feed(b"line\n") == [(logging.INFO, "line")]


def test_the_tail_is_the_last_lines():
    stderr = Stderr()
    stderr.feed(b"".join(b"%d\n" % number for number in range(50)))
    assert stderr.tail.split("\n") == [str(number) for number in range(50 - TAIL_LINES, 50)]
