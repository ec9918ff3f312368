"""Balance: who takes, asks for and gives which lease."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.lease.balance import View, asks_of, gives_of, make_plan, takes_of, targets


def view(me: str, workers: str, held: dict[str, str] | None = None, free=(), **more) -> View:
    """`view("a", "ab", {"1": "a"}, "23")`: workers and leases have names of one sign."""
    promised = dict.fromkeys(free) if not isinstance(free, dict) else free
    return View(me, list(workers), held or {}, promised, **more)


@pytest.mark.parametrize(
    "workers, held, free, expected",
    [
        ("a", {}, "123", {"a": 3}),
        ("ab", {}, "123", {"a": 2, "b": 1}),
        ("ab", {"1": "b", "2": "b"}, "3", {"a": 1, "b": 2}),  # who has more now keeps the odd one
        ("abc", {"1": "a"}, "", {"a": 1, "b": 0, "c": 0}),
        ("ab", {}, "", {"a": 0, "b": 0}),
    ],
)
def test_each_has_as_many_as_the_others_or_one_more(workers, held, free, expected):
    assert targets(view("a", workers, held, free)) == expected


@pytest.mark.parametrize(
    "me, held, free, takes",
    [
        ("a", {}, "12", ["1"]),  # each its share
        ("b", {}, "12", ["2"]),
        ("a", {"1": "a", "2": "a"}, "34", []),  # the other has too few
        ("b", {"1": "a", "2": "a"}, "34", ["3", "4"]),
        ("a", {"1": "a", "2": "b"}, "3", ["3"]),  # among equals each takes itself for the one
        ("b", {"1": "a", "2": "b"}, "3", ["3"]),
    ],
)
def test_free_leases_are_dealt(me, held, free, takes):
    assert takes_of(view(me, "ab", held, free)) == takes


def test_a_promised_lease_goes_to_who_asked_for_it():
    promised = view("a", "ab", {"1": "a"}, {"2": "b"})
    assert takes_of(promised) == []
    assert takes_of(promised._replace(me="b")) == ["2"]


def test_a_newcomer_leaves_alone_what_was_handed_over_to_its_equal():
    promised = view("d", "abcd", {"1": "a", "2": "b"}, {"3": "c"})
    assert takes_of(promised) == []
    assert takes_of(promised._replace(me="c")) == ["3"]
    assert takes_of(promised._replace(overdue=["3"])) == ["3"]


def test_what_another_leaves_lying_is_taken():
    lying = view("a", "abc", {"1": "a", "2": "b", "3": "c"}, "", overdue=())
    assert takes_of(lying) == []
    assert takes_of(view("a", "ab", {"1": "a"}, "2")) == []
    assert takes_of(view("a", "ab", {"1": "a"}, "2", overdue=["2"])) == ["2"]


def test_a_newcomer_asks_for_its_share_and_gets_it():
    held = {str(number): "a" for number in range(6)}
    asked = asks_of(view("b", "ab", held))
    assert asked == ["5", "4", "3"]
    assert gives_of([(lease, "b") for lease in asked], view("a", "ab", held)) == {"5": "b", "4": "b", "3": "b"}
    assert asks_of(view("a", "ab", held)) == []


def test_an_owner_gives_no_more_than_its_own_view_allows():
    held = {"1": "a", "2": "a", "3": "b"}
    assert gives_of([("1", "b"), ("2", "b")], view("a", "ab", held)) == {}  # a has the odd one
    assert gives_of([("3", "a")], view("a", "ab", held)) == {}  # it is not a's to give
    assert gives_of([("1", "c"), ("2", "c")], view("a", "abc", held)) == {"1": "c"}
    assert gives_of([("1", "z")], view("a", "ab", {**held, "4": "a"})) == {}  # nobody knows z


def test_what_cannot_be_handed_over_is_not_asked_for():
    assert asks_of(view("b", "ab", {"1": "a", "2": "a"}, stuck={"2"})) == ["1"]
    assert asks_of(view("b", "ab", {"1": "a", "2": "a"}, stuck={"1", "2"})) == []


leases = st.dictionaries(st.integers(0, 40).map(str), st.sampled_from("abcde-"), max_size=30)


@given(leases, st.integers(1, 5))
def test_from_any_state_one_round_balances_with_the_fewest_moves(owners, workers):
    names = "abcde"[:workers]
    held = {lease: owner for lease, owner in owners.items() if owner in names}
    free = dict.fromkeys(lease for lease in owners if lease not in held)
    plan = make_plan(View("a", names, held, free))
    assert set(plan.takes) == set(free)
    after = Counter(dict.fromkeys(names, 0)) + Counter({**held, **plan.takes, **plan.moves}.values())
    counts = [after[name] for name in names]
    assert max(counts) - min(counts) <= 1
    # A move is needed where a worker has more than it is to have: no other moves.
    most = sorted((Counter(held.values())[name] for name in names), reverse=True)
    least, odd = divmod(len(owners), workers)
    assert len(plan.moves) == sum(max(0, have - least - (rank < odd)) for rank, have in enumerate(most))


@given(leases, st.integers(1, 5))
def test_what_is_balanced_stays(owners, workers):
    names = "abcde"[:workers]
    held = {lease: names[number % workers] for number, lease in enumerate(sorted(owners))}
    plan = make_plan(View("a", names, held, {}))
    assert not plan.takes
    assert not plan.moves


def test_a_promise_is_kept_as_far_as_there_is_room():
    assert takes_of(view("b", "ab", {"1": "a"}, {"2": "b", "3": "b"})) == ["2"]


def test_who_has_enough_takes_nothing_that_lies_about():
    held = {"1": "a", "2": "a", "3": "b"}
    assert takes_of(view("a", "abc", held, "4", overdue=["4"])) == []
    assert takes_of(view("b", "abc", held, "4", overdue=["4"])) == ["4"]


def test_nobody_gives_what_is_anothers():
    held = {"1": "a", "2": "a", "3": "a", "4": "c"}
    assert gives_of([("4", "b"), ("9", "b")], view("a", "abc", held)) == {}
    assert gives_of([("1", "b"), ("1", "b")], view("a", "abc", held)) == {"1": "b"}
