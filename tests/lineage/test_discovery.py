"""Discovery: when to list again, and when what the listings say may be relied on."""

from __future__ import annotations

from streamiter.clock import SECOND_US
from streamiter.lineage import GATHER_US, Discovery


def listing(discovery: Discovery, now_us: int, *shards: str, news: bool = False, doubtful: tuple[str, ...] = ()) -> int:
    """One that begins and is complete at this moment."""
    ticket = discovery.begin()
    discovery.heard(ticket, shards, news, doubtful, now_us)
    return ticket


def settle(discovery: Discovery, ticket: int, now_us: int, *parents: str) -> tuple[list[str], list[str]]:
    return discovery.settle(ticket, lambda shard: shard in parents, now_us)


def test_the_first_listing_is_due_at_once_and_one_at_a_time():
    discovery = Discovery()
    due_us = discovery.due_us()
    assert due_us is not None and due_us < 0
    discovery.begin()
    assert discovery.due_us() is None
    discovery.fail(5)
    assert discovery.due_us() == 5


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
    early = discovery.begin()
    discovery.ended("S1", 0)
    discovery.heard(early, ["S1", "S2"], True, (), 0)
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


def test_ten_listings_in_no_time_are_not_enough_nor_half_a_minute_alone():
    discovery = Discovery()
    discovery.ended("S1", 0)
    for _ in range(20):
        assert settle(discovery, listing(discovery, 1, "S1"), 1) == ([], [])
    assert settle(discovery, listing(discovery, 30 * SECOND_US, "S1"), 30 * SECOND_US) == ([], ["S1"])
    discovery.ended("S2", 0)
    for _ in range(9):
        assert settle(discovery, listing(discovery, 90 * SECOND_US, "S2"), 90 * SECOND_US) == ([], [])


def test_of_a_shard_that_is_gone_three_listings_suffice():
    discovery = Discovery()
    discovery.ended("S1", 0, gone=True)
    assert settle(discovery, listing(discovery, 0, "S1"), 0) == ([], [])
    assert settle(discovery, listing(discovery, 0, "S1"), 0) == ([], [])
    assert settle(discovery, listing(discovery, 0, "S1"), 0) == ([], ["S1"])


def test_ends_are_gathered_while_others_are_caught_up():
    discovery = Discovery()
    listing(discovery, 0, "S1", news=True)
    discovery.ended("S1", 0)
    assert discovery.due_us() == 0 and discovery.due_us(gather_us=GATHER_US) == GATHER_US


def test_a_listing_with_nothing_doubtful_is_whole():
    discovery = Discovery()
    listing(discovery, 0, "S1", news=True)
    assert discovery.is_whole


def test_a_doubtful_shard_is_confirmed_by_three_listings_that_agree():
    discovery = Discovery()
    for count in range(3):
        assert not discovery.is_confirmed("S2") and not discovery.is_whole and discovery.due_us() in (count, -(1 << 62))
        listing(discovery, count + 1, "S1", "S2", news=count == 0, doubtful=("S2",))
    assert discovery.is_confirmed("S2") and discovery.is_whole


def test_a_listing_that_connects_it_starts_the_count_anew():
    discovery = Discovery()
    listing(discovery, 0, "S2", news=True, doubtful=("S2",))
    listing(discovery, 0, "S2", doubtful=("S2",))
    listing(discovery, 0, "S1", "S2", news=True)
    listing(discovery, 0, "S2", doubtful=("S2",))
    assert not discovery.is_confirmed("S2")


def test_an_empty_list_is_believed_when_it_comes_three_times():
    discovery = Discovery()
    for count in range(3):
        assert not discovery.is_whole and discovery.listings == 0, count
        listing(discovery, 0)
    assert discovery.is_whole and discovery.listings == 1
    assert discovery.due_us() == SECOND_US  # It is being enabled, perhaps.


def test_a_listing_without_the_tokens_shards_is_doubtful():
    discovery = Discovery(["S1"])
    listing(discovery, 0, "S2", news=True)
    assert not discovery.is_whole
    listing(discovery, 0, "S1", "S2", news=True)
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
