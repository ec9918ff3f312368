"""What the tests of `on_event` share: what it was told, and records that come late."""

from __future__ import annotations

from streamiter import (
    Event,
)
from streamiter.testing import Simulator


class Told(list[Event]):
    """What on_event was told, by kind."""

    def of(self, *kinds: type[Event]) -> list[Event]:
        return [event for event in self if isinstance(event, kinds)]


def skewed(sim: Simulator) -> None:
    """Two shards; what `put_late` then writes to S2 turns up after a record of S1 that sorts behind it is out."""
    sim.shape("S1 ~ S2")
    sim.put("S1", created=sim.clock.now())


def put_late(sim: Simulator, count: int, seconds: float = 30) -> None:
    began = sim.shard("S1").records[0].created
    assert began is not None
    for _ in range(count):
        sim.put("S2", created=began - seconds)
