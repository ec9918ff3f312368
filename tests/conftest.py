"""What every test shares: how hard hypothesis looks, and which tests wait to be asked for."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is not a failure. `deep` is for a night's search; `ci` tries the same examples every time.
settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=100,
    print_blob=True,
    derandomize=False,
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile("deep", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("STREAMITER_HYPOTHESIS", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real", action="store_true", help="also run the tests that need Amazon's DynamoDB Local")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--real"):
        return
    # Deselected, not skipped: a skip reads like something to repair.
    waiting = [item for item in items if item.get_closest_marker("real")]
    if waiting:
        items[:] = [item for item in items if not item.get_closest_marker("real")]
        config.hook.pytest_deselected(items=waiting)
