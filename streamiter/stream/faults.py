"""Faults: rows of calls that failed, of a shard or of the listing: how long each waits, and when patience runs out."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from zlib import crc32

from streamiter.clock import SECOND_US
from streamiter.errors import SourceError, Throttled
from streamiter.stream.events import Retry
from streamiter.stream.listener import Listener

logger = logging.getLogger("streamiter.stream")

LISTING = "listing"  # the name of what is no shard
FIRST_PAUSE_US = SECOND_US // 10  # after a fault; doubled with each
FIRST_THROTTLE_PAUSE_US = SECOND_US // 2
LONGEST_PAUSE_US = 2 * SECOND_US
LONGEST_THROTTLE_PAUSE_US = 5 * SECOND_US
LONGEST_CALL_US = 25 * SECOND_US  # until our own clients give a call up


@dataclass(slots=True)
class _Fault:
    """A row of failures of one shard, or of the listing."""

    since_us: int
    last_us: int
    error: BaseException
    times: int = 0
    pause_us: int = 0  # after the last one
    tried_us: int = 0  # for how long it was tried since somebody was told


class Faults:
    """What fails at present. Time is handed in."""

    def __init__(self, listener: Listener, patience_us: int) -> None:
        self.retries = 0
        self.throttles = 0
        self.patience_us = patience_us
        self._listener = listener
        self._rows: dict[str, _Fault] = {}

    def note(self, name: str, error: BaseException, now_us: int) -> int:
        """A call failed; gives when it is to be made again."""
        fault = self._rows.setdefault(name, _Fault(now_us, now_us, error))
        # What the caller was away for does not count: a shard that failed twice, an hour apart, was not tried for an hour.
        fault.tried_us += min(now_us - fault.last_us, fault.pause_us + LONGEST_CALL_US)
        fault.error, fault.last_us = error, now_us
        fault.times += 1
        self.retries += 1
        self.throttles += isinstance(error, Throttled)
        pause_us = pause_after(error, fault.times)
        # Shards that failed together are not to come back together.
        pause_us += pause_us * (crc32(name.encode()) % 256) // 512
        fault.pause_us = pause_us
        self._tell(name, fault, pause_us / SECOND_US)
        return now_us + pause_us

    def recover(self, name: str, now_us: int) -> None:
        """A call was answered: its row ends."""
        fault = self._rows.pop(name, None)
        if fault is not None:
            seconds = (now_us - fault.since_us) / SECOND_US
            logger.info("%s: answers again, after %d calls that failed in %.1f s", _named(name), fault.times, seconds)

    def forget(self, name: str) -> None:
        """Somebody else was told of its row."""
        self._rows.pop(name, None)

    def clear(self) -> None:
        """Forgets all rows; what was counted stays."""
        self._rows.clear()

    def raise_overdue(self) -> None:
        """Raises for a row that outlasted the patience; then it is tried again, with the same patience."""
        for name, fault in self._rows.items():
            if fault.tried_us >= self.patience_us:
                fault.tried_us = 0
                waited = f"{self.patience_us / SECOND_US:.0f} s"
                kind = type(fault.error) if isinstance(fault.error, SourceError) else SourceError
                raise kind(
                    f"{_named(name)} gave nothing but errors for {waited} ({fault.times} tries); nothing is lost, "
                    f"calling next() again goes on trying; the last error: {fault.error}"
                ) from fault.error

    def _tell(self, name: str, fault: _Fault, pause_seconds: float) -> None:
        # The first of a row tells what is wrong; the others, that it still is.
        level = logging.INFO if fault.times == 1 else logging.DEBUG
        logger.log(level, "%s: %s; asked again in %.1f s", _named(name), fault.error, pause_seconds)
        shard_id = None if name == LISTING else name
        kind, reason = type(fault.error).__name__, str(fault.error)
        self._listener.note(Retry, shard_id, kind, reason, fault.times, pause_seconds)


def pause_after(error: BaseException, times: int) -> int:
    """How long to wait, in microseconds, after so many failures in a row."""
    first_us, longest_us = FIRST_PAUSE_US, LONGEST_PAUSE_US
    if isinstance(error, Throttled):
        first_us, longest_us = FIRST_THROTTLE_PAUSE_US, LONGEST_THROTTLE_PAUSE_US
    return min(first_us << min(times - 1, 10), longest_us)


def _named(name: str) -> str:
    return "listing the shards" if name == LISTING else f"shard {name}"
