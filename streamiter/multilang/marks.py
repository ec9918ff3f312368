"""Marks: where in its shard a child may put its checkpoint: from the last one up to the last record that it was given."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from streamiter.multilang.wire import Ask, WireRecord

END = "SHARD_END"
MOST_DIGITS: Final = 99  # the same limit as in position.py: a token takes no more
MOST_GIVEN: Final = 200_000  # how many marks we keep for a child that makes no checkpoint; beyond it we drop the oldest


class Mark(NamedTuple):
    """A place: a record's number, and its sub-number among the records that were packed under this number."""

    number: str
    sub: int = 0

    @property
    def key(self) -> tuple[int, int]:
        """The key by which places are compared."""
        return int(self.number), self.sub

    @property
    def checkpoint(self) -> str:
        """The place as a lease keeps it."""
        return f"{self.number}/{self.sub}" if self.sub else self.number

    @classmethod
    def of(cls, checkpoint: str) -> Mark | None:
        """The place of a lease's checkpoint; None if that is a name, such as TRIM_HORIZON."""
        number, _, sub = checkpoint.partition("/")
        return cls(number, int(sub or 0)) if _is_number(number) else None


class Verdict(Enum):
    """Why a checkpoint that a child asks for is not written."""

    REFUSED = auto()
    STANDS = auto()  # it is where the checkpoint stands already


class Marks:
    """For one shard and its child: the last checkpoint, and the records that the child was given since.

    A checkpoint is always at a record that the child was given. If the child names a place between two of them, we take the
    earlier one: the service knows no place for a number that no record has, and a sub-number beyond a record's last would
    skip records.
    """

    def __init__(self, standing: Mark | None) -> None:
        self.standing = standing
        self.last = standing
        self.is_ended = False  # whether the child made its checkpoint at the shard's end
        # The records given since the last checkpoint, up to MOST_GIVEN. Two lists instead of one Mark for each record: the
        # garbage collector would look at each Mark, and few are ever needed.
        self._numbers: list[str] = []
        self._subs: list[int] = []

    def delivered(self, records: Sequence[WireRecord]) -> None:
        """Notes that the child was given these records, in the shard's order."""
        self._numbers += [str(record.sequence_number) for record in records]
        self._subs += [record.sub_sequence_number for record in records]
        if records:
            self.last = self._mark(len(self._numbers) - 1)
        if len(self._numbers) > MOST_GIVEN:
            self._forget(MOST_GIVEN // 2)

    def put(self, mark: Mark) -> None:
        """Notes that the checkpoint was written here."""
        self.standing = mark
        self._forget(self._count_upto(mark))

    def judge(self, ask: Ask, *, is_end: bool) -> Mark | Verdict:
        """Where to write the checkpoint, or why not to write it."""
        if ask.sequence_number is None or (is_end and ask.sequence_number == END):
            return self._moved(self.last)
        sub = 0 if ask.sub_sequence_number is None else ask.sub_sequence_number
        # We refuse TRIM_HORIZON and LATEST. Java's daemon writes them into the table; records then come twice, or are lost.
        if not _is_number(ask.sequence_number) or isinstance(sub, str) or sub < 0 or self.last is None:
            return Verdict.REFUSED
        mark = Mark(ask.sequence_number, sub)
        if mark.key > self.last.key or (self.standing is not None and mark.key < self.standing.key):
            return Verdict.REFUSED
        if mark.key == self.last.key:
            return self._moved(self.last)
        count = self._count_upto(mark)
        return self._moved(self._mark(count - 1) if count else self.standing)

    def _count_upto(self, mark: Mark) -> int:
        """How many of the records given lie at or before this place."""
        if self.last is not None and mark.key == self.last.key:
            return len(self._numbers)
        return bisect_right(range(len(self._numbers)), mark.key, key=lambda index: self._mark(index).key)

    def _mark(self, index: int) -> Mark:
        return Mark(self._numbers[index], self._subs[index])

    def _forget(self, count: int) -> None:
        del self._numbers[:count], self._subs[:count]

    def _moved(self, mark: Mark | None) -> Mark | Verdict:
        if mark is None or (self.standing is not None and mark.key == self.standing.key):
            return Verdict.STANDS
        return mark


def _is_number(text: str) -> bool:
    return 0 < len(text) <= MOST_DIGITS and text.isascii() and text.isdigit()
