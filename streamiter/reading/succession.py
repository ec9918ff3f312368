"""Succession: an ended shard holds its place until its children are known; they may be listed late, or come and go unseen."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from streamiter.merge import Lane
from streamiter.reading import gaps
from streamiter.reading.asking import Asking
from streamiter.reading.book import Book, Stage


def settle(book: Book, ticket: int, listed: Collection[str], now_us: int) -> Sequence[str]:
    """Releases the shards whose children this listing shows, and the childless ones; returns the childless ones."""
    fruitful, childless = book.discovery.settle(
        ticket, lambda parent: any(child in listed for child in book.lineage.children(parent)), now_us
    )
    for shard_id in childless:
        book.lanes[shard_id].childless = True
    for shard_id in (*fruitful, *childless):
        book.merge.release(shard_id)
    return childless


def watch(
    book: Book, asking: Asking, service_us: int, childless: Sequence[str], now_us: int, *, is_final: bool
) -> None:
    """Finds shards whose children came and went between two listings; `childless`: the shards just found to have none.

    An ended shard has a child, unless the stream is disabled. One listing may lack it, so more listings follow.
    """
    for shard_id in book.at(Stage.ENDED):
        lane = book.lanes[shard_id]
        if lane.ended_us is None or book.lineage.children(shard_id) or lane.gap is not None:
            continue
        if is_final or service_us - lane.ended_us <= book.held_us:
            lane.ended_us = max(lane.ended_us, service_us)  # until now no child was listed
        elif shard_id in childless:
            _hold(book, lane)
            gaps.stand(book, asking, lane, gaps.CHILDREN_MISSED)
        elif not book.discovery.is_waiting(shard_id):
            _hold(book, lane)
            book.discovery.ended(shard_id, now_us)


def forget(book: Book, asking: Asking, listed: set[str], now_us: int) -> list[str]:
    """Forgets shards that are read and that the service lists no more, so that memory does not grow."""
    forgotten: list[str] = []
    for shard_id in book.discovery.forgotten(list(book.lineage), listed, now_us):
        children = map(book.stage, book.lineage.children(shard_id))
        if _is_over(book, shard_id) and Stage.UNREAD not in children:
            asking.forget(shard_id)
            book.forget(shard_id)
            forgotten.append(shard_id)
    return forgotten


def _is_over(book: Book, shard_id: str) -> bool:
    """Whether the shard was returned to its end, no listing looks for its children, and no gap stands there."""
    entry = book[shard_id]
    if entry.errand is not None and not entry.errand.ended:
        return False  # an answer for it is still to come
    if entry.stage is Stage.PAST:
        return True
    lane = book.lanes.get(shard_id)
    if lane is None or not lane.is_drained or lane.gap is not None:
        return False
    return not book.discovery.is_waiting(shard_id)


def _hold(book: Book, lane: Lane) -> None:
    """The lane holds the others, also if it was released before."""
    book.merge.release(lane.shard_id)
    book.merge.open(lane)
