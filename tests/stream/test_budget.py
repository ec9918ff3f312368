"""The budget: page sizes that follow from what pages told of their records' size."""

from __future__ import annotations

import pytest

from streamiter.source.base import Page
from streamiter.stream.budget import GUESSED_RECORD_BYTES, Budget


def page(records: int, record_bytes: int) -> Page:
    return Page([None] * records, None, None, size_bytes=records * record_bytes)


def test_the_first_page_tells_more_than_any_guess():
    budget = Budget(64_000)
    assert budget.estimate_bytes(10) == 10 * GUESSED_RECORD_BYTES
    budget.learn(page(20, 500))
    assert budget.estimate_bytes(10) == 5_000
    assert budget.limit(budget.share_bytes(16), most=1000) == 8


def test_a_page_unlike_the_others_moves_it_a_little():
    budget = Budget(64_000)
    for record_bytes in (800, 1600):
        budget.learn(page(20, record_bytes))
    assert budget.estimate_bytes(1) == 900


@pytest.mark.parametrize("told", [page(0, 0), page(5, 0)])
def test_a_page_that_is_empty_or_without_a_size_tells_nothing(told):
    budget = Budget(64_000)
    budget.learn(told)
    assert budget.estimate_bytes(1) == GUESSED_RECORD_BYTES
    budget.learn(page(5, 300))
    assert budget.estimate_bytes(1) == 300
