"""Services that answer as none does: nothing is lost, repeated or waited for without end, and errors are ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from streamiter import Stream, StreamiterError
from streamiter.errors import AccessDenied, IteratorExpired, PositionTrimmed, TimeUnsupported, TransientError
from streamiter.testing import ManualClock
from tests.stream.helpers import drain, identities
from tests.stream.shelf import Shelf

ERRORS = [IteratorExpired, PositionTrimmed, TimeUnsupported, TransientError, AccessDenied]


def refusing(operation: str, kind: type[StreamiterError]) -> Callable[[str, str | None, Any], Any]:
    """Each call of this kind for S1 is refused."""

    def spoil(called: str, shard_id: str | None, answer: Any) -> Any:
        if (called, shard_id) == (operation, "S1"):
            raise kind("as always")
        return answer

    return spoil


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("operation", ["open", "fetch"])
def test_what_is_always_refused_is_told_and_asked_for_with_pauses(operation: str, kind: type[StreamiterError]):
    """Also an iterator that has expired as it is handed out, and a horizon that is refused as a time."""
    shelf = Shelf(ManualClock(), "S1", "S2")
    for shard_id in shelf.shards:
        shelf.put(shard_id, 5, age=100)
    shelf.spoil = refusing(operation, kind)
    errors = 0
    with Stream(shelf, clock=shelf.clock, patience=5) as stream:
        for _ in range(60):
            try:
                assert next(stream) is None
            except kind:
                errors += 1
            shelf.clock.advance(0.5)
        assert errors >= 4 and shelf.calls[operation, "S1"] < 60
        shelf.spoil = None
        assert sorted(identities(drain(stream, shelf.clock))) == sorted(shelf.history)


def test_who_waits_for_a_listing_sleeps_while_the_budget_is_spent():
    """Lanes are due that there is no room for: only time can change that, so nothing is asked every millisecond."""
    shelf = Shelf(ManualClock(), "S1", "S2", "S3")
    for age in (100, 90, 80):
        for shard_id in ("S2", "S3"):
            shelf.put(shard_id, age=age)
    shelf.put("S1", age=95)
    shelf.roll("S1")
    sleeps: list[float] = []
    shelf.clock.sleep = lambda seconds: (sleeps.append(seconds), shelf.clock.advance(seconds))[0]  # type: ignore[assignment]
    with Stream(shelf, clock=shelf.clock, prefetch_bytes=1) as stream:
        came = identities([record for batch in stream.batches(100, until="caught_up") for record in batch])
    assert sorted(came) == sorted(shelf.history)
    assert len(sleeps) < 200 and sum(sleeps) < 60


def test_a_lane_that_rests_and_has_no_room_is_not_waited_for_without_end():
    """An end of S2 is doubted, and the shard rests before it is asked again; by then its own record fills the budget."""
    shelf = Shelf(ManualClock(), "S1", "S2")
    shelf.put("S1", age=100)
    shelf.roll("S1")  # what waits for its children waits for half a minute
    shelf.put("S2", age=40)

    def spoil(operation: str, shard_id: str | None, answer: Any) -> Any:
        is_first = (operation, shard_id) == ("fetch", "S2") and shelf.calls["fetch", "S2"] == 1
        return answer._replace(next=None, rest_us=200_000) if is_first else answer

    shelf.spoil = spoil
    with Stream(shelf, clock=shelf.clock, prefetch_bytes=1) as stream:
        assert sorted(identities(drain(stream, shelf.clock))) == sorted(shelf.history)
