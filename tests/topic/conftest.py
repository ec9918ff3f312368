"""What tests of topics write to."""

from __future__ import annotations

import pytest

from streamiter.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
