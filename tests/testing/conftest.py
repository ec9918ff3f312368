"""A simulator for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streamiter.testing import Simulator
from tests.testing.tables import Orders


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def orders(sim: Simulator) -> Orders:
    """A table that a client made."""
    return Orders(sim)
