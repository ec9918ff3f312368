"""The crew: an app's processor that hands its records to children: a child for each lease, all of one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamiter.app.hand import Keeper
from streamiter.clock import Clock
from streamiter.multilang.leasework import LeaseWork
from streamiter.multilang.pool import Pool

if TYPE_CHECKING:
    from streamiter.app.desk import Desk
    from streamiter.app.processor import Processor
    from streamiter.app.threads import Calls
    from streamiter.app.works import Spawn, Work


class Crew(Keeper):
    """A processor, declared as a function is: `app.processor(source)(crew)`."""

    def __init__(
        self,
        name: str,
        pool: Pool,
        clock: Clock,
        *,
        grace_seconds: float = 30.0,
        pause_seconds: float = 1.0,
        wants_empty: bool = False,
    ) -> None:
        self.__name__ = name
        self.pool = pool
        self.clock = clock
        self.grace_seconds = grace_seconds
        self.pause_seconds = pause_seconds  # after a child failed; doubles each time, until a checkpoint moves
        self.wants_empty = wants_empty  # whether the child gets a message without records when a page has none

    def work(self, desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> Work:
        """The work on one lease."""
        return LeaseWork(desk, processor, threads, spawn)
