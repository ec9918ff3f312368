"""The vitals of a processor's leases in work: whether one is stuck, and what their rows tell people."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from streamiter.app.events import AppEvent, Stuck
from streamiter.app.kit import Held
from streamiter.app.pulse import EVERY_US
from streamiter.app.stats import LeaseStats, ProcessorStats
from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.lease import Engine

logger = logging.getLogger("streamiter.app")

STUCK_US = 30 * SECOND_US  # when a processor has had the same records for so long, we report it as stuck


def stats_of(leases: Iterable[Held], counts: Mapping[str, int], now_us: int) -> ProcessorStats:
    """What a processor holds and what it did. `counts` is what it did with leases that it no longer holds."""
    held = tuple(_lease_stats(one, now_us) for one in leases)
    return ProcessorStats(
        held,
        counts["delivered"] + sum(told.delivered for told in held),
        counts["acked"] + sum(told.acked for told in held),
        counts["failed"] + sum(told.failed for told in held),
    )


def _lease_stats(held: Held, now_us: int) -> LeaseStats:
    desk, lease = held.work.desk, held.lease
    since_us = desk.busy_since_us
    busy = None if since_us is None else (now_us - since_us) / SECOND_US
    done = desk.delivered, desk.acked, desk.failed
    return LeaseStats(lease.key, lease.fence, *done, busy, held.gap, held.pulse.lag_seconds)


class Vitals:
    """The vitals of one processor in one worker."""

    def __init__(self, engine: Engine, processor: str, clock: Clock, tell: Callable[[AppEvent], None]) -> None:
        self._engine = engine
        self._processor = processor
        self._clock = clock
        self._tell = tell
        self._felt_us = 0

    def look_at(self, leases: Mapping[tuple[str, int], Held], now_us: int) -> bool:
        """Looks at all leases in work, by key and fence. Returns whether it is time to report how the work goes."""
        for held in leases.values():
            self._look_whether_stuck(held, now_us)
        if now_us - self._felt_us < EVERY_US:
            return False
        self._felt_us = now_us
        self._feel(leases, now_us)
        return True

    def _feel(self, leases: Mapping[tuple[str, int], Held], now_us: int) -> None:
        """Updates what the rows say about the work; it is written with the next renewals."""
        wall_us = microseconds(self._clock.now())
        for (key, fence), held in leases.items():
            held.pulse.busy_since_us = held.work.desk.busy_since_us
            self._engine.describe(key, fence, partial(held.pulse.take, now_us, wall_us))

    def _look_whether_stuck(self, held: Held, now_us: int) -> None:
        since_us = held.work.desk.busy_since_us
        if since_us is None or now_us - since_us < STUCK_US:
            held.is_stuck = False
        elif not held.is_stuck:
            held.is_stuck = True
            seconds, key = (now_us - since_us) / SECOND_US, held.lease.key
            logger.warning(
                "%s: lease %s: the processor is at the same records for %.0f s", self._processor, key, seconds
            )
            self._tell(Stuck(self._processor, key, seconds))
