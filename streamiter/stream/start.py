"""The start: where shards begin that nobody has read from: their horizon, or a time; and what is left out before it."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.merge import Lane
from streamiter.position import AtTime, Horizon, Position
from streamiter.shard import Rank


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a whole stream. Below an ancestor that gave records all is asked for, whatever its times say (law 3)."""

    time_us: int | None  # None: the horizon

    def position(self, floor_us: int | None, opened_us: int | None) -> Position:
        """Where a shard with this floor starts; `opened_us` is when that is chosen."""
        if self.time_us is None or floor_us is not None:
            return Horizon(opened_us)
        return AtTime(self.time_us, opened_us)

    def lane(
        self,
        shard_id: str,
        rank: Rank,
        floor_us: int | None,
        opened_us: int | None,
        *,
        closed: bool,
        lateness_us: int = 0,
    ) -> Lane:
        """The lane of a shard of which nothing was read."""
        return Lane(
            shard_id,
            rank,
            self.position(floor_us, opened_us),
            floor_us=floor_us,
            skip_before_us=self.time_us if floor_us is None else None,
            closed=closed,
            lateness_us=lateness_us,
        )
