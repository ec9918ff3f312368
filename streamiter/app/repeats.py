"""Repeats: records that a producer sent twice, which a lease's reader marks so that they count but are not handed over."""

from __future__ import annotations

from collections.abc import Iterable

from streamiter.record import Record
from streamiter.source.base import Source
from streamiter.stream.acceptance import Duplicates

MOST = 10_000  # how many records of a lease are remembered: about 1.6 MB, and a worker may have hundreds of leases


class Repeat(Record):
    """Takes the place of a record that is a repeat, so it is not handed over."""

    @classmethod
    def of(cls, record: Record) -> Repeat:
        """A mark with the order of this record."""
        mark = cls(record.shard_id, record.sequence_number, record.created_us)
        mark.order_us, mark.rank = record.order_us, record.rank
        mark.set_place(record.place)
        return mark


class Repeats:
    """The records that one reader of a lease remembers. Another reader begins anew."""

    def __init__(self, source: Source) -> None:
        self._known = Duplicates(source, MOST)

    def marked(self, records: Iterable[Record]) -> list[Record]:
        """The records, with a mark in place of each repeat."""
        return [self._mark(record) for record in records]

    def _mark(self, record: Record) -> Record:
        if self._known.is_repeat(record):
            return Repeat.of(record)
        self._known.add(record)
        return record
