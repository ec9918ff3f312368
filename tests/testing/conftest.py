"""A simulator for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streamiter.testing import Simulator


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator
