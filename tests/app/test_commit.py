"""A commit by itself: when it may be called, and what its checkpoint says of the moment at which it was put."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter import InvalidOption
from streamiter.app import HeldLease
from streamiter.app.commit import Behind, Commit
from streamiter.errors import LeaseLost

LEASE = HeldLease("S1", 3, "me", lambda: 0)


class Mover:
    """Notes what it is asked; it is the engine, too."""

    def __init__(self, *earlier: str) -> None:
        self.engine: Any = self
        self.earlier = earlier
        self.told: list[Any] = []
        self.now = 100
        self.during: Any = None

    def now_us(self) -> int:
        self.now += 1
        return self.now

    def promises(self, key: str, fence: int) -> tuple[str, ...]:
        return self.earlier

    def promised(self, key: str, fence: int, number: int, checkpoint: str) -> None:
        self.told.append(("promised", key, fence, number, checkpoint))

    def commit(self, connection: Any, lease: HeldLease, place: Behind, unless: tuple[str, ...]) -> None:
        self.told.append(("moved", connection, lease.key, place.checkpoint, unless))
        if self.during is not None:
            self.during()


def test_it_is_promised_before_it_is_done():
    mover = Mover("5")
    Commit(mover, LEASE, Behind(4, "7"), lambda: True)("connection")
    assert mover.told == [("promised", "S1", 3, 4, "7"), ("moved", "connection", "S1", "7", ("5",))]


def test_its_moment_is_that_of_the_first_call_where_it_is_certain_that_it_stands():
    commit = Commit(Mover(), LEASE, Behind(4, "7"), lambda: True)
    assert commit.dates("7") is None, "it was not called"
    commit("connection")
    commit("connection")
    assert commit.dates("7") == 101
    assert commit.dates("6") is None
    again = Commit(Mover("7"), LEASE, Behind(4, "7"), lambda: True)
    again("connection")
    assert again.dates("7") is None, "an earlier transaction may have put it there, before this one was begun"


def test_once_its_function_is_over_it_is_refused():
    mover = Mover()
    commit = Commit(mover, LEASE, Behind(4, "7"), lambda: True)
    commit.close()
    with pytest.raises(InvalidOption, match="the function that got it is over"):
        commit("connection")
    assert mover.told == []


def test_a_function_that_ends_while_the_row_is_being_moved_must_roll_back():
    """A thread that nobody waits for any more: the batch may be processed again already."""
    mover = Mover()
    commit = Commit(mover, LEASE, Behind(4, "7"), lambda: True)
    mover.during = commit.close
    with pytest.raises(InvalidOption):
        commit("connection")


def test_a_lease_that_is_ours_no_more_is_lost_before_and_after():
    mover, held = Mover(), [True]
    commit = Commit(mover, LEASE, Behind(4, "7"), lambda: held[0])
    mover.during = lambda: held.__setitem__(0, False)
    with pytest.raises(LeaseLost):
        commit("connection")
    with pytest.raises(LeaseLost):
        commit("connection")
    assert len(mover.told) == 2
