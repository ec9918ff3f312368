"""Probes: how the rules look at a source: whole listings, whole shards, threads at once, and what an error must be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from streamiter.errors import SourceError
from streamiter.position import Horizon, Position
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator
from streamiter.testing.contract.rig import Rig

T = TypeVar("T")
Handle = TypeVar("Handle")

EMPTIES = 20  # pages in a row, all empty: nothing more comes


def listing_of(rig: Rig) -> list[Shard]:
    """All shards that a listing gives."""
    shards: list[Shard] = []
    after: str | None = None
    for _ in range(100):
        page = rig.source.list_shards(after)
        shards += page.shards
        after = page.next
        if after is None:
            return shards
    raise AssertionError("the listing does not end")


def pages_of(rig: Rig, name: str, position: Position) -> list[Page]:
    """The pages of a shard until it ends, or until nothing came for a while."""
    iterator: ShardIterator | None = rig.source.open_iterator(rig.shard_id(name), position)
    pages: list[Page] = []
    empties = 0
    while iterator is not None and empties < EMPTIES:
        pages.append(rig.source.fetch(iterator, min(100, rig.source.page_limit)))
        empties = 0 if pages[-1].records else empties + 1
        iterator = pages[-1].next
    return pages


def records_of(rig: Rig, name: str, position: Position) -> list[Any]:
    """The records of a shard from a place on."""
    return [record for page in pages_of(rig, name, position) for record in page.records]


def read(rig: Rig, name: str, position: Position) -> tuple[list[str], bool]:
    """Their keys, and whether the shard has ended."""
    pages = pages_of(rig, name, position)
    return [rig.key_of(record) for page in pages for record in page.records], pages[-1].next is None


def at_records(rig: Rig, name: str) -> ShardIterator:
    """An iterator whose page has records: runs of empty ones come before it."""
    return past_empties(rig, rig.source.open_iterator(rig.shard_id(name), Horizon()))


def past_empties(rig: Rig, iterator: ShardIterator) -> ShardIterator:
    """The iterator, from this one on, whose page has records, or ends the shard."""
    for _ in range(EMPTIES):
        page = rig.source.fetch(iterator, 100)
        if page.records or page.next is None:
            return iterator
        iterator = page.next
    raise AssertionError(f"{iterator.shard_id} gives no records")


def write(rig: Rig, name: str, keys: str | list[str]) -> None:
    """One record a key."""
    for key in keys:
        rig.put(name, key)


def in_threads(count: int, work: Callable[[Handle, str], T], handles: Sequence[Handle]) -> list[T]:
    """What the work gave in each of so many threads at once, which share the handles; one that did not end gives nothing."""
    found: list[T] = []

    def run(handle: Handle, name: str) -> None:
        found.append(work(handle, name))

    threads = [
        threading.Thread(target=run, args=(handles[number % len(handles)], f"t{number}"), daemon=True)
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return found


def raises(kind: type[SourceError] | tuple[type[SourceError], ...], call: Callable[[], object]) -> SourceError:
    """The error of this kind that a call must raise."""
    try:
        call()
    except kind as error:
        return error
    kinds = kind if isinstance(kind, tuple) else (kind,)
    raise AssertionError(f"there was no {' and no '.join(kind.__name__ for kind in kinds)}")


def equal(found: object, expected: object, what: str) -> None:
    """Found must be as expected."""
    expect(found == expected, f"{what}: {found!r} instead of {expected!r}")


def expect(is_so: bool, what: str) -> None:
    """It must be so."""
    if not is_so:
        raise AssertionError(what)
