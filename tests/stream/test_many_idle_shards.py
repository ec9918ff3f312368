"""More idle shards than can be asked in time: those that are behind come first, and reading ends where it is to end.

Time is the shelf's: each call takes a millisecond of the clock, so that a thousand of them go through in a second.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

from streamiter import Record, Stream
from streamiter.errors import TransientError
from streamiter.source.base import ShardPage
from streamiter.testing import ManualClock
from tests.stream.helpers import identities
from tests.stream.shelf import Shelf

CALL_US = 1000
MANY = 2000


def shelf_of(count: int, *, call_us: int = CALL_US) -> Shelf:
    return Shelf(ManualClock(), *(f"S{number:05}" for number in range(count)), call_us=call_us)


def names(shelf: Shelf) -> list[str]:
    return list(shelf.shards)


def nones(stream: Stream, shelf: Shelf, count: int) -> list[float]:
    """How long `next` took to give None, so many times, by the shelf's clock."""
    took = []
    for _ in range(count):
        began = shelf.clock.monotonic()
        assert next(stream) is None
        took.append(shelf.clock.monotonic() - began)
    return took


def test_next_gives_none():
    shelf = shelf_of(MANY)
    with Stream(shelf, clock=shelf.clock) as stream:
        first, *others = nones(stream, shelf, 100)
    assert first < 2 * MANY * CALL_US / 1e6 + 1, "each shard was opened and asked once"
    assert max(others) < 1


def test_the_first_record_comes_when_each_shard_gave_a_page():
    shelf = shelf_of(MANY)
    for shard_id in names(shelf):
        shelf.put(shard_id, 3, age=3600)
    with Stream(shelf, clock=shelf.clock) as stream:
        assert next(stream) is not None
        assert shelf.counted("fetch") < MANY + 100


def test_a_record_that_all_of_them_hold_comes_before_any_none():
    """Each must be asked eight times before it is known to be idle: `next` goes on while a record waits for that."""
    shelf = shelf_of(MANY)
    shelf.put("S00777", 1, age=3600)
    with Stream(shelf, clock=shelf.clock) as stream:
        assert next(stream) is not None


def test_all_that_is_held_is_caught_up_with_and_in_few_calls():
    shelf = shelf_of(MANY)
    for number, shard_id in enumerate(names(shelf)):
        shelf.put(shard_id, 5 if number % 4 else 0, age=3600)
    with Stream(shelf, clock=shelf.clock) as stream:
        came = [record for batch in stream.batches(1 << 30, until="caught_up") for record in batch]
    assert sorted(identities(came)) == sorted(shelf.history)
    assert shelf.counted("fetch") < 1.2 * 9 * MANY


def test_a_long_backlog_of_one_shard_is_not_crowded_out_by_idle_ones():
    shelf = shelf_of(MANY)
    shelf.page_limit = 5
    with Stream(shelf, clock=shelf.clock) as stream:
        list(stream.batches(100, until="caught_up"))  # all are at their tip
        shelf.put("S00777", 1000, age=3600)
        shelf.calls.clear()
        assert sum(map(len, stream.batches(100, until="caught_up"))) == 1000
    # The mark has each shard asked once; the 200 pages of the one leave the others a share of the calls, and no more.
    assert shelf.counted("fetch") < 2.5 * MANY


def test_a_batch_is_not_waited_for_until_it_is_full():
    shelf = shelf_of(MANY)
    with Stream(shelf, clock=shelf.clock) as stream:
        list(stream.batches(100, until="caught_up"))
        shelf.put("S00777", 3)
        batch = next(stream.batches(100))
    assert identities(batch) == shelf.history


def test_an_idle_shard_is_not_forgotten_while_another_is_caught_up_with():
    shelf = shelf_of(300)
    shelf.page_limit = 1
    with Stream(shelf, clock=shelf.clock, lateness=None) as stream:
        list(stream.batches(100, until="caught_up"))
        shelf.put("S00007", 5000, age=3600)
        shelf.put("S00123", 1)
        came: list[Any] = []
        while len(came) < 3000:
            record = next(stream)
            if record is None:
                shelf.clock.advance(0.05)  # nothing is due at this moment
            else:
                came.append(record)
    assert shelf.history[-1] in identities(came)


@pytest.mark.parametrize("count", [500, 5000])
def test_the_speed_does_not_depend_on_how_many_there_are(count: int):
    """All of a backlog that is dealt out evenly comes in about as many calls for each shard."""
    shelf = shelf_of(count)
    for shard_id in names(shelf):
        shelf.put(shard_id, 4, age=3600)
    with Stream(shelf, clock=shelf.clock) as stream:
        came: list[Record] = []
        while len(came) < 4 * count:
            came += filter(None, [next(stream)])
    assert sorted(identities(came)) == sorted(shelf.history)
    assert shelf.counted("fetch") < 1.3 * 9 * count


class Paged(Shelf):
    """Its listings come in pages of a hundred shards, as DynamoDB's."""

    def list_shards(self, after: str | None) -> ShardPage:
        page = super().list_shards(after)
        first = 0 if after is None else 1 + [shard.id for shard in page.shards].index(after)
        rows = page.shards[first : first + 100]
        return page._replace(shards=rows, next=rows[-1].id if first + 100 < len(page.shards) else None)


def test_the_first_next_waits_for_a_listing_of_many_pages():
    """It is paced, and until it is whole nothing can come out: None would say that nothing is due."""
    clock = ManualClock()
    shelf = Paged(clock, *(f"S{number:05}" for number in range(1500)), call_us=CALL_US)
    shelf.put("S00777", 1, age=3600)
    with Stream(shelf, clock=clock) as stream:
        assert next(stream) is not None


def test_but_not_while_listings_fail():
    shelf = shelf_of(3)
    shelf.spoil = lambda operation, shard_id, answer: _refuse() if operation == "list" else answer
    with Stream(shelf, clock=shelf.clock) as stream:
        assert next(stream) is None
        assert shelf.counted("list") == 1


def test_nor_for_ever_while_they_contradict_each_other():
    """One shows the shards of the token, the next none of them."""
    shelf = shelf_of(2)
    with Stream(shelf, clock=shelf.clock) as stream:
        assert next(stream) is None
        token = stream.token
    shown = cycle(names(shelf))

    def contradict(operation: str, shard_id: str | None, answer: Any) -> Any:
        if operation != "list":
            return answer
        only = next(shown)
        return answer._replace(shards=tuple(row for row in answer.shards if row.id == only))

    shelf.spoil = contradict
    with Stream(shelf, token, clock=shelf.clock) as stream:
        assert next(stream) is None


def _refuse() -> Any:
    raise TransientError("not now")
