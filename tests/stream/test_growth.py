"""Memory follows what is listed, however long a stream has been read, and what is forgotten is asked for no more."""

from __future__ import annotations

from typing import Any

from streamiter import Stream, TransientError
from streamiter.testing import ManualClock
from tests.stream.helpers import drain, entries, identities, until_raises
from tests.stream.shelf import Shelf

SHARDS = 30
GENERATIONS = 100


def test_three_thousand_rolls_leave_nothing_behind():
    """Thirty shards roll a hundred times; each generation is listed no more a while after its end."""
    shelf = Shelf(ManualClock(), *(f"S{number:04}x000" for number in range(SHARDS)))
    sizes, came = [], 0
    with Stream(shelf, clock=shelf.clock, poll_interval=300) as stream:
        for generation in range(1, GENERATIONS + 1):
            living = [shard_id for shard_id, held in shelf.shards.items() if not held.is_closed]
            for shard_id in living:
                shelf.put(shard_id, age=5)
                shelf.roll(shard_id, f"{shard_id[:-3]}{generation:03}")
            for _ in range(12):  # as many listings as it takes to believe that a shard is gone
                came += sum(1 for _ in iter(stream.__next__, None))
                shelf.clock.advance(70)
            for shard_id in [s for s, held in shelf.shards.items() if held.is_closed]:
                del shelf.shards[shard_id]
            if generation % 10 == 0:
                sizes.append(entries(stream))
        assert came == SHARDS * GENERATIONS
        assert max(sizes[3:]) <= 1.02 * max(sizes[:3]), sizes


def test_a_shard_that_is_read_again_for_its_floor_is_not_forgotten_meanwhile():
    """A child of a shard that was read long ago turns up: all above it is read anew, and one of these is gone meanwhile."""
    shelf = Shelf(ManualClock(), "S0")
    shelf.put("S0", 3, age=60)
    shelf.roll("S0", "S1")
    shelf.put("S1", 3, age=50)
    shelf.roll("S1", "S2")
    shelf.put("S2", 3, age=40)
    shelf.roll("S2", "S3")
    shelf.put("S3", 3, age=30)
    with Stream(shelf, clock=shelf.clock) as stream:
        drain(stream, shelf.clock, quiet=90)
        token = stream.token
    before = set(shelf.history)
    shelf.roll("S1", "S9")  # a child of S1 that no listing has shown so far
    shelf.put("S9", 3, age=20)
    is_failing = True

    def spoil(operation: str, shard_id: str | None, answer: Any) -> Any:
        if is_failing and (operation, shard_id) == ("fetch", "S0"):
            raise TransientError("shard S0 does not answer")
        return answer

    shelf.spoil = spoil
    with Stream(shelf, token, clock=shelf.clock, patience=10_000) as stream:
        drain(stream, shelf.clock, quiet=20)
        assert shelf.calls["fetch", "S0"] > 1
        shelf.shards["S0"].is_listed = False
        came = drain(stream, shelf.clock, quiet=900)
        is_failing = False
        came += drain(stream, shelf.clock, quiet=60)
    assert sorted(identities(came)) == sorted(set(shelf.history) - before)


def test_a_shard_may_be_called_listing():
    """It has failures of its own: that the shards are listed all the while does not end them."""
    shelf = Shelf(ManualClock(), "listing", "S2")
    shelf.put("S2", 3, age=50)

    def spoil(operation: str, shard_id: str | None, answer: Any) -> Any:
        if (operation, shard_id) == ("fetch", "listing"):
            raise TransientError("it does not answer")
        return answer

    shelf.spoil = spoil
    events: list[Any] = []
    with Stream(shelf, clock=shelf.clock, patience=200, on_event=events.append) as stream:
        _, error = until_raises(TransientError, stream, shelf.clock, within=250)
        assert "shard listing" in str(error)
    assert {event.shard_id for event in events if type(event).__name__ == "CallFailed"} == {"listing"}
