"""Agreement: listings that say the same have to lie apart in time; how far, the shard's id may hint at."""

from __future__ import annotations

import pytest

from streamiter.clock import SECOND_US
from streamiter.lineage.agreement import ABSENT_US, UNTOLD_US, YOUNG_US, Agreement, agreeing_us

DAY_US = 86_400 * SECOND_US
NOW_US = 1_750_000_000 * SECOND_US


@pytest.mark.parametrize(
    "age_us, is_first, wanted_us",
    [
        (None, True, UNTOLD_US),
        (None, False, UNTOLD_US),
        (0, True, YOUNG_US),
        (DAY_US, True, YOUNG_US),
        (DAY_US, False, YOUNG_US),
        (DAY_US + 1, True, 0),
        (DAY_US + 1, False, UNTOLD_US),  # it may be above what was read before
        (-3600 * SECOND_US, True, YOUNG_US),  # clocks disagree
    ],
)
def test_the_age_that_an_id_hints_at_says_how_long_to_wait(age_us, is_first, wanted_us):
    hinted_us = None if age_us is None else NOW_US - age_us
    assert agreeing_us(hinted_us, NOW_US, DAY_US, is_first=is_first) == wanted_us


def listings_until_settled(agreement: Agreement) -> list[int]:
    """When listings come, each of them in no time, whenever they are wanted."""
    seen = [0]
    agreement.agree(0, 0)
    while not agreement.is_settled:
        seen.append(agreement.due_us(seen[-1]))
        agreement.agree(seen[-1], seen[-1])
    return seen


def test_few_listings_soon_at_first_and_the_last_just_when_it_is_enough():
    assert listings_until_settled(Agreement(0)) == [0, 0, 0]
    assert listings_until_settled(Agreement(UNTOLD_US)) == [0, SECOND_US // 4, UNTOLD_US]
    assert listings_until_settled(Agreement(YOUNG_US)) == [0, 250_000, 1_250_000, 5_250_000, YOUNG_US]


def test_time_counts_from_the_end_of_the_first_to_the_beginning_of_the_last():
    """What a listing shows is how it was at some moment between."""
    agreement = Agreement(UNTOLD_US)
    agreement.agree(-SECOND_US, 0)
    agreement.agree(0, UNTOLD_US)
    agreement.agree(UNTOLD_US - 1, 2 * UNTOLD_US)
    assert not agreement.is_settled
    agreement.agree(UNTOLD_US, 2 * UNTOLD_US)
    assert agreement.is_settled


def test_slow_listings_are_three_all_the_same():
    agreement = Agreement(UNTOLD_US)
    agreement.agree(0, 0)
    agreement.agree(9 * SECOND_US, 9 * SECOND_US)
    assert not agreement.is_settled and agreement.due_us(9 * SECOND_US) == 9 * SECOND_US
    agreement.agree(9 * SECOND_US, 9 * SECOND_US)
    assert agreement.is_settled


def test_a_listing_that_lacks_the_shard_itself_starts_anew():
    agreement = Agreement(0)
    agreement.agree(0, 0)
    agreement.agree(0, 0)
    agreement.lack(0, 0)
    agreement.agree(0, 0)
    agreement.agree(0, 0)
    assert not agreement.is_settled
    agreement.agree(0, 0)
    assert agreement.is_settled


def test_a_shard_that_is_shown_no_more_is_not_waited_for_forever():
    agreement = Agreement(YOUNG_US)
    agreement.agree(0, 0)
    seen = [0]
    while not agreement.is_settled:
        now_us = agreement.due_us(seen[-1])
        seen.append(now_us)
        agreement.lack(now_us, now_us)
    assert len(seen) > 10 and ABSENT_US <= seen[-1] <= ABSENT_US + 10 * SECOND_US
    pauses = [after - before for before, after in zip(seen[1:], seen[2:], strict=False)]
    assert pauses == sorted(pauses)


def lacking(*seconds: float) -> bool:
    """Whether it is settled once listings at these moments lacked the shard."""
    agreement = Agreement(UNTOLD_US)
    for moment in seconds:
        agreement.lack(round(moment * SECOND_US), round(moment * SECOND_US))
    return agreement.is_settled


def test_ten_listings_over_thirty_seconds_must_lack_a_shard():
    assert lacking(*range(9), 30)
    assert not lacking(*range(9), 29.9)
    assert not lacking(*range(8), 60)
    assert not lacking(*[100] * 20), "in no time"


def test_what_agreed_before_a_listing_that_lacked_the_shard_counts_no_more():
    agreement = Agreement(UNTOLD_US)
    agreement.agree(0, 0)
    agreement.lack(10 * SECOND_US, 10 * SECOND_US)
    for moment_us in (20 * SECOND_US, 20 * SECOND_US, 20 * SECOND_US + UNTOLD_US - 1):
        agreement.agree(moment_us, moment_us)
    assert not agreement.is_settled
    agreement.agree(20 * SECOND_US + UNTOLD_US, 20 * SECOND_US + UNTOLD_US)
    assert agreement.is_settled


def test_a_shard_that_listings_lack_is_looked_for_more_and_more_seldom_but_every_five_seconds():
    agreement = Agreement(UNTOLD_US)
    pauses = []
    for _ in range(6):
        agreement.lack(0, 0)
        pauses.append(agreement.due_us(0))
    assert pauses == [500_000, 1_000_000, 2_000_000, 4_000_000, 5_000_000, 5_000_000]


def test_where_a_listing_seems_to_lag_they_are_to_agree_over_ten_seconds_else_over_one():
    assert (YOUNG_US, UNTOLD_US) == (10 * SECOND_US, SECOND_US)
