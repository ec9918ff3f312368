"""Discovery: when to list again, and when what the listings say may be relied on."""

from __future__ import annotations

import pytest

from streamiter.clock import SECOND_US
from streamiter.lineage import GATHER_US, Discovery
from streamiter.lineage.agreement import UNTOLD_US

AT_ONCE = -(1 << 62)


def listing(
    discovery: Discovery,
    now_us: int,
    *shards: str,
    news: bool = False,
    doubtful: tuple[str, ...] = (),
    span_us: int = UNTOLD_US,
) -> int:
    """One that begins and is complete at this moment; on what is in doubt, listings are to agree over `span_us`."""
    ticket = discovery.begin(now_us)
    discovery.heard(ticket, shards, news, doubtful, now_us, agreeing_us=lambda _: span_us)
    return ticket


def settle(discovery: Discovery, ticket: int, now_us: int, *parents: str) -> tuple[list[str], list[str]]:
    return discovery.settle(ticket, lambda shard: shard in parents, now_us)


def test_the_first_listing_is_due_at_once_and_one_at_a_time():
    discovery = Discovery()
    assert discovery.due_us() == AT_ONCE
    discovery.begin(5)
    assert discovery.due_us() is None
    discovery.fail()
    assert discovery.due_us() == AT_ONCE


def test_a_listing_that_failed_does_not_wait_out_the_quiet_minute():
    discovery = Discovery()
    for _ in range(9):
        listing(discovery, 7, "S1")
    due_us = discovery.due_us()
    assert due_us == 7 + 60 * SECOND_US
    discovery.begin(due_us)
    discovery.fail()
    assert discovery.due_us() == 7, "at once"
    listing(discovery, 70 * SECOND_US, "S1")
    assert discovery.due_us() == 130 * SECOND_US


def test_listings_go_on_once_a_minute_and_sooner_after_news():
    discovery = Discovery()
    listing(discovery, 7, "S1", news=True)
    pauses = []
    for _ in range(6):
        due_us = discovery.due_us()
        assert due_us is not None
        pauses.append(due_us - 7)
        listing(discovery, 7, "S1")
    assert pauses == sorted(pauses) and pauses[0] == SECOND_US and pauses[-1] == 60 * SECOND_US


def test_a_shard_that_ended_waits_for_a_listing_begun_after_its_end():
    discovery = Discovery()
    early = discovery.begin(0)
    discovery.ended("S1", 0)
    discovery.heard(early, ["S1", "S2"], True, (), 0, agreeing_us=lambda _: 0)
    assert settle(discovery, early, 0, "S1") == ([], []) and discovery.is_waiting("S1")
    late = listing(discovery, 1, "S1", "S2")
    assert settle(discovery, late, 1, "S1") == (["S1"], []) and not discovery.is_waiting("S1")


def test_a_childless_shard_waits_for_ten_listings_over_half_a_minute():
    discovery = Discovery()
    listing(discovery, 0, "S1", news=True)
    discovery.ended("S1", 0)
    seen = []
    now_us = 0
    while discovery.is_waiting("S1"):
        due_us = discovery.due_us()
        assert due_us is not None
        now_us = max(now_us, due_us)
        seen.append(now_us)
        ticket = listing(discovery, now_us, "S1")
        fruitful, childless = settle(discovery, ticket, now_us)
        assert not fruitful and childless == ([] if discovery.is_waiting("S1") else ["S1"])
    assert seen[0] == 0 and now_us >= 30 * SECOND_US and len(seen) >= 10
    pauses = [after - before for before, after in zip(seen, seen[1:], strict=False)]
    assert pauses == sorted(pauses) and pauses[0] == SECOND_US // 4 and pauses[-1] == 5 * SECOND_US


def test_the_shard_that_ended_last_decides_when_to_list():
    discovery = Discovery()
    listing(discovery, 0, "S1", "S2", news=True)
    for shard_id in ("S1", "S2"):
        discovery.ended(shard_id, 0)
    for _ in range(3):
        listing(discovery, 0, "S1", "S2")
    assert discovery.due_us() == SECOND_US, "the third pause"
    discovery.ended("S3", 0)
    assert discovery.due_us() == 0, "no listing since"
    listing(discovery, 0, "S1", "S2", "S3")
    assert discovery.due_us() == SECOND_US // 4
    discovery.ended("S1", 0)  # once more: it was asked again
    assert discovery.due_us() == 0
    assert discovery.found("S1") and discovery.found("S3")
    assert discovery.due_us() == 2 * SECOND_US


def test_ten_listings_in_no_time_are_not_enough_nor_half_a_minute_alone():
    discovery = Discovery()
    discovery.ended("S1", 0)
    for _ in range(20):
        assert settle(discovery, listing(discovery, 1, "S1"), 1) == ([], [])
    assert settle(discovery, listing(discovery, 30 * SECOND_US, "S1"), 30 * SECOND_US) == ([], ["S1"])
    discovery.ended("S2", 0)
    for _ in range(9):
        assert settle(discovery, listing(discovery, 90 * SECOND_US, "S2"), 90 * SECOND_US) == ([], [])


def test_of_a_shard_that_is_gone_three_listings_over_a_second_suffice():
    discovery = Discovery()
    listing(discovery, 0, "S1", news=True)
    discovery.ended("S1", 0, gone=True)
    for now_us in (0, 0, 0, UNTOLD_US - 1):
        assert settle(discovery, listing(discovery, now_us, "S1"), now_us) == ([], [])
    assert settle(discovery, listing(discovery, UNTOLD_US, "S1"), UNTOLD_US) == ([], ["S1"])


def test_ends_are_gathered_while_others_are_caught_up():
    discovery = Discovery()
    listing(discovery, 0, "S1", news=True)
    discovery.ended("S1", 0)
    assert discovery.due_us() == 0 and discovery.due_us(lambda: GATHER_US) == GATHER_US


def test_it_is_asked_how_long_to_gather_only_where_an_end_is_new():
    discovery = Discovery()
    discovery.ended("S1", 0)
    listing(discovery, 0, "S1", news=True)
    assert discovery.due_us() == discovery.due_us(lambda: pytest.fail("no end is new")) > 0
    discovery.ended("S2", 0)
    assert discovery.due_us(lambda: GATHER_US) == GATHER_US


def test_a_listing_with_nothing_doubtful_is_whole():
    discovery = Discovery()
    listing(discovery, 0, "S1", news=True)
    assert discovery.is_whole


def until_confirmed(discovery: Discovery, span_us: int) -> list[int]:
    """When listings come that show S2 without its parent, until it is confirmed."""
    seen: list[int] = []
    now_us = 0
    while not discovery.is_confirmed("S2"):
        assert not discovery.is_whole
        due_us = discovery.due_us()
        assert due_us is not None
        now_us = max(now_us, due_us)
        listing(discovery, now_us, "S1", "S2", news=not seen, doubtful=("S2",), span_us=span_us)
        seen.append(now_us)
    return seen


def test_a_doubtful_shard_is_confirmed_by_three_listings_that_lie_apart():
    discovery = Discovery()
    seen = until_confirmed(discovery, UNTOLD_US)
    assert len(seen) == 3 and seen[-1] == UNTOLD_US and discovery.is_whole


def test_one_whose_parents_cannot_be_listed_any_more_is_confirmed_at_once():
    assert until_confirmed(Discovery(), 0) == [0, 0, 0]


def test_listings_of_one_moment_are_no_better_than_one():
    discovery = Discovery()
    for _ in range(30):
        listing(discovery, 0, "S1", "S2", doubtful=("S2",))
        assert not discovery.is_confirmed("S2") and not discovery.is_whole


def test_a_listing_that_connects_it_starts_the_count_anew():
    discovery = Discovery()
    listing(discovery, 0, "S2", news=True, doubtful=("S2",))
    listing(discovery, 9 * SECOND_US, "S2", doubtful=("S2",))
    listing(discovery, 9 * SECOND_US, "S1", "S2", news=True)
    listing(discovery, 9 * SECOND_US, "S2", doubtful=("S2",))
    assert not discovery.is_confirmed("S2")


def test_what_is_confirmed_stays_so_while_a_listing_lacks_it():
    discovery = Discovery()
    until_confirmed(discovery, 0)
    listing(discovery, SECOND_US, "S1", doubtful=("S2",))
    assert discovery.is_confirmed("S2")


def test_a_listing_is_whole_only_when_nothing_in_it_is_in_doubt():
    discovery = Discovery()
    for _ in range(2):
        listing(discovery, 0, "S2", doubtful=("S2",), span_us=0)
    listing(discovery, 0, "S2", "S3", news=True, doubtful=("S2", "S3"), span_us=0)
    assert discovery.is_confirmed("S2") and not discovery.is_confirmed("S3") and not discovery.is_whole


def test_an_empty_list_is_believed_when_it_comes_three_times_over_a_second():
    discovery = Discovery()
    for now_us in (0, 0, 0, UNTOLD_US):
        assert not discovery.is_whole and discovery.listings == 0
        listing(discovery, now_us)
    assert discovery.is_whole and discovery.listings == 1
    assert discovery.due_us() == UNTOLD_US + SECOND_US  # It is being enabled, perhaps.


def test_empty_lists_are_asked_again_soon_and_count_anew_after_one_with_shards():
    discovery = Discovery()
    listing(discovery, 0)
    assert discovery.due_us() == SECOND_US // 4
    listing(discovery, 250_000)
    assert discovery.due_us() == UNTOLD_US
    listing(discovery, UNTOLD_US, "S1")
    listing(discovery, UNTOLD_US)
    assert discovery.listings == 1


def test_empty_lists_are_not_asked_for_without_pause_while_children_are_looked_for():
    discovery = Discovery()
    discovery.ended("S1", 0)
    listing(discovery, 0)
    assert discovery.due_us() == SECOND_US // 4


def test_a_listing_without_the_tokens_shards_is_doubtful():
    discovery = Discovery(["S1"])
    listing(discovery, 0, "S2", news=True)
    assert not discovery.is_whole
    listing(discovery, 0, "S1", "S2", news=True)
    assert discovery.is_whole


def test_listings_of_one_moment_without_the_tokens_shards_are_no_better_than_one():
    discovery = Discovery(["S1"])
    for now_us in (0, 0, 0, UNTOLD_US - 1):
        listing(discovery, now_us, "S2")
        assert not discovery.is_whole
    listing(discovery, UNTOLD_US, "S2")
    assert discovery.is_whole


def test_a_shard_that_listings_lack_for_long_is_forgotten():
    discovery = Discovery()
    for minute in range(10):
        assert discovery.forgotten(["S1", "S2"], ["S2"], minute * 60 * SECOND_US) == []
    assert discovery.forgotten(["S1", "S2"], ["S2"], 600 * SECOND_US) == ["S1"]


def test_a_shard_that_comes_back_is_not_forgotten():
    discovery = Discovery()
    for minute in range(20):
        listed = ["S1"] if minute == 9 else []
        assert discovery.forgotten(["S1"], listed, minute * 60 * SECOND_US) == ([] if minute < 20 else ["S1"])


def test_the_tenth_listing_half_a_minute_after_the_end_is_enough():
    discovery, ended_us = Discovery(), 100 * SECOND_US
    discovery.ended("S1", ended_us)
    for _ in range(20):
        assert settle(discovery, listing(discovery, ended_us, "S1"), ended_us) == ([], []), "in no time"
    discovery = Discovery()
    discovery.ended("S1", ended_us)
    now_us = ended_us + 30 * SECOND_US
    for _ in range(9):
        assert settle(discovery, listing(discovery, now_us, "S1"), now_us) == ([], [])
    assert settle(discovery, listing(discovery, now_us, "S1"), now_us) == ([], ["S1"])


def test_of_a_shard_that_is_gone_the_third_listing_a_second_later_is_enough():
    discovery, ended_us = Discovery(), 100 * SECOND_US
    discovery.ended("S1", ended_us, gone=True)
    for _ in range(2):
        assert settle(discovery, listing(discovery, ended_us, "S1"), ended_us) == ([], [])
    now_us = ended_us + UNTOLD_US
    assert settle(discovery, listing(discovery, now_us, "S1"), now_us) == ([], ["S1"])
    discovery.ended("S2", now_us, gone=True)
    for _ in range(20):
        assert settle(discovery, listing(discovery, now_us, "S2"), now_us) == ([], []), "in no time"


def test_the_tenth_listing_without_it_ten_minutes_after_the_first_forgets_a_shard():
    discovery = Discovery()
    for _ in range(8):
        assert discovery.forgotten(["S1"], [], 0) == []
    assert discovery.forgotten(["S1"], [], 600 * SECOND_US) == [], "the ninth"
    assert discovery.forgotten(["S1"], [], 600 * SECOND_US) == ["S1"]


def test_a_listing_that_was_asked_for_is_due_at_once():
    discovery = Discovery()
    listing(discovery, 7, "S1")
    assert discovery.due_us() != 7
    discovery.request()
    assert discovery.due_us() == 7
    listing(discovery, 9, "S1")
    assert discovery.due_us() != 9, "once"


def test_a_first_listing_that_brings_no_news_is_followed_by_one_after_four_seconds():
    discovery = Discovery(["S1"])
    listing(discovery, 0, "S1")
    assert discovery.due_us() == 4 * SECOND_US


def test_a_shard_whose_last_page_named_its_children_waits_for_no_listing():
    discovery = Discovery()
    discovery.ended("S1", 0)
    assert discovery.found("S1") is True and not discovery.is_searching
    assert discovery.found("S1") is False


def test_it_tells_whether_a_listing_that_began_later_was_completed():
    discovery = Discovery()
    assert not discovery.has_heard_since(0)
    early = discovery.begin(0)
    assert not discovery.has_heard_since(0), "it is not completed"
    discovery.heard(early, ["S1"], True, (), 0, agreeing_us=lambda _: 0)
    assert discovery.has_heard_since(0) and not discovery.has_heard_since(early)


def test_after_news_listings_follow_after_1_4_16_and_then_60_seconds():
    discovery = Discovery()
    pauses = []
    for turn in range(5):
        listing(discovery, 0, "S1", news=turn == 0)
        pauses.append(discovery.due_us())
    assert pauses == [1 * SECOND_US, 4 * SECOND_US, 16 * SECOND_US, 60 * SECOND_US, 60 * SECOND_US]


def test_listings_that_lack_a_shard_do_not_confirm_that_nothing_connects_it():
    discovery = Discovery()
    for _ in range(5):
        listing(discovery, 0, "S1", doubtful=("S2",), span_us=0)
    assert not discovery.is_confirmed("S2")


def test_a_listing_under_way_when_a_shard_ended_is_none_of_the_ten():
    discovery = Discovery()
    early = discovery.begin(0)
    discovery.ended("S1", 0)
    assert discovery.is_searching
    discovery.heard(early, ["S1"], True, (), 0, agreeing_us=lambda _: 0)
    now_us = 30 * SECOND_US
    for _ in range(9):
        assert settle(discovery, listing(discovery, now_us, "S1"), now_us) == ([], [])
    assert settle(discovery, listing(discovery, now_us, "S1"), now_us) == ([], ["S1"])


def test_a_shard_that_grows_older_meanwhile_is_confirmed_by_its_new_age():
    discovery = Discovery()
    for _ in range(3):
        listing(discovery, 0, "S2", doubtful=("S2",), span_us=10 * SECOND_US)
    assert not discovery.is_confirmed("S2")
    listing(discovery, SECOND_US, "S2", doubtful=("S2",), span_us=0)
    assert discovery.is_confirmed("S2")


def test_what_is_confirmed_hurries_no_listing():
    discovery = Discovery()
    for turn in range(3):
        listing(discovery, 0, "S2", news=turn == 2, doubtful=("S2",), span_us=0)
    assert discovery.is_confirmed("S2") and discovery.due_us() == SECOND_US
