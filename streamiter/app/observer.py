"""The observer: what watches an app's work from inside: events, counts each second, and a span around each call."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from streamiter.app.events import AppEvent
from streamiter.app.stats import ProcessorStats

if TYPE_CHECKING:
    from streamiter.app.held import HeldLease


class Span:
    """One call of a processor's function; nothing of it is kept."""

    def fail(self, error: Exception) -> None:
        """The function raised this."""


class Observer:
    """An `on_event` that is told more: for monitoring systems. All of it is called on the app's event loop.

    It must not block; what it raises is logged, and stops nothing.
    """

    def __call__(self, event: AppEvent) -> None:
        """Takes an event, as any `on_event` does."""

    def worked(self, processor: str, stats: ProcessorStats, before: ProcessorStats) -> None:
        """A second's work of a processor in this worker: its stats, and those that were told last."""

    def span(self, processor: str, lease: HeldLease, records: int) -> AbstractContextManager[Span]:
        """What surrounds a call of the processor's function with so many records of a lease."""
        return nullcontext(_NONE)


_NONE = Span()
