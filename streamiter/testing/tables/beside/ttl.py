"""Time to live: which attribute says when an item ends, and which item ends next."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import invalid
from streamiter.testing.tables.changes import Change
from streamiter.testing.truth.images import TypedImage

_FIVE_YEARS_US = 5 * 365 * 24 * 3600 * SECOND_US  # what ended longer ago is let be


class TimeToLive:
    """One table's: a queue of ends, in which an item that was changed since stands more than once."""

    def __init__(self) -> None:
        self.attribute: str | None = None
        self._ends: list[tuple[int, int, bytes, TypedImage]] = []
        self._count = 0

    def update(self, specification: Mapping[str, Any]) -> bool:
        """Takes a TimeToLiveSpecification, or refuses it; whether it is enabled now."""
        name, is_enabled = str(specification["AttributeName"]), bool(specification["Enabled"])
        if self.attribute not in (None, name):
            raise invalid(
                f"TimeToLive is active on a different AttributeName: current AttributeName is {self.attribute}"
            )
        if is_enabled == (self.attribute is not None):
            raise invalid(f"TimeToLive is already {'enabled' if is_enabled else 'disabled'}")
        self.attribute = name if is_enabled else None
        self._ends.clear()
        return is_enabled

    def describe(self) -> dict[str, Any]:
        """TimeToLiveDescription."""
        if self.attribute is None:
            return {"TimeToLiveStatus": "DISABLED"}
        return {"TimeToLiveStatus": "ENABLED", "AttributeName": self.attribute}

    def watch(self, key: TypedImage, item: TypedImage, now_us: int) -> None:
        """An item is there, or was changed."""
        end_us = self.end_us(item)
        if end_us is not None and end_us > now_us - _FIVE_YEARS_US:
            self._count += 1
            heapq.heappush(self._ends, (max(end_us, now_us), self._count, msgspec.json.encode(item[self._name]), key))

    def follow(self, change: Change, now_us: int) -> None:
        """A request changed an item."""
        if self.attribute is not None and change.new is not None:
            self.watch(change.key, change.new, now_us)

    @property
    def next_us(self) -> int | None:
        """When an item may end next."""
        return self._ends[0][0] if self._ends else None

    def take(self) -> tuple[TypedImage, bytes]:
        """The key of the item that ends next, and the end it had then."""
        _, _, end, key = heapq.heappop(self._ends)
        return key, end

    def is_still(self, item: TypedImage | None, end: bytes) -> bool:
        """Whether an item still has this end."""
        return item is not None and self._name in item and msgspec.json.encode(item[self._name]) == end

    def end_us(self, item: TypedImage) -> int | None:
        """When an item ends; None: never. Only numbers count."""
        text = item.get(self._name, {}).get("N")
        try:
            return None if text is None else int(Decimal(text)) * SECOND_US
        except (InvalidOperation, OverflowError):
            return None

    @property
    def _name(self) -> str:
        return self.attribute or ""
