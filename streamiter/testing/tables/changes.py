"""Changes: what one request did to an item, as streams tell of it."""

from __future__ import annotations

from typing import NamedTuple

from streamiter.testing.expressions.values import Item
from streamiter.testing.truth.records import EventName, PackedImages


class Change(NamedTuple):
    """An item before and after a request, also in the bytes that its table holds it by."""

    table: str
    key: Item
    old: Item | None
    new: Item | None
    packed: PackedImages

    @property
    def event(self) -> EventName:
        return "INSERT" if self.old is None else "REMOVE" if self.new is None else "MODIFY"
