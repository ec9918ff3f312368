"""The pulse of a lease: how much, how fast, how far behind; and that its row tells it without writes of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from streamiter.app.pulse import Pulse
from streamiter.lease import Lease

SECOND = 1_000_000
NOW = 1_750_000_000 * SECOND


def record(seconds_ago: float) -> Any:
    return SimpleNamespace(created_us=NOW - int(seconds_ago * SECOND))


def test_what_earlier_owners_did_counts():
    pulse = Pulse(Lease("S1", progress={"acked": 40}), 0)
    assert pulse.take(SECOND, NOW, 2, None)["acked"] == 42


def test_the_rate_is_the_mean_at_first_and_follows_what_was_lately_then():
    pulse = Pulse(Lease("S1"), 0)
    for second in range(1, 6):
        told = pulse.take(second * SECOND, NOW, 10 * second, None)
    assert told["rate"] == 600, "ten a second, told by the minute"
    for second in range(6, 100):
        told = pulse.take(second * SECOND, NOW, 50, None)
    assert told["rate"] == 0


def test_two_looks_at_one_moment_divide_by_nothing():
    pulse = Pulse(Lease("S1"), 0)
    assert pulse.take(0, NOW, 5, None)["rate"] is None
    assert pulse.take(SECOND, NOW, 5, None)["rate"] == 300


def test_the_lag_is_the_age_of_the_first_record_that_is_not_processed():
    pulse = Pulse(Lease("S1"), 0)
    pulse.newest_us, pulse.is_at_tip = record(1).created_us, True
    assert pulse.take(1, NOW, 0, record(7.6))["lag"] == 8
    assert pulse.take(2, NOW, 1, None)["lag"] == 0, "all is processed, and there was no more"
    pulse.is_at_tip = False
    assert pulse.take(3, NOW, 1, None)["lag"] == 1, "there is more, younger than what was read"
    assert pulse.take(4, NOW, 1, record(-3))["lag"] == 0, "the service's clock may be ahead"


def test_nobody_knows_the_lag_before_anything_was_read_or_where_a_record_has_no_time():
    pulse = Pulse(Lease("S1"), 0)
    assert pulse.take(1, NOW, 0, None)["lag"] is None
    assert pulse.take(2, NOW, 0, SimpleNamespace(created_us=None))["lag"] is None


@pytest.mark.parametrize("seconds,told", [(4, None), (5, 5), (90, 90)])
def test_a_processor_that_is_long_at_the_same_records_is_told(seconds: int, told: int | None):
    pulse = Pulse(Lease("S1"), 0)
    pulse.busy_since_us = 10 * SECOND
    assert pulse.take((10 + seconds) * SECOND, NOW, 0, record(1))["busy"] == told
