"""Events about children, for `on_event`."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.app import AppEvent


@dataclass(frozen=True, slots=True)
class ChildStarted(AppEvent):
    """A child works on the lease from now on."""

    pid: int


@dataclass(frozen=True, slots=True)
class ChildFailed(AppEvent):
    """A child failed. After the pause a new one goes on from the checkpoint. The other children go on."""

    why: str
    pid: int
    code: int | None
    """Its exit code, below 0 for a signal; None if we ended it."""
    tail: str
    """The last lines of its standard error."""
    pause_seconds: float
