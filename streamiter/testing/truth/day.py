"""The day: what happens by itself as time passes, each at its own moment: rolls, and deletes by time to live."""

from __future__ import annotations

from streamiter.clock import microseconds
from streamiter.testing.tables import TableApi
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.service import Service

MOST_ROLLS = 20_000  # before one call, which is answered within a second then; what is left comes before the next ones


class Day:
    """Nothing happens between calls. When a call comes, all that was due happens first, in the order of its moments."""

    def __init__(self, service: Service, tables: TableApi, knobs: Knobs) -> None:
        self._service = service
        self._tables = tables
        self._knobs = knobs
        self._last_us = 0  # when the last call came
        self._none_before_us = 0  # no shard that may roll was opened before this

    def live_until(self, now_us: int) -> None:
        """Does all that is due by now."""
        if now_us < self._last_us:  # a test set its clock back
            self._none_before_us = 0
        self._last_us = now_us
        rolls = 0
        while rolls < MOST_ROLLS:
            ends_us = self._tables.next_us
            if ends_us is not None:
                ends_us += microseconds(self._knobs.ttl_delay)
            rolls_us = self._next_roll_us(now_us)
            if ends_us is not None and ends_us <= now_us and (rolls_us is None or ends_us < rolls_us):
                self._tables.end_next(ends_us)
            elif rolls_us is not None and rolls_us <= now_us:
                self._roll(rolls_us)
                rolls += 1
            else:
                return

    def _next_roll_us(self, now_us: int) -> int | None:
        """When a shard rolls next; None: not by now. All streams are looked through only when one may be due."""
        if self._knobs.roll_after is None:
            return None
        roll_after_us = microseconds(self._knobs.roll_after)
        if self._none_before_us + roll_after_us > now_us:
            return None
        opened = [stream.oldest_open_us for stream in self._service.self_sharding]
        oldest_us = min((us for us in opened if us is not None), default=None)
        self._none_before_us = min(now_us, now_us if oldest_us is None else oldest_us)
        return None if oldest_us is None else oldest_us + roll_after_us

    def _roll(self, now_us: int) -> None:
        assert self._knobs.roll_after is not None
        horizon_us = now_us - microseconds(self._knobs.roll_after)
        for stream in self._service.self_sharding:
            stream.roll_older(horizon_us, now_us, self._service.next_number)
