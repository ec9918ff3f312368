"""Changes: what one request did to items, folded to one change a key, as streams tell of it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from streamiter.testing.truth.images import TypedImage, is_same, normal_image
from streamiter.testing.truth.records import EventName


class Change(NamedTuple):
    """An item before and after a request."""

    table: str
    key: TypedImage
    old: TypedImage | None
    new: TypedImage | None

    @property
    def event(self) -> EventName:
        return "INSERT" if self.old is None else "REMOVE" if self.new is None else "MODIFY"


class ChangeLog:
    """What is told while a request runs: an item may change more than once, as an update that first creates it does."""

    def __init__(self) -> None:
        self._changes: dict[tuple[str, bytes], Change] = {}

    def note(self, table: str, key: TypedImage, old: TypedImage | None, new: TypedImage | None) -> None:
        """One step: what the item was before it, and is after it."""
        place = _place(table, key)
        before = self._changes[place].old if place in self._changes else old and normal_image(old)
        self._changes[place] = Change(table, normal_image(key), before, new and normal_image(new))

    @property
    def results(self) -> list[TypedImage]:
        """What the items have become so far."""
        return [change.new for change in self._changes.values() if change.new is not None]

    def forget(self, table: str, key: TypedImage) -> None:
        """What happened to an item is undone."""
        self._changes.pop(_place(table, key), None)

    def take(self) -> list[Change]:
        """All changes so far, but those that changed nothing; the log is empty then."""
        changes = [change for change in self._changes.values() if not is_same(change.old, change.new)]
        self._changes.clear()
        return changes


def _place(table: str, key: TypedImage) -> tuple[str, bytes]:
    return table, msgspec.json.encode(normal_image(key), order="sorted")
