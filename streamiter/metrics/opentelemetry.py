"""OpenTelemetry: an `on_event` that hands a stream's progress on to a meter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamiter.errors import MissingExtra
from streamiter.metrics.instruments import CALLS, GAPS_FOUND, INSTRUMENTS, PROGRESS
from streamiter.stream import Event, GapFound, Progress

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider


class OpenTelemetry:
    """Metrics by OpenTelemetry: `Stream(..., on_event=OpenTelemetry())`. One serves any number of streams.

    It only ever pushes, on the thread that reads: a meter's own reader finds the numbers in the meter, and touches no
    stream. Each is told with the attribute `streamiter.stream`, and those of `attributes`.
    """

    def __init__(
        self, meter_provider: MeterProvider | None = None, *, attributes: Mapping[str, str | int] | None = None
    ) -> None:
        try:
            from opentelemetry.metrics import get_meter
        except ImportError as error:
            raise MissingExtra("opentelemetry-api", "otel") from error
        meter = get_meter("streamiter", meter_provider=meter_provider)
        self._attributes = dict(attributes or {})
        self._counters = [
            (instrument.read, meter.create_counter(instrument.name, instrument.unit, instrument.description))
            for instrument in INSTRUMENTS
            if instrument.kind == "counter"
        ]
        self._gauges = [
            (instrument.read, meter.create_gauge(instrument.name, instrument.unit, instrument.description))
            for instrument in INSTRUMENTS
            if instrument.kind == "gauge"
        ]
        self._calls = meter.create_counter(*CALLS)
        self._gaps_found = meter.create_counter(*GAPS_FOUND)
        self._progress = meter.create_gauge(*PROGRESS)

    def __call__(self, event: Event) -> None:
        """Takes an event of a stream."""
        attributes = {**self._attributes, "streamiter.stream": event.stream}
        if isinstance(event, Progress):
            self._tell(event, attributes)
        elif isinstance(event, GapFound):
            self._gaps_found.add(1, attributes)

    def _tell(self, progress: Progress, attributes: Mapping[str, str | int]) -> None:
        stats, before = progress.stats, progress.before
        for read, counter in self._counters:
            counter.add(read(stats) - read(before), attributes)
        for kind, count in stats.calls.items():
            self._calls.add(count - before.calls.get(kind, 0), {**attributes, "streamiter.call": kind})
        for read, gauge in self._gauges:
            gauge.set(read(stats), attributes)
        self._progress.set(progress.time, attributes)
