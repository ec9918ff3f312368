"""Checkpoints of a child that is tried out: takes and refuses what Java's daemon does, and refuses what that should refuse."""

from __future__ import annotations

from typing import Final

from streamiter.multilang.wire import Ask, WireRecord

SHARD_END: Final = "SHARD_END"
ILLEGAL: Final = "IllegalArgumentException"

Place = tuple[int, int]


class Desk:
    """Knows which records were given, and which place was kept."""

    def __init__(self, begun_behind: str | None) -> None:
        self._least: Place = (int(begun_behind), 0) if begun_behind is not None and begun_behind.isdigit() else (-1, 0)
        self._given: Place | None = None
        self.is_at_end = False  # whether the end of the shard is kept
        self.taken = 0

    def give(self, record: WireRecord) -> None:
        """The last record of a batch."""
        if record.sequence_number is not None:
            self._given = (int(record.sequence_number), record.sub_sequence_number)

    def ask(self, asked: Ask, *, is_at_end: bool) -> str | None:
        """Keeps the checkpoint, or says in words what is wrong with it. `is_at_end`: it is asked for during shardEnded."""
        number, sub = asked.sequence_number, asked.sub_sequence_number
        if number is None or (number == SHARD_END and is_at_end):
            self.is_at_end |= is_at_end
            self._least = self._given or self._least
            self.taken += 1
            return None
        if not number.isascii() or not number.isdigit():
            return f"{number[:60]!r} is no sequence number" + (" that a child may keep" if number.isupper() else "")
        if sub is not None and (not isinstance(sub, int) or sub < 0):
            return f"{str(sub)[:60]!r} is no sub-sequence number"
        place = (int(number), sub or 0)
        if self._given is None or place > self._given:
            return f"{_told(place)} is behind the last record given, {_told(self._given)}"
        if place < self._least:
            return f"{_told(place)} is before the last checkpoint, {_told(self._least)}"
        self._least = place
        self.taken += 1
        return None


def _told(place: Place | None) -> str:
    return "none" if place is None else f"{place[0]}.{place[1]}" if place[1] else str(place[0])
