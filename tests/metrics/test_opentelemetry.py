"""Metrics by OpenTelemetry: what a real SDK collects of a stream is what its stats say, and no stream is touched for it."""

from __future__ import annotations

import dataclasses
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from streamiter import DynamoDBStreams, MissingExtra, RecordsExpired, Stats, Stream
from streamiter.installing import install_command
from streamiter.metrics import INSTRUMENTS, OpenTelemetry
from streamiter.stream.readings import Tally
from streamiter.testing import Simulator
from tests.stream.helpers import drain, take, until_raises, write


class Collected:
    """A meter provider, and what it holds by now."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader])

    @property
    def metrics(self) -> dict[str, Any]:
        found = self.reader.get_metrics_data()
        scopes = [scope for resource in found.resource_metrics for scope in resource.scope_metrics] if found else []
        assert {scope.scope.name for scope in scopes} <= {"streamiter"}
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def points(self, name: str) -> dict[frozenset, Any]:
        return {frozenset(point.attributes.items()): point.value for point in self.metrics[name].data.data_points}

    def value(self, name: str) -> Any:
        (value,) = self.points(name).values()
        return value


@pytest.fixture
def collected() -> Iterator[Collected]:
    found = Collected()
    yield found
    found.provider.shutdown()


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator("S1 ~ S2") as simulator:
        yield simulator


def read(sim: Simulator, metrics: OpenTelemetry, position: Any = "trim_horizon", **options: Any) -> Stream:
    source = DynamoDBStreams(options.pop("arn", sim.stream_arn), client=sim.client())
    return Stream(source, position, clock=sim.clock, on_event=metrics, **options)


def test_what_is_collected_is_what_the_stats_say(sim: Simulator, collected: Collected):
    metrics = OpenTelemetry(collected.provider)
    write(sim, "S1", "S2", rounds=5)
    sim.fault("GetRecords", "S1", kind="throttle", times=2)
    with read(sim, metrics) as stream:
        drain(stream, sim.clock)
        sim.put("S1", created=sim.clock.now() - 1000)  # as S1's last one in order time, which S2's last is behind
        drain(stream, sim.clock)
    stats = stream.stats
    assert (stats.records, stats.late, stats.throttles) == (11, 1, 2)
    for instrument in INSTRUMENTS:
        assert collected.value(instrument.name) == instrument.read(stats), instrument.name
    calls = {
        dict(attributes)["streamiter.call"]: count for attributes, count in collected.points("streamiter.calls").items()
    }
    assert calls == stats.calls
    assert collected.value("streamiter.progress.time") == pytest.approx(sim.clock.now(), abs=5)


def test_each_point_names_its_stream_and_what_the_caller_adds(sim: Simulator, collected: Collected):
    write(sim, "S1")
    with read(sim, OpenTelemetry(collected.provider, attributes={"team": "blue"})) as stream:
        take(stream, sim.clock, 3)
    for metric in collected.metrics.values():
        for point in metric.data.data_points:
            assert point.attributes["streamiter.stream"] == sim.stream_arn
            assert point.attributes["team"] == "blue"
            assert set(point.attributes) <= {"streamiter.stream", "streamiter.call", "team"}


def test_no_shard_becomes_a_time_series(sim: Simulator, collected: Collected):
    with read(sim, OpenTelemetry(collected.provider)) as stream:
        children = ["S1"]
        for _ in range(6):
            children = list(sim.split(children[0]))
            write(sim, *children, rounds=1)
            drain(stream, sim.clock)
    assert all(len(metric.data.data_points) <= 3 for metric in collected.metrics.values())


def test_one_serves_a_stream_that_is_opened_again_and_another_beside_it(sim: Simulator, collected: Collected):
    metrics = OpenTelemetry(collected.provider)
    other = sim.create_table("orders", "T1")
    for _ in range(4):
        sim.put("S1")
        other.put("T1")
    with read(sim, metrics) as stream:
        take(stream, sim.clock, 1)
    with read(sim, metrics, stream.token) as stream, read(sim, metrics, arn=other.stream_arn) as beside:
        for _ in range(3):
            take(beside, sim.clock, 1)
            take(stream, sim.clock, 1)
            sim.clock.advance(6)
    counted = collected.points("streamiter.records")
    assert counted == {
        frozenset({("streamiter.stream", sim.stream_arn)}): 4,
        frozenset({("streamiter.stream", other.stream_arn)}): 3,
    }


def test_gaps_are_counted_as_they_are_met(sim: Simulator, collected: Collected):
    write(sim, "S1", rounds=5)
    metrics = OpenTelemetry(collected.provider)
    with read(sim, metrics) as stream:
        take(stream, sim.clock, 2)
    sim.trim("S1", before=4)
    with read(sim, metrics, stream.token) as stream:
        until_raises(RecordsExpired, stream, sim.clock)
        assert collected.value("streamiter.gaps.found") == 1
        stream.skip()
        drain(stream, sim.clock)
    assert collected.value("streamiter.gaps") == 1
    assert collected.value("streamiter.gaps.found") == 1


def test_the_reader_never_touches_the_stream(sim: Simulator, collected: Collected, monkeypatch):
    """A reader collects all the time on a thread of its own; whatever of the stream is looked at is so on ours."""
    threads = set()
    original = Tally.stats
    monkeypatch.setattr(
        Tally, "stats", lambda tally, *seen: (threads.add(threading.get_ident()), original(tally, *seen))[1]
    )
    done = threading.Event()
    failures: list[BaseException] = []

    def collect() -> None:
        try:
            while not done.is_set():
                collected.reader.get_metrics_data()
        except BaseException as error:
            failures.append(error)

    collector = threading.Thread(target=collect)
    collector.start()
    metrics = OpenTelemetry(collected.provider)
    with read(sim, metrics) as stream:
        for _ in range(15):
            write(sim, "S1", "S2", rounds=2)
            drain(stream, sim.clock, quiet=6)
    done.set()
    collector.join()
    assert not failures
    assert threads == {threading.get_ident()}
    assert collected.value("streamiter.records") == 60


def test_every_number_of_the_stats_has_an_instrument():
    told = {instrument.field for instrument in INSTRUMENTS} | {"calls"}
    assert told == {field.name for field in dataclasses.fields(Stats)}


def test_names_and_units_are_as_opentelemetry_wants_them():
    for instrument in INSTRUMENTS:
        assert re.fullmatch(r"streamiter(\.[a-z]+)+", instrument.name)
        assert re.fullmatch(r"\{[a-z]+\}|s|By|1", instrument.unit)
        assert instrument.description


def test_without_the_extra_it_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("otel"))):
        OpenTelemetry()


def test_without_an_sdk_it_costs_nothing_and_breaks_nothing(sim: Simulator):
    write(sim, "S1")
    with read(sim, OpenTelemetry()) as stream:
        assert len(take(stream, sim.clock, 3)) == 3
