"""Listings: their pages, their pace, and what becomes of one that fails or leads in a circle."""

from __future__ import annotations

import pytest

from streamiter.reading.listing import ListAsk, Listing, Pace, Pages
from streamiter.shard import Shard
from streamiter.source.base import ShardPage

SECOND = 1_000_000


def listing(pages_per_second: float = 1_000) -> Listing:
    return Listing(Pace(pages_per_second))


def page(following: str | None, *shard_ids: str) -> ShardPage:
    return ShardPage(tuple(map(Shard, shard_ids)), following, 0)


def ask(listing: Listing, now_us: int = 0, ticket: int = 7) -> ListAsk:
    return listing.ask(now_us, lambda _: ticket)


def listed(listing: Listing, *following: str | None) -> Pages | None:
    """A listing whose pages lead to these."""
    pages = None
    for after in following:
        ask(listing)
        pages = listing.take(page(after))
    return pages


def test_a_page_less_goes_into_each_second_than_the_service_allows():
    pace = Pace(4)
    for now_us in (5, 6):
        pace.count(now_us)
        assert pace.free_us == 0
    pace.count(7)
    assert pace.free_us == 5 + SECOND
    pace.count(8)
    assert pace.free_us == 6 + SECOND
    slow = Pace(1)
    assert slow.free_us == 0
    slow.count(5)
    assert slow.free_us == 5 + SECOND


def test_each_page_is_asked_for_with_what_the_one_before_led_to():
    pages = listing()
    assert ask(pages) == ListAsk(None)
    assert pages.take(page("S1", "S0", "S1")) is None
    assert ask(pages) == ListAsk("S1")
    done = pages.take(page(None, "S2"))
    assert done is not None and done.is_whole and not done.is_circle and done.ticket == 7
    assert [shard.id for shard in done.rows] == ["S0", "S1", "S2"]
    assert ask(pages, ticket=8) == ListAsk(None), "the next one begins at the first page"


def test_the_first_page_waits_until_a_listing_is_wanted_and_the_others_only_for_the_pace():
    pages = listing(2)
    assert pages.due_us(None) is None and pages.due_us(9) == 9
    ask(pages, 3)
    assert pages.due_us(9) is None, "a page is under way"
    pages.take(page("S1"))
    assert pages.due_us(None) == pages.due_us(9 * SECOND) == 3 + SECOND
    ask(pages, 3 + SECOND)
    pages.fail(4 * SECOND, may_pass=True)
    assert pages.due_us(None) == 4 * SECOND
    assert listing().due_us(-5) == 0


def test_a_listing_begins_anew_after_three_failures_of_one_page_or_one_that_does_not_pass():
    pages = listing()
    ask(pages)
    assert pages.fail(0, may_pass=True) is None
    ask(pages)
    pages.take(page("S1", "S0"))
    for _ in range(2):
        assert ask(pages) == ListAsk("S1")
        assert pages.fail(0, may_pass=True) is None
    ask(pages)
    broken = pages.fail(0, may_pass=True)
    assert broken is not None and not broken.is_whole and [shard.id for shard in broken.rows] == ["S0"]
    assert ask(pages) == ListAsk(None)
    assert pages.fail(0, may_pass=False) is not None


def test_a_circle_breaks_a_listing_off_and_the_third_one_in_a_row_is_taken_for_the_end():
    pages = listing()
    for _ in range(2):
        found = [listed(pages, "S1", "S2", "S1") for _ in range(3)]
        assert [done and done.is_whole for done in found] == [False, False, True]
    listed(pages, "S1", "S1")
    whole = listed(pages, None)
    assert whole is not None and whole.is_whole
    assert [done and done.is_whole for done in (listed(pages, "S1", "S1"), listed(pages, "S1", "S1"))] == [False, False]


@pytest.mark.parametrize(
    "due_us, rests_us",
    [(None, None), (10, None), (11, 11), (2 * SECOND + 5, 2 * SECOND + 5), (2 * SECOND + 6, None)],
)
def test_a_reader_waits_only_for_a_page_that_is_due_soon(due_us: int | None, rests_us: int | None):
    assert listing().rests_until(10, 5, due_us) == rests_us


def test_a_reader_does_not_wait_for_a_page_that_failed():
    pages = listing()
    ask(pages)
    pages.fail(12, may_pass=True)
    assert pages.rests_until(11, 5, 20) is None
    assert pages.rests_until(12, 5, 20) == 20
