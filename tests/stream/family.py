"""A source in memory: what a test writes on a shelf, page by page, without a service."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamiter import Page, Record, Shard, ShardIterator, ShardPage, Source, Stream
from streamiter.envelope import Change, Envelope
from streamiter.position import After, Position
from streamiter.record import ChangeRecord
from streamiter.testing import ManualClock

NOW_US = 1_700_000_000_000_000


def changes(shard_id: str, numbers: Sequence[int], *, kind: type[ChangeRecord] = ChangeRecord) -> list[ChangeRecord]:
    """Records of a shard, each created in the second of its number."""
    envelopes = [
        Envelope(
            Change(str(number), NOW_US / 1e6 - 86_000 + number, {"id": {"S": shard_id}}, {"n": {"N": str(number)}})
        )
        for number in numbers
    ]
    return kind.all_of(shard_id, envelopes)


class Shelf(Source):
    """Shards whose records are all there. They are closed, and the stream is disabled, unless it says `stays_open`."""

    iterator_us = 300_000_000
    page_limit = 1000
    listings_per_second = 1000.0
    retention_us = 86_400_000_000
    record_type = ChangeRecord
    name = "shelf"

    def __init__(
        self,
        shards: dict[str, tuple[str, ...]],
        records: dict[str, Sequence[Record]],
        *,
        page_size: int = 3,
        stays_open: bool = False,
    ) -> None:
        parents = {parent for found in shards.values() for parent in found}
        self._open = set(shards) - parents if stays_open else set()
        self._shards = shards
        self._records = records
        self._page_size = page_size
        self.on_fetch: Callable[[], object] = lambda: None  # called on the thread that makes the call

    def list_shards(self, after: str | None) -> ShardPage:
        rows = tuple(Shard(shard_id, parents, shard_id not in self._open) for shard_id, parents in self._shards.items())
        return ShardPage(rows, None, NOW_US, is_final=not self._open)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        start = 0
        if isinstance(position, After):
            numbers = [record.number for record in self._records[shard_id]]
            start = numbers.index(position.place.number) + 1
        return ShardIterator(shard_id, start)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        self.on_fetch()
        records = self._records[iterator.shard_id]
        end = iterator.value + min(limit, self._page_size)
        is_last = end >= len(records)
        if is_last and iterator.shard_id not in self._open:
            return Page(records[iterator.value :], None, NOW_US)
        rest = ShardIterator(iterator.shard_id, min(end, len(records)))
        return Page(records[iterator.value : end], rest, NOW_US, caught_up=is_last)

    def close(self) -> None:
        pass


FAMILY = {"S0": (), "S1": ("S0",), "S2": ("S0",)}


def family(
    kind: type[ChangeRecord] = ChangeRecord, *, page_size: int = 3, each: int = 4, stays_open: bool = False
) -> Shelf:
    """Three shards, S0 => {S1, S2}, whose records are numbered as they are to come out."""
    first = range(1, each + 1)
    odd, even = range(each + 1, each * 3 + 1, 2), range(each + 2, each * 3 + 1, 2)
    records = {"S0": changes("S0", first, kind=kind), "S1": changes("S1", odd, kind=kind)}
    return Shelf(FAMILY, {**records, "S2": changes("S2", even, kind=kind)}, page_size=page_size, stays_open=stays_open)


def read(
    source: Shelf, position: object = "trim_horizon", *, clock: ManualClock | None = None, **options: object
) -> Stream:
    """A Stream of the shelf."""
    return Stream(source, position, clock=clock or ManualClock(), **options)


def drained(stream: Stream, clock: ManualClock, until: int | None = None) -> list[Record]:
    """All that is left, by `next`, or all up to a number; the clock is turned where nothing is due."""
    records: list[Record] = []
    while not stream.ended and (until is None or not records or records[-1].number < until):
        record = next(stream)
        if record is None:
            clock.advance(1)
        else:
            records.append(record)
    return records


def numbers(records: Sequence[Record]) -> list[int]:
    """Which records these are."""
    return [int(record.sequence_number) for record in records]  # without an instruction of ours
