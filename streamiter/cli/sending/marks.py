"""Marks: each value of an import that keeps its place says which line it is, so that what a killed run wrote is found again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from streamiter.errors import PositionTrimmed
from streamiter.position import After, Horizon, Place, Position
from streamiter.topic import Topic

HEADER = "sendmany"
_PAGE = 1000

Ends = dict[str, int]  # by partition: the number behind which all stand that came later


def new_run() -> str:
    """A name for an import; its runs have it in common."""
    return secrets.token_hex(4)


def mark_of(run: str, line: int) -> dict[str, bytes]:
    """The header of a line's value."""
    return {HEADER: f"{run}:{line}".encode()}


def ends_of(topic: Topic[Any]) -> Ends:
    """Where the topic ends now."""
    return {str(partition): last for partition, last in topic.ends().items()}


def lines_behind(topic: Topic[Any], run: str, ends: Mapping[str, int]) -> set[int] | None:
    """The lines of this import that stand behind these ends; None where it cannot be told, for records there are gone."""
    found: set[int] = set()
    try:
        for shard in topic.list_shards(None).shards:
            last = ends.get(shard.id)
            start: Position = Horizon() if last is None else After(Place(last, 0))
            found |= _lines_in(topic, run, shard.id, start)
    except PositionTrimmed:
        return None
    return found


def _lines_in(topic: Topic[Any], run: str, shard_id: str, start: Position) -> set[int]:
    found: set[int] = set()
    iterator = topic.open_iterator(shard_id, start)
    while True:
        page = topic.fetch(iterator, _PAGE)
        for record in page.records:
            name, _, line = dict(record.headers).get(HEADER, b"").decode(errors="replace").partition(":")
            if name == run and line.isdecimal():
                found.add(int(line))
        if page.next is None or (page.caught_up and not page.records):
            return found
        iterator = page.next
