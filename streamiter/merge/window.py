"""Windows: records that can come out, sorted at once and handed out as a plain iterator.

A window joins the lanes' runs in the order of their ranks, and sorts them by order time alone; a stable sort keeps ranks and
places as law 4 wants them. Timsort merges such runs at the speed of memory; popping a heap record by record would cost several
times as much. A window takes only the first few thousand records of a long backlog: these are still in the processor's cache
when they come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, takewhile
from operator import length_hint

from streamiter.merge.bounds import EVERYTHING
from streamiter.merge.lane import Bound, Lane
from streamiter.position import Place
from streamiter.record import Record
from streamiter.shard import Rank

Key = tuple[int, Rank, Place]  # law 4: order time, rank, place

# A window has about WINDOW records, and WINDOW_OF_LANE of each lane: with fewer, the work for each lane would weigh more.
WINDOW = 4096
WINDOW_OF_LANE = 32


class Window:
    """Records in the order in which they come out, and how many were taken.

    `iterator` gives them; `run` gives the next few. Any thread can take the rest of a run back at any moment, in one step that
    no other thread can come between: a record is then either taken, or comes again.
    """

    __slots__ = ("_hand", "end", "lanes", "late", "records", "taken")

    def __init__(self, records: list[Record], lanes: dict[str, Lane], high: Key | None) -> None:
        self.records = records
        self.lanes = lanes
        self.taken = 0  # as far as the lanes know of it
        self.late = 0  # how many of the first records sort below one that was returned already
        # All records from here on, the part of the run that was taken back, and the run: one value, changed in one step.
        self._hand: tuple[Iterator[Record], list[Record], Iterator[Record]] = iter(records), [], iter(())
        self.end: Bound = EVERYTHING
        if records:
            self.end = (records[-1].order_us, lanes[records[-1].shard_id].rank)
        if high is not None:
            self.late = sum(1 for _ in takewhile(lambda record: self.key(record) <= high, records))

    @property
    def iterator(self) -> Iterator[Record]:
        """The records from here on. An earlier run must have ended, or have been taken back."""
        iterator, back, _ = self._hand
        if back:
            iterator = iter(self.records[self.taken_by_now :])
            self._hand = iterator, [], iter(())
        return iterator

    def run(self, most: int) -> Iterator[Record]:
        """The next records, at most so many."""
        iterator = self.iterator
        run = islice(iterator, most)
        self._hand = iterator, [], run
        return run

    def take_back(self) -> None:
        """Ends the run that was handed out: it gives no more records."""
        _, back, run = self._hand
        back.extend(run)

    def give_back(self, records: list[Record]) -> None:
        """Puts back the records taken last, of which the lanes have not been told yet."""
        self.take_back()
        iterator, back, _ = self._hand
        self._hand = iterator, [*records, *back], iter(())

    @property
    def taken_by_now(self) -> int:
        """How many records were taken up to this moment."""
        iterator, back, _ = self._hand
        while True:
            known = len(back)
            left = length_hint(iterator) + known
            if len(back) == known:  # else another thread took some back meanwhile
                return len(self.records) - left

    @property
    def rest(self) -> int:
        """How many records are still to come."""
        return len(self.records) - self.taken

    def stamp(self, clock: int) -> None:
        """Writes clock and lateness on each record; the lane wrote the rest of its order."""
        for record in self.records:
            clock += 1
            record.clock = clock
        for record in self.records[: self.late]:
            record.late = True

    def key(self, record: Record) -> Key:
        """The sort key of a record of the window."""
        return record.order_us, self.lanes[record.shard_id].rank, record.place


def join(ends: Mapping[Lane, int]) -> list[Record]:
    """The waiting records of lanes, each up to its end, in order."""
    records: list[Record] = []
    times: list[int] = []
    for lane, end in sorted(ends.items(), key=lambda part: part[0].rank):
        records += lane.records[lane.head : end]
        times += lane.times[lane.head : end]
    if len(ends) == 1:
        return records
    # Floats are compared several times as fast as integers of this size, and microseconds fit into them.
    order = sorted(range(len(times)), key=list(map(float, times)).__getitem__)
    return list(map(records.__getitem__, order))


def first_part(ends: dict[Lane, int]) -> dict[Lane, int]:
    """Cuts down how far each lane's records go into the window, to about as many as make one."""
    most = max(WINDOW, WINDOW_OF_LANE * len(ends))
    if _count(ends) <= most:
        return ends
    # Lanes may be dense or sparse: the shares grow until the lanes together fill a window.
    share = most // len(ends)
    while _count(part := _first_of(ends, share)) < most // 2:
        share *= 2
    return part


def _count(ends: Mapping[Lane, int]) -> int:
    return sum(end - lane.head for lane, end in ends.items())


def _first_of(ends: Mapping[Lane, int], share: int) -> dict[Lane, int]:
    """How far each lane goes up to the order time at which the first of them has given its share."""
    cuts = [(lane.times[lane.head + share - 1], lane.rank) for lane, end in ends.items() if end - lane.head > share]
    cut = min(cuts, default=EVERYTHING)
    return {lane: found for lane, end in ends.items() if (found := min(end, lane.end_below(cut))) > lane.head}
