"""An app's telemetry: an `on_event` that hands its work on to a meter, and each call of a processor to a tracer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamiter.app.events import AppEvent, Completed, GapStands, HandedOver, LeaseLost, LeaseTaken, Poisoned, Retried
from streamiter.app.observer import Observer, Span
from streamiter.app.stats import ProcessorStats
from streamiter.errors import MissingExtra

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from streamiter.app.held import HeldLease

# No lease is named in the metrics: shards come and go every few hours, and each would leave a time series behind.
DELIVERED = ("streamiter.processor.delivered", "{record}", "Records handed to the processor, repeated ones included")
ACKED = ("streamiter.processor.acked", "{record}", "Records processed, or disposed of by the processor's policy")
FAILED = ("streamiter.processor.failed", "{failure}", "Calls in which the processor raised an error")
RETRIED = ("streamiter.processor.retried", "{failure}", "Failures after which the records are handed over again")
POISONED = ("streamiter.processor.poisoned", "{failure}", "Failures for good, by streamiter.verdict")
CHANGES = ("streamiter.lease.changes", "{change}", "Leases taken, lost, handed over, completed, by streamiter.change")
GAPS = ("streamiter.lease.gaps", "{gap}", "Gaps met: records that may be lost")
HELD = ("streamiter.lease.held", "{lease}", "Leases in this worker's hands")
LAG = (
    "streamiter.processor.lag",
    "s",
    "How long ago the first record was created that is not processed; 0: there is none",
)
BUSY = ("streamiter.processor.busy", "s", "How long the processor has had the same records, at most")
COUNTERS = (DELIVERED, ACKED, FAILED, RETRIED, POISONED, CHANGES, GAPS)
GAUGES = (HELD, LAG, BUSY)

_CHANGES: dict[type[AppEvent], str] = {
    LeaseTaken: "taken",
    LeaseLost: "lost",
    HandedOver: "handed over",
    Completed: "completed",
}


class AppTelemetry(Observer):
    """An app's metrics and traces by OpenTelemetry: `App(..., on_event=AppTelemetry())`.

    Each metric has the attribute `streamiter.processor`, and those of `attributes`. Each call of a processor's function is
    a span of kind consumer, the current one while the function runs, in its thread too.
    """

    def __init__(
        self,
        meter_provider: MeterProvider | None = None,
        tracer_provider: TracerProvider | None = None,
        *,
        attributes: Mapping[str, str | int] | None = None,
    ) -> None:
        try:
            from opentelemetry.metrics import get_meter
            from opentelemetry.trace import get_tracer
        except ImportError as error:
            raise MissingExtra("opentelemetry-api", "otel") from error
        meter = get_meter("streamiter", meter_provider=meter_provider)
        self._tracer = get_tracer("streamiter", tracer_provider=tracer_provider)
        self._attributes = dict(attributes or {})
        self._delivered = meter.create_counter(*DELIVERED)
        self._acked = meter.create_counter(*ACKED)
        self._failed = meter.create_counter(*FAILED)
        self._retried = meter.create_counter(*RETRIED)
        self._poisoned = meter.create_counter(*POISONED)
        self._changes = meter.create_counter(*CHANGES)
        self._gaps = meter.create_counter(*GAPS)
        self._held = meter.create_gauge(*HELD)
        self._lag = meter.create_gauge(*LAG)
        self._busy = meter.create_gauge(*BUSY)

    def __call__(self, event: AppEvent) -> None:
        """Takes an event of an app."""
        attributes = self._of(event.processor)
        if type(event) in _CHANGES:
            self._changes.add(1, {**attributes, "streamiter.change": _CHANGES[type(event)]})
        elif isinstance(event, GapStands):
            self._gaps.add(1, attributes)
        elif isinstance(event, Retried):
            self._retried.add(1, attributes)
        elif isinstance(event, Poisoned):
            self._poisoned.add(1, {**attributes, "streamiter.verdict": event.verdict})

    def worked(self, processor: str, stats: ProcessorStats, before: ProcessorStats) -> None:
        """Takes a second's work."""
        attributes = self._of(processor)
        self._delivered.add(stats.delivered - before.delivered, attributes)
        self._acked.add(stats.acked - before.acked, attributes)
        self._failed.add(stats.failed - before.failed, attributes)
        self._held.set(len(stats.leases), attributes)
        self._lag.set(max((lease.lag_seconds or 0.0 for lease in stats.leases), default=0.0), attributes)
        self._busy.set(max((lease.busy_seconds or 0.0 for lease in stats.leases), default=0.0), attributes)

    @contextmanager
    def span(self, processor: str, lease: HeldLease, records: int) -> Iterator[Span]:
        """Surrounds a call."""
        from opentelemetry.trace import SpanKind

        attributes = {
            **self._of(processor),
            "streamiter.lease": lease.key,
            "streamiter.fence": lease.fence,
            "messaging.batch.message_count": records,
        }
        with self._tracer.start_as_current_span(
            f"process {processor}", kind=SpanKind.CONSUMER, attributes=attributes
        ) as span:
            yield _Told(span)

    def _of(self, processor: str) -> dict[str, str | int]:
        return {**self._attributes, "streamiter.processor": processor}


class _Told(Span):
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def fail(self, error: Exception) -> None:
        """The span ends as failed. Of the error its class alone is told: its message may hold a record."""
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("error.type", type(error).__qualname__)
        self._span.set_status(StatusCode.ERROR, type(error).__name__)
