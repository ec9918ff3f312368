"""Ahead: a thread gets what comes next; in order, a few results at most, and nothing of it stays."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from streamiter.spark.tasks.ahead import Ahead
from streamiter.spark.tasks.turns import in_turns
from tests.stream.helpers import soon


class Told:
    """An iterator that says how far it was asked, and whether it was closed."""

    def __init__(self, *results: object) -> None:
        self.asked = 0
        self.is_closed = False
        self._results = results

    def __iter__(self) -> Iterator[object]:
        try:
            for result in self._results:
                self.asked += 1
                if isinstance(result, Exception):
                    raise result
                yield result
        finally:
            self.is_closed = True


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "streamiter-ahead"]


def test_results_come_in_order_and_no_more_of_them_wait_than_are_allowed():
    taken = 0

    def results() -> Iterator[int]:
        for number in range(50):
            assert number - taken < 3, "two wait, and one was taken by now"
            yield number

    with Ahead(results(), 2) as ahead:
        for number in ahead:
            assert number == taken
            taken += 1
    assert taken == 50


def test_what_comes_next_is_got_before_it_is_asked_for():
    told = Told("first", "second", "third", "fourth")
    with Ahead(iter(told), 2) as ahead:
        assert next(ahead) == "first"
        soon(lambda: told.asked == 3)


def test_what_is_raised_comes_after_what_came_before_it_and_again():
    with Ahead(iter(Told("first", "second", KeyError("third"))), 8) as ahead:
        assert [next(ahead), next(ahead)] == ["first", "second"]
        for _ in range(2):
            with pytest.raises(KeyError, match="third"):
                next(ahead)
    with Ahead(iter(Told("only")), 8) as ahead:
        assert list(ahead) == ["only"]
        assert list(ahead) == []


def test_leaving_closes_the_iterator_and_ends_the_thread():
    told = Told("first", "second", "third")
    with Ahead(iter(told), 1) as ahead:
        assert next(ahead) == "first"
    soon(lambda: told.is_closed)
    soon(lambda: not threads())
    assert told.asked < 3


def test_a_call_that_hangs_is_not_waited_for_and_ends_by_itself():
    answers = threading.Event()
    is_closed = threading.Event()

    def results() -> Iterator[int]:
        try:
            yield 1
            answers.wait()
            yield 2
        finally:
            is_closed.set()

    with Ahead(results(), 2) as ahead:
        assert next(ahead) == 1
    assert not is_closed.is_set()
    answers.set()
    soon(lambda: is_closed.is_set() and not threads())


def test_chains_take_turns_and_where_one_ends_the_next_begins():
    chains = [
        iter([f"{name}{number}" for number in range(count)]) for name, count in zip("abcd", (3, 1, 0, 2), strict=True)
    ]
    assert list(in_turns(chains, 2)) == ["a0", "b0", "a1", "a2", "d0", "d1"]


def test_chains_go_on_side_by_side_but_no_more_of_them_than_are_allowed():
    meet = threading.Barrier(3, timeout=60)
    begun: list[int] = []

    def chain(number: int) -> Iterator[int]:
        begun.append(number)
        meet.wait()
        yield number

    assert list(in_turns([*map(chain, range(3))], 3)) == [0, 1, 2], "each waits until all of them are under way"
    begun.clear()
    told = in_turns([iter(Told("first", "second")), chain(7)], 1)
    assert next(told) == "first"
    told.close()
    assert not begun


def test_a_chain_by_itself_needs_no_thread():
    before = threads()
    told = in_turns([iter("abc")], 3)
    assert next(told) == "a"
    assert threads() == before
    assert list(told) == ["b", "c"]


def test_the_first_chain_that_fails_ends_all_of_them():
    others = [Told(*range(100)) for _ in range(3)]
    told = in_turns([iter(others[0]), iter(Told(1, KeyError("chain"))), *map(iter, others[1:])], 4)
    assert [next(told) for _ in range(5)] == [0, 1, 0, 0, 1]
    with pytest.raises(KeyError, match="chain"):
        next(told)
    soon(lambda: all(other.is_closed for other in others) and not threads())
