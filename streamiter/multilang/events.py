"""Events: what `on_event` is told of children."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.app import AppEvent


@dataclass(frozen=True, slots=True)
class ChildStarted(AppEvent):
    """A child works on the lease from now on."""

    pid: int


@dataclass(frozen=True, slots=True)
class ChildFailed(AppEvent):
    """A child failed: a fresh one goes on from the checkpoint after the pause. The other children do not notice."""

    why: str
    pid: int
    code: int | None
    """What it exited with, below 0 by a signal; None where we ended it."""
    tail: str
    """The last lines of its standard error."""
    pause_seconds: float
