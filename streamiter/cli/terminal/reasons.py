"""Reasons: why records wait for a shard, as far as the stream's events and its stats tell."""

from __future__ import annotations

from streamiter.cli.moments import age
from streamiter.clock import Clock
from streamiter.stream import CallFailed, Event, Stats

FRESH_SECONDS = 30.0  # a failure that is older than this was followed by calls that did not fail
BEHIND_SECONDS = 60.0
LISTING = "listing"


class Reasons:
    """Remembers the last failure of each shard; `note` is an `on_event`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed: dict[str, tuple[float, CallFailed]] = {}

    def note(self, event: Event) -> None:
        """A call of a shard failed, or of the listing."""
        if isinstance(event, CallFailed):
            self._failed[event.shard_id or LISTING] = self._clock.monotonic(), event

    def last(self) -> str:
        """The failure that came last; empty where there was none of late."""
        told, event = max(self._failed.values(), key=lambda kept: kept[0], default=(0.0, None))
        return _told(event) if event is not None and self._is_fresh(told) else ""

    def of(self, held_by: str, stats: Stats) -> str:
        """Why records wait for this shard, or for the listing."""
        told, event = self._failed.get(held_by, (0.0, None))
        if event is not None and self._is_fresh(told):
            calls = "calls" if event.tries > 1 else "call"
            return f"its last {event.tries} {calls} failed: {_told(event)}"
        if stats.held_ahead:
            return f"its next record is created {age(stats.held_ahead)} ahead of the service's clock"
        if held_by == LISTING:
            return "listings do not agree on the shards yet"
        behind = stats.lag.get(held_by, 0.0)
        if behind > BEHIND_SECONDS:
            return f"it is {age(behind)} behind, and is being read"
        return "the service does not answer for it"

    def _is_fresh(self, monotonic: float) -> bool:
        return self._clock.monotonic() - monotonic < FRESH_SECONDS


def _told(event: CallFailed) -> str:
    """The reason without the names of shard and stream, which stand before it and take a line of their own."""
    _, is_split, rest = event.reason.partition(": ")
    reason = rest if is_split and event.stream.partition("@")[0] in event.reason.partition(": ")[0] else event.reason
    return f"{reason} [{event.kind}]"
