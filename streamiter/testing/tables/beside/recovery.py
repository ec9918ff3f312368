"""Recovery: what a table's items were before each change, for as long as point-in-time recovery goes back."""

from __future__ import annotations

from collections import deque

from streamiter.clock import SECOND_US
from streamiter.testing.tables.changes import Change

MOST_DAYS = 35
_DAY_US = 86400 * SECOND_US


class Recovery:
    """One table's: nothing is kept while it is off."""

    def __init__(self) -> None:
        self.is_on = False
        self.days = MOST_DAYS
        self._since_us = 0
        self._undone: deque[tuple[int, bytes, bytes | None]] = deque()  # when, which item, what it was before

    def switch(self, is_on: bool, days: int | None, now_us: int) -> None:
        """On, for so many days back; or off, which forgets all."""
        if not (self.is_on and is_on):
            self._since_us = now_us
            self._undone.clear()
        self.is_on = is_on
        self.days = days or (self.days if is_on else MOST_DAYS)

    def earliest_us(self, now_us: int) -> int:
        """The first moment that one can go back to."""
        return max(self._since_us, now_us - self.days * _DAY_US)

    def note(self, change: Change, now_us: int) -> None:
        """An item changes."""
        if not self.is_on:
            return
        self._undone.append((now_us, change.packed.key, change.packed.old))
        while self._undone[0][0] < self.earliest_us(now_us):
            self._undone.popleft()

    def items_at(self, at_us: int, items: dict[bytes, bytes]) -> list[bytes]:
        """The items that there were at a moment, from those that there are now, by key."""
        for changed_us, key, before in reversed(self._undone):
            if changed_us <= at_us:
                break
            if before is None:
                items.pop(key, None)
            else:
                items[key] = before
        return list(items.values())
