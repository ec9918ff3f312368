"""Fixtures of the Kinesis tests: a simulator without a table, a stream of two shards, and readers of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from botocore.config import Config

from streamiter import KinesisStreams, Stream
from streamiter.testing import KinesisHandle, Simulator
from tests.indoors import IndoorSimulator

Open = Callable[..., Stream]


@pytest.fixture
def sim(is_indoors: bool) -> Iterator[Simulator]:
    with IndoorSimulator(table=None) if is_indoors else Simulator(table=None) as simulator:
        yield simulator


@pytest.fixture
def orders(sim: Simulator) -> KinesisHandle:
    return sim.create_stream("orders", "S0 ~ S1")


@pytest.fixture
def open_stream(sim: Simulator, orders: KinesisHandle) -> Iterator[Open]:
    """`open_stream(position, **options)`; options of the source go by `source=`."""
    with ExitStack() as closing:

        def opened(position: Any = "trim_horizon", *, source: dict[str, Any] | None = None, **options: Any) -> Stream:
            client = sim.client("kinesis", config=Config(max_pool_connections=32))
            stream = KinesisStreams("orders", client=client, **(source or {}))
            return closing.enter_context(Stream(stream, position, **{"clock": sim.clock, **options}))

        yield opened
