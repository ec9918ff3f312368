"""Marks: a moment, to find out when all was returned that the service held then."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.clock import SECOND_US
from streamiter.merge.lane import BEHIND_US

# Beyond `lateness`, how far creation times may run ahead of the service's clock: as far as a lane may be that is not behind,
# and the second to which they are floored. A mark does not rely on clocks that are further ahead.
AHEAD_US = BEHIND_US + SECOND_US


@dataclass(slots=True)
class Mark:
    """Set by `Reading.mark`; `Reading.is_past` looks at it."""

    serial: int  # how many calls had been made
    ticket: int  # the newest listing that had begun
    service_us: int | None = None  # a moment after it, by the service's clock
    goals: dict[str, int] | None = None  # how many records each lane is to have given, once that is known
