"""Windows: records that can come out, sorted at once and handed out as a plain iterator.

The lanes' runs are joined in the order of their ranks and sorted by order time alone; a stable sort keeps ranks and places
as law 4 wants them. Timsort merges such runs at the speed of memory; popping a heap record by record would cost several
times as much. Of a long backlog a window is only the first part, some thousand records: those are still in the processor's
cache when they come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from streamiter.merge.bounds import EVERYTHING
from streamiter.merge.lane import Bound, Lane
from streamiter.position import Place
from streamiter.record import Record
from streamiter.shard import Rank

Key = tuple[int, Rank, Place]  # law 4: order time, rank, place

# A window has about so many records, and so many of each lane: fewer would make the work that a lane takes count for more.
WINDOW = 4096
WINDOW_OF_LANE = 32


class Window:
    """Records in the order in which they come out, and how many of them did."""

    __slots__ = ("end", "iterator", "lanes", "late", "records", "taken")

    def __init__(self, records: list[Record], lanes: dict[str, Lane], high: Key | None) -> None:
        self.records = records
        self.lanes = lanes
        self.taken = 0
        self.late = 0  # so many of the first ones sort below what is out already
        self.iterator = iter(records)
        self.end: Bound = EVERYTHING
        if records:
            self.end = (records[-1].order_us, lanes[records[-1].shard_id].rank)
        if high is not None:
            self.late = sum(1 for _ in takewhile(lambda record: self.key(record) <= high, records))

    @property
    def rest(self) -> int:
        """How many are still to come."""
        return len(self.records) - self.taken

    def stamp(self, clock: int) -> None:
        """Writes on each record what the merge found for it; the rest of its order is its lane's."""
        for record in self.records:
            clock += 1
            record.clock = clock
        for record in self.records[: self.late]:
            record.late = True

    def key(self, record: Record) -> Key:
        """What a record of the window sorts by."""
        return record.order_us, self.lanes[record.shard_id].rank, record.place


def join(ends: Mapping[Lane, int]) -> list[Record]:
    """The waiting records of lanes, each up to its end, in order."""
    records: list[Record] = []
    for lane, end in sorted(ends.items(), key=lambda part: part[0].rank):
        records += lane.records[lane.head : end]
    if len(ends) == 1:
        return records
    # Floats are compared several times as fast as integers of this size, and microseconds fit into them.
    times = [float(record.order_us) for record in records]
    return [records[index] for index in sorted(range(len(times)), key=times.__getitem__)]


def first_part(ends: dict[Lane, int]) -> dict[Lane, int]:
    """Of what can come out, about as much as makes a window: again how far each lane's records go into it."""
    most = max(WINDOW, WINDOW_OF_LANE * len(ends))
    if _count(ends) <= most:
        return ends
    # Lanes may be dense or sparse: the shares grow until the densest of them gives what makes a window.
    share = most // len(ends)
    while _count(part := _first_of(ends, share)) < most // 2:
        share *= 2
    return part


def _count(ends: Mapping[Lane, int]) -> int:
    return sum(end - lane.head for lane, end in ends.items())


def _first_of(ends: Mapping[Lane, int], share: int) -> dict[Lane, int]:
    """What comes out before any lane has given more than its share, but for what has the same order time."""
    cuts = [(lane.times[lane.head + share - 1], lane.rank) for lane, end in ends.items() if end - lane.head > share]
    cut = min(cuts, default=EVERYTHING)
    return {lane: found for lane, end in ends.items() if (found := min(end, lane.end_below(cut))) > lane.head}
