"""A simulator, a client of its Kinesis, and a stream `orders` of two shards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from streamiter.testing import KinesisHandle, Simulator


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None) as simulator:
        yield simulator


@pytest.fixture
def client(sim: Simulator) -> Any:
    return sim.client("kinesis")


@pytest.fixture
def orders(sim: Simulator) -> KinesisHandle:
    return sim.create_stream("orders", "S0 ~ S1")
