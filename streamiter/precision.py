"""Precision: how exactly a source tells times and places; how long records wait for other shards follows from it."""

from __future__ import annotations

from typing import NamedTuple

from streamiter.clock import SECOND_US


class Precision(NamedTuple):
    """What the times and places of a source are worth (law 7). The defaults are DynamoDB's."""

    lateness_us: int = 0  # how long after its creation time a record may come to be readable
    grain_us: int = SECOND_US  # creation times and service times are floored to so much
    is_counted: bool = False  # the source knows by its numbers whether a record is gone that was not read (law 5)

    def floored(self, time_us: int) -> int:
        """This time, as exactly as the source tells times."""
        return time_us - time_us % self.grain_us

    def known_us(self, service_us: int) -> int:
        """Records created before this are all here, once the shard gave nothing more at that service time."""
        return self.floored(service_us - self.lateness_us)

    def needed_us(self, time_us: int) -> int:
        """The least service time of a tip that is known beyond a record of this order time."""
        return self.floored(time_us) + self.grain_us + self.lateness_us

    @property
    def again_us(self) -> int:
        """How soon a shard at its tip is asked again while a record waits for it."""
        return max(1_000, self.grain_us // 50)


FLOORED = Precision()  # to the second, and nothing comes late
USUAL = Precision(SECOND_US)  # of a service that may be a second late
