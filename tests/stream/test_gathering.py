"""Gathering: with many lanes, answers that come one by one are taken in together, and records come out in long windows."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter import Stream
from streamiter.driving.inline import Inline
from streamiter.driving.threads import Answer
from streamiter.merge import merge
from streamiter.stream.readings import Readings
from streamiter.testing import ManualClock
from tests.stream.shelf import Shelf


class OneByOne(Inline):
    """Each look finds one answer."""

    def answers(self, wait_seconds: float = 0.0) -> list[Answer]:
        later, self._jobs = self._jobs[1:], self._jobs[:1]
        found = super().answers(wait_seconds)
        self._jobs = later
        return found


@pytest.mark.parametrize("lanes", [10, 100])
def test_windows_are_long_however_the_answers_come(lanes: int, monkeypatch: pytest.MonkeyPatch):
    windows: list[int] = []

    def noted(ends: Any) -> Any:
        windows.append(len(ends))
        return join(ends)

    join = merge.join
    monkeypatch.setattr(merge, "join", noted)
    monkeypatch.setattr(Readings.__init__, "__defaults__", (OneByOne,))
    shelf = Shelf(ManualClock(), *[f"S{index:03}" for index in range(lanes)])
    for turn in range(60):
        for shard_id in shelf.shards:
            shelf.put(shard_id, age=3600 - turn)
    for shard_id in shelf.shards:
        shelf.roll(shard_id)
    with Stream(shelf, clock=shelf.clock, prefetch_bytes=lanes * 10 * 500) as stream:
        found = [record for record in iter(stream.__next__, None) if record is not None]
    numbers = [record.sequence_number for record in found]  # those at the end wait until children would be listed
    assert numbers == [str(1001 + index) for index in range(len(numbers))] and len(numbers) > 59 * lanes
    pages = shelf.counted("fetch")
    assert lanes == 10 or len(windows) < pages / 6
