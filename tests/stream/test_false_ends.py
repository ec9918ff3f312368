"""Ends that are none: an answer without a next iterator is not yet the end of a shard that listings show open (law 5)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from streamiter import Stream
from streamiter.errors import TimeUnsupported
from streamiter.position import AtTime, Position
from streamiter.source.base import Page, ShardIterator
from streamiter.testing import ManualClock
from streamiter.token import load_token
from tests.stream.helpers import drain, identities
from tests.stream.shelf import Shelf


class LosesIterators:
    """Answers of a shard lack their next iterator so many times, and with `empty` their records, too."""

    def __init__(self, shard_id: str, times: int, *, empty: bool) -> None:
        self.left = times
        self._shard_id = shard_id
        self._is_empty = empty

    def __call__(self, operation: str, shard_id: str | None, answer: Any) -> Any:
        if operation != "fetch" or shard_id != self._shard_id or not self.left:
            return answer
        self.left -= 1
        page: Page = answer
        return page._replace(next=None, records=[] if self._is_empty else page.records)


def shelf_with(*shards: str) -> Shelf:
    shelf = Shelf(ManualClock(), *shards)
    shelf.page_limit = 2
    for shard_id in shards:
        shelf.put(shard_id, 6, age=100)
    return shelf


def test_an_empty_answer_without_an_iterator_loses_nothing():
    shelf = shelf_with("S1", "S2")
    shelf.spoil = LosesIterators("S1", 1, empty=True)
    with Stream(shelf, clock=shelf.clock) as stream:
        assert sorted(identities(drain(stream, shelf.clock))) == sorted(shelf.history)
        assert not any(lane.ended for lane in load_token(stream.token).lanes)


def test_nor_does_one_with_records_however_often_it_comes():
    shelf = shelf_with("S1", "S2")
    shelf.spoil = LosesIterators("S1", 3, empty=False)
    with Stream(shelf, clock=shelf.clock) as stream:
        assert sorted(identities(drain(stream, shelf.clock))) == sorted(shelf.history)
        assert not any(lane.ended for lane in load_token(stream.token).lanes)


def test_nor_does_one_of_a_shard_that_gave_nothing_yet():
    shelf = Shelf(ManualClock(), "S1")
    shelf.spoil = LosesIterators("S1", 1, empty=True)
    with Stream(shelf, clock=shelf.clock) as stream:
        assert drain(stream, shelf.clock) == []
        shelf.put("S1", 3)
        assert identities(drain(stream, shelf.clock)) == shelf.history


def test_a_real_end_is_asked_for_once_more_and_then_believed():
    shelf = shelf_with("S1")
    shelf.roll("S1", "S2", shows_closed=False)
    shelf.shards["S2"].is_listed = False
    with Stream(shelf, clock=shelf.clock) as stream:
        first = drain(stream, shelf.clock, quiet=2)
        assert identities(first) == shelf.history
        assert [lane.shard for lane in load_token(stream.token).lanes if lane.ended] == ["S1"]
        assert shelf.calls["open", "S1"] == 2
        shelf.shards["S2"].is_listed = True
        shelf.put("S2", 3)
        assert identities(first + drain(stream, shelf.clock)) == shelf.history
    assert shelf.calls["open", "S1"] == 2


def test_an_end_that_a_listing_or_a_child_speaks_for_is_believed_at_once():
    for shows_closed in (True, False):
        shelf = shelf_with("S1")
        shelf.roll("S1", *([] if shows_closed else ["S2"]), shows_closed=shows_closed)
        with Stream(shelf, clock=shelf.clock) as stream:
            drain(stream, shelf.clock, quiet=2)
        assert shelf.calls["open", "S1"] == 1


class OldService(Shelf):
    """It cannot open shards at a time: they are read from their horizon, and what is older is left out here."""

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        if isinstance(position, AtTime):
            raise TimeUnsupported("no such type of iterator")
        return super().open_iterator(shard_id, position)


def test_an_end_behind_records_that_are_not_asked_for_is_believed_all_the_same():
    """The shard opens at its horizon again, and gives the same records again, all of them too old."""
    shelf = OldService(ManualClock(), "S1")
    shelf.put("S1", 5, age=7200)
    shelf.roll("S1", shows_closed=False)
    hour_ago = datetime.fromtimestamp(shelf.clock.now() - 3600, UTC)
    with Stream(shelf, hour_ago, clock=shelf.clock) as stream:
        assert drain(stream, shelf.clock, quiet=5) == []
        assert [lane.shard for lane in load_token(stream.token).lanes if lane.ended] == ["S1"]
    assert shelf.calls["fetch", "S1"] == 2
