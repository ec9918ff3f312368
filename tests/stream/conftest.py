"""Fixtures of the Stream tests: a simulator, and streams on it that are closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator, Table

Open = Callable[..., Stream]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def open_stream(sim: Simulator) -> Iterator[Open]:
    """`open_stream(position, **options)`: a stream of the simulator's table (or of `table=`), on its clock."""
    with ExitStack() as closing:

        def opened(position: Any = "trim_horizon", *, table: Table = sim, arn: str | None = None, **options: Any) -> Stream:
            options.setdefault("clock", sim.clock)
            source = DynamoDBStreams(arn or table.stream_arn, client=sim.client())
            return closing.enter_context(Stream(source, position, **options))

        yield opened
