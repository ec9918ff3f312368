"""Repeats: records that a producer sent twice; a lease's reader marks them, they are left out, and their places count."""

from __future__ import annotations

from collections.abc import Iterable

from streamiter.record import Record
from streamiter.source.base import Source
from streamiter.stream.acceptance import Duplicates

MOST = 10_000  # so many records of a lease are remembered, about 1.6 MB; a worker may have hundreds of leases


class Repeat(Record):
    """Stands in the place of a record that is not handed over, since one like it was there before."""

    @classmethod
    def of(cls, record: Record) -> Repeat:
        """In the place of this one, with its order."""
        mark = cls(record.shard_id, record.sequence_number, record.created_us)
        mark.order_us, mark.rank = record.order_us, record.rank
        mark.set_place(record.place)
        return mark


class Repeats:
    """What one reader of a lease remembers. Another reader begins anew."""

    def __init__(self, source: Source) -> None:
        self._known = Duplicates(source, MOST)

    def marked(self, records: Iterable[Record]) -> list[Record]:
        """The records, with a mark in the place of each that was there before."""
        return [self._mark(record) for record in records]

    def _mark(self, record: Record) -> Record:
        if self._known.is_repeat(record):
            return Repeat.of(record)
        self._known.add(record)
        return record
