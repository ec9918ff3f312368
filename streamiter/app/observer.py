"""The observer: watches an app's work from inside, through events, counts each second, and a span around each call."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from streamiter.app.events import AppEvent
from streamiter.app.stats import ProcessorStats

if TYPE_CHECKING:
    from streamiter.app.held import HeldLease


class Span:
    """One call of a processor's function. This one keeps nothing of it."""

    def fail(self, error: Exception) -> None:
        """The function raised this."""


class Observer:
    """An `on_event` that hears more, for monitoring systems. All its methods are called on the app's event loop.

    They must not block. Their errors are logged, and stop nothing.
    """

    def __call__(self, event: AppEvent) -> None:
        """Takes an event, as any `on_event` does."""

    def worked(self, processor: str, stats: ProcessorStats, before: ProcessorStats) -> None:
        """Called each second: the stats of a processor in this worker, and those of the last call."""

    def span(self, processor: str, lease: HeldLease, records: int) -> AbstractContextManager[Span]:
        """A span around a call of the processor's function with so many records of a lease."""
        return nullcontext(_NONE)


_NONE = Span()
