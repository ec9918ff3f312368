"""Page scripts: where GetRecords cuts a shard's records into pages, and how many empty pages come before them.

A script is tied to places among the records, not to calls: every reader of the shard, from any place, sees its part.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence


class PageScript:
    """Cuts at places, and empty pages before places. Places count a shard's records from 0, trimmed ones included."""

    def __init__(self, script: Sequence[int] = (), *, repeat: bool = False) -> None:
        """`[0, 0, 3, 2]`: two empty pages, one of three records, one of two; then as it comes, or over again."""
        if any(size < 0 for size in script) or (repeat and not sum(script)):
            raise ValueError("a page script lists page sizes from 0 up; one that repeats needs a page with records")
        self._empties: dict[int, int] = {}
        self._cuts: list[int] = []
        self._period = sum(script) if repeat else 0
        place = 0
        for size in script:
            if size == 0:
                self._empties[place] = self._empties.get(place, 0) + 1
            place += size
            self._cuts.append(place)

    @classmethod
    def with_empties(cls, empties: Iterable[int]) -> PageScript:
        """How many empty pages come before the first record, before the second, ..."""
        script: list[int] = []
        for count in empties:
            if count < 0:
                raise ValueError("there are no fewer than no empty pages")
            script += [0] * count + [1]
        pages = cls(script)
        # Only empty pages cut: records without any between them may share a page.
        pages._cuts = sorted(pages._empties)
        return pages

    def empties_before(self, place: int) -> int:
        """How many empty pages come before the record at this place."""
        if not self._period or place < self._period:
            return self._empties.get(place, 0)
        end = self._empties.get(self._period, 0) if place % self._period == 0 else 0
        return end + self._empties.get(place % self._period, 0)

    def next_cut(self, place: int) -> int | None:
        """The place at which the page that starts here must end, if any."""
        start = place - place % self._period if self._period else 0
        at = bisect_right(self._cuts, place - start)
        return start + self._cuts[at] if at < len(self._cuts) else None
