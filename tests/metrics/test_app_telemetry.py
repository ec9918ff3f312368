"""An app's telemetry: what a real SDK collects is what the app did, and each call of a processor is a span."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from streamiter.app import App, Halt, Ignore, Retry
from streamiter.errors import ProcessorFailed
from streamiter.metrics import AppTelemetry

ROWS = [{"id": f"k{number}", "n": number} for number in range(10)]


class Collected:
    """Providers, and what they hold by now."""

    def __init__(self) -> None:
        self._reader, self._exporter = InMemoryMetricReader(), InMemorySpanExporter()
        self.meters = MeterProvider([self._reader])
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))

    def app(self, **attributes: str) -> App:
        return App("shop", on_event=AppTelemetry(self.meters, self.tracers, attributes=attributes))

    def points(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        found = self._reader.get_metrics_data()
        scopes = [scope for resource in found.resource_metrics for scope in resource.scope_metrics] if found else []
        return {
            metric.name.removeprefix("streamiter."): [
                (dict(point.attributes or {}), point.value)  # type: ignore[union-attr]
                for point in metric.data.data_points
            ]
            for scope in scopes
            for metric in scope.metrics
        }

    def value(self, name: str) -> Any:
        ((_, value),) = self.points()[name]
        return value

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def close(self) -> None:
        self.meters.shutdown()
        self.tracers.shutdown()


@pytest.fixture
def collected() -> Iterator[Collected]:
    found = Collected()
    yield found
    found.close()


def test_the_counts_are_those_of_the_app(collected: Collected):
    app = collected.app(team="search")

    @app.processor("dynamodb://users")
    def index(batch): ...

    app.test(ROWS)
    points = collected.points()
    assert points["processor.delivered"] == [({"team": "search", "streamiter.processor": "index"}, 10)]
    assert collected.value("processor.acked") == 10 and collected.value("processor.failed") == 0
    assert collected.value("lease.held") == 0, "all were released"
    changes = {told["streamiter.change"]: value for told, value in points["lease.changes"]}
    assert changes["taken"] == changes.get("handed over", 0) + changes.get("completed", 0) >= 1
    assert not any("streamiter.lease" in told for rows in points.values() for told, _ in rows), (
        "no series for each shard"
    )


def test_each_batch_is_a_span(collected: Collected):
    app = collected.app()

    @app.processor("dynamodb://users", size=4)
    def index(batch): ...

    app.test(ROWS)
    spans = collected.spans
    assert {span.name for span in spans} == {"process index"}
    assert {span.kind for span in spans} == {trace.SpanKind.CONSUMER}
    counts: list[Any] = [(span.attributes or {})["messaging.batch.message_count"] for span in spans]
    assert sum(counts) == 10 and max(counts) <= 4
    assert all({"streamiter.lease", "streamiter.fence"} <= set(span.attributes or {}) for span in spans)


@pytest.mark.parametrize("form", ["batch", "record", "key", "coroutine"])
def test_the_span_is_the_current_one_inside_of_the_function(collected: Collected, form: str):
    app, seen = collected.app(), []

    def look() -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    if form == "batch":

        @app.processor("dynamodb://users")
        def by_batch(batch):
            look()

    elif form == "record":

        @app.processor("dynamodb://users")
        def by_record(record):
            look()

    elif form == "key":

        @app.processor("dynamodb://users", order="key", concurrency=4)
        async def by_key(record):
            look()

    else:

        @app.processor("dynamodb://users")
        async def by_coroutine(batch):
            look()

    app.test(ROWS)
    assert set(seen) == {span.context.span_id for span in collected.spans if span.context}
    assert 0 not in seen


@pytest.mark.parametrize("order", ["shard", "key"])
def test_a_call_that_fails_is_a_span_with_an_error_that_says_nothing_of_the_record(collected: Collected, order: Any):
    app, tries = collected.app(), []

    @app.processor("dynamodb://users", order=order, on_error=Retry(after=[1], then=Ignore()))
    def index(record):
        if record.new["id"] == "k3":
            tries.append(1)
            raise ValueError("secret")

    app.test(ROWS)
    failed = [span for span in collected.spans if span.status.status_code is trace.StatusCode.ERROR]
    assert len(failed) == len(tries) == 2
    assert {(span.attributes or {})["error.type"] for span in failed} == {"ValueError"}
    assert "secret" not in "".join(span.to_json() for span in collected.spans)
    assert collected.value("processor.failed") == 2 and collected.value("processor.retried") == 1
    ((told, count),) = collected.points()["processor.poisoned"]
    assert (told["streamiter.verdict"], count) == ("ignore", 1)
    assert collected.value("processor.acked") == 10


def test_an_app_that_halts_has_told_what_it_did(collected: Collected):
    app = collected.app()

    @app.processor("dynamodb://users", on_error=Halt())
    def index(record):
        if record.new["id"] == "k3":
            raise ValueError

    with pytest.raises(ProcessorFailed):
        app.test(ROWS)
    assert collected.value("processor.acked") == 3 and collected.value("processor.failed") == 1


def test_an_observer_that_raises_stops_nothing(caplog: pytest.LogCaptureFixture):
    class Broken(AppTelemetry):
        def worked(self, *_: object) -> None:
            raise ValueError("broken")

        def __call__(self, event: object) -> None:
            raise ValueError("broken")

    app, seen = App("shop", on_event=Broken()), []

    @app.processor("dynamodb://users")
    def index(record):
        seen.append(record)

    app.test(ROWS)
    assert len(seen) == 10 and "the observer of index raised an error" in caplog.text
