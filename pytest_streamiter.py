"""The pytest plugin: the fixture `simulator`, a simulated service of its own for each test that asks for one.

A module beside the package, because pytest loads it in every run of everybody who has streamiter installed: it costs
them nothing, and streamiter itself is not loaded before their coverage begins to look.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from streamiter.testing import Simulator


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "simulator(lineage, **options): how the fixture `simulator` begins; what streamiter.testing.Simulator takes",
    )


@pytest.fixture
def simulator(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    """A DynamoDB Streams service on loopback, whose time, shards and bad days the test holds in its hand."""
    from streamiter.testing import Simulator

    marker = request.node.get_closest_marker("simulator")
    with Simulator(*(marker.args if marker else ()), **(marker.kwargs if marker else {})) as sim:
        yield sim
