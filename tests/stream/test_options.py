"""The constructor's options: what they take, and what is said where they do not."""

from __future__ import annotations

import math

import pytest

from streamiter import InvalidOption, Stream, StreamiterError
from streamiter.testing import ManualClock, Simulator
from tests.stream.conftest import Open

SECONDS = ["1", -1, -0.1, math.nan, math.inf, True, b"1", [1]]


@pytest.mark.parametrize("value", SECONDS, ids=repr)
def test_lateness(open_stream: Open, value):
    with pytest.raises(InvalidOption, match="lateness= takes seconds from 0 up, or None, not"):
        open_stream(lateness=value)


@pytest.mark.parametrize("value", [*SECONDS, None], ids=repr)
@pytest.mark.parametrize("name", ["poll_interval", "patience"])
def test_other_seconds(open_stream: Open, name, value):
    with pytest.raises(InvalidOption, match=f"{name}= takes seconds from 0 up, not"):
        open_stream(**{name: value})


@pytest.mark.parametrize("value", [0, -1, 1.0, "16", True, None, math.inf], ids=repr)
@pytest.mark.parametrize("name", ["concurrency", "prefetch_bytes"])
def test_counts(open_stream: Open, name, value):
    with pytest.raises(InvalidOption, match=f"{name}= takes a whole number from 1 up, not"):
        open_stream(**{name: value})


@pytest.mark.parametrize("value", ["ignore", "", None, True, 1, "RAISE"], ids=repr)
def test_on_gap(open_stream: Open, value):
    with pytest.raises(InvalidOption, match="on_gap= takes 'raise' or 'skip', not"):
        open_stream(on_gap=value)


def test_clock(open_stream: Open):
    class Half:
        def now(self) -> float:
            return 0.0

    with pytest.raises(
        InvalidOption, match=r"clock= takes an object with now\(\), monotonic\(\) and sleep\(\).*no monotonic"
    ):
        open_stream(clock=Half())


@pytest.mark.parametrize(
    "source", [1, None, b"dynamodb://users", ["users"], object()], ids=lambda value: type(value).__name__
)
def test_source(source):
    with pytest.raises(
        InvalidOption,
        match=r"a source is a URL \('dynamodb://TABLE', 'kinesis://STREAM'\), a table's name, an ARN, or a Source",
    ):
        Stream(source)


def test_unknown_options_are_python_errors(open_stream: Open):
    with pytest.raises(TypeError, match="latenes"):
        open_stream(latenes=1.0)


def test_options_are_named_not_counted(sim: Simulator):
    with pytest.raises(TypeError):
        Stream("users", "trim_horizon", 1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "options",
    [
        {"lateness": 0},
        {"lateness": 0.5},
        {"lateness": None},
        {"poll_interval": 0},
        {"patience": 0},
        {"concurrency": 1},
        {"prefetch_bytes": 1},
        {"on_gap": "skip"},
        {"clock": None},
        {"model": None},
    ],
    ids=repr,
)
def test_the_ends_of_the_ranges_work(sim: Simulator, open_stream: Open, options):
    from streamiter.testing.clock import RunningClock

    if "clock" in options:
        sim.clock.set(RunningClock().now())
    sim.shape("S1")
    record = sim.put("S1")
    stream = open_stream(**options)
    came = next(stream)
    for _ in range(1000):
        if came is not None:
            break
        came = next(stream)
    assert came is not None
    assert came.sequence_number == record.sequence_number


def test_a_wrong_option_is_told_before_anything_is_called(sim: Simulator, open_stream: Open):
    with pytest.raises(StreamiterError):
        open_stream(patience=-1)
    assert len(sim.calls) == 0


def test_the_constructor_itself_calls_nothing_for_a_stream_arn(sim: Simulator, open_stream: Open):
    open_stream()
    assert len(sim.calls) == 0


def test_a_repr_names_the_stream_and_whether_it_is_closed(sim: Simulator, open_stream: Open):
    stream = open_stream(clock=ManualClock())
    assert repr(stream) == f"<Stream {sim.stream_arn}>"
    stream.close()
    assert repr(stream) == f"<Stream {sim.stream_arn}, closed>"
