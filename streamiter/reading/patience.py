"""Patience: failures in a row, of a shard or of the listing: how long to pause after each, and when to tell the caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar
from zlib import crc32

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import SourceError, Throttled, TransientError
from streamiter.steps import Call, Pause, Steps, by_clock, finish

FIRST_PAUSE_US = SECOND_US // 10  # after a fault; doubled with each
FIRST_THROTTLE_PAUSE_US = SECOND_US // 2
LONGEST_PAUSE_US = 2 * SECOND_US
LONGEST_THROTTLE_PAUSE_US = 5 * SECOND_US
LONGEST_CALL_US = 25 * SECOND_US  # how long our own clients wait before they give a call up
WARNING_US = 5 * SECOND_US  # of nothing but errors: worth a warning in the log
BETWEEN_WARNINGS_US = 60 * SECOND_US  # a service that fails does so for hundreds of shards

Result = TypeVar("Result")


class Failure(NamedTuple):
    """A call failed, or answers again after it failed (then there is no pause)."""

    shard_id: str | None  # None: listing the shards
    error: BaseException
    times: int  # so many calls in a row failed
    pause_us: int | None
    lasts_us: int  # since the first of them failed
    tried_us: int  # the part of it that patience counts: without the time in which the caller asked for nothing
    is_worth_a_warning: bool = False


@dataclass(slots=True)
class Row:
    """Calls for one shard, or for the listing, that failed in a row."""

    since_us: int
    last_us: int
    error: BaseException
    times: int = 0
    pause_us: int = 0  # after the last one
    tried_us: int = 0  # for how long it was tried since the caller was told
    has_warned: bool = False

    def fail(self, error: BaseException, name: str, now_us: int) -> int:
        """One more call failed; returns when to make it again."""
        # The time in which the caller asked for nothing does not count: two failures an hour apart are not an hour of trying.
        self.tried_us += min(now_us - self.last_us, self.pause_us + LONGEST_CALL_US)
        self.error, self.last_us = error, now_us
        self.times += 1
        pause_us = pause_after(error, self.times)
        # Shards that failed together are not to come back together.
        self.pause_us = pause_us + pause_us * (crc32(name.encode()) % 256) // 512
        return now_us + self.pause_us


class Patience:
    """The present rows of failures. Calls are made again and again; `overdue` tells of a row that has lasted too long."""

    def __init__(self, patience_us: int, tell: Callable[[Failure], None] | None = None) -> None:
        self.retries = 0
        self.throttles = 0
        self.patience_us = patience_us
        self._tell = tell or _ignore
        self._rows: dict[str | None, Row] = {}
        self._warned_us: int | None = None

    def failed(self, shard_id: str | None, error: BaseException, now_us: int) -> int:
        """A call failed; returns when to make it again. `shard_id` None: the listing."""
        row = self._rows.setdefault(shard_id, Row(now_us, now_us, error))
        again_us = row.fail(error, shard_id or "listing", now_us)
        self.retries += 1
        self.throttles += isinstance(error, Throttled)
        is_warning = self._is_worth_a_warning(row)
        if is_warning:
            row.has_warned, self._warned_us = True, now_us
        self._tell(Failure(shard_id, error, row.times, row.pause_us, now_us - row.since_us, row.tried_us, is_warning))
        return again_us

    def _is_worth_a_warning(self, row: Row) -> bool:
        if row.has_warned or row.tried_us < WARNING_US:
            return False
        return self._warned_us is None or row.last_us - self._warned_us >= BETWEEN_WARNINGS_US

    def recovered(self, shard_id: str | None, now_us: int) -> None:
        """A call was answered: its row ends."""
        row = self._rows.pop(shard_id, None) if self._rows else None
        if row is not None:
            self._tell(Failure(shard_id, row.error, row.times, None, now_us - row.since_us, row.tried_us))

    def forget(self, shard_id: str | None) -> None:
        """Ends the shard's row without a word: the service lists the shard no more."""
        self._rows.pop(shard_id, None)

    def overdue(self, again: str = "calling next() again goes on trying") -> SourceError | None:
        """The error of a row that outlasted the patience; afterwards the calls go on, with the same patience.

        `again`: what the caller can do to have it tried again, as the error says it.
        """
        for shard_id, row in self._rows.items():
            if row.tried_us >= self.patience_us:
                row.tried_us = 0
                return self._told(shard_id, row, f"nothing is lost, {again}")
        return None

    def give_up(self, shard_id: str | None) -> SourceError:
        """The error of a call that a caller waited for, and waits for no longer; its row ends."""
        return self._told(shard_id, self._rows.pop(shard_id), "nothing is lost, the same call goes on trying")

    def _told(self, shard_id: str | None, row: Row, again: str) -> SourceError:
        kind = type(row.error) if isinstance(row.error, SourceError) else SourceError
        error = kind(
            f"{named(shard_id)} gave nothing but errors for {self.patience_us / SECOND_US:.0f} s ({row.times} tries); "
            f"{again}; {remedy(row.error)}; the last error: {row.error}"
        )
        error.__cause__ = row.error
        return error


def remedy(error: BaseException) -> str:
    """What the caller can do about calls that fail again and again."""
    if isinstance(error, Throttled):
        return "look for other readers of the stream: more than two of a shard are throttled"
    return "look at the network to the service, and at the service's health"


def named(shard_id: str | None) -> str:
    """What failed, in words."""
    return "listing the shards" if shard_id is None else f"shard {shard_id}"


def pause_after(error: BaseException, times: int) -> int:
    """How long to wait, in microseconds, after so many failures in a row."""
    first_us, longest_us = FIRST_PAUSE_US, LONGEST_PAUSE_US
    if isinstance(error, Throttled):
        first_us, longest_us = FIRST_THROTTLE_PAUSE_US, LONGEST_THROTTLE_PAUSE_US
    return min(first_us << min(times - 1, 10), longest_us)


def retrying(call: Callable[[], Result], clock: Clock, patience: Patience) -> Result:
    """As `retried`, on this thread: it waits by the clock that it is given."""
    return finish(retried(call, clock, patience), by_clock(clock))


def retried(call: Callable[[], Result], clock: Clock, patience: Patience) -> Steps[Result]:
    """Makes a call, and makes it again, with pauses, while it fails in a way that may pass and patience lasts.

    It is for calls before a reading, and for tools beside one. In the end it raises the last error as the service gave it;
    `Patience.give_up` then has the words for a caller who waited long.
    """
    since_us = microseconds(clock.monotonic())
    while True:
        try:
            result: Result = yield Call(call)
        except TransientError as error:
            now_us = microseconds(clock.monotonic())
            again_us = patience.failed(None, error, now_us)
            if now_us - since_us >= patience.patience_us:
                raise
            yield Pause((again_us - now_us) / SECOND_US)
        else:
            patience.recovered(None, microseconds(clock.monotonic()))
            return result


def _ignore(_: Failure) -> None:
    pass
