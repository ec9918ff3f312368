"""Ranges: the least and the most of each numeric knob; beyond them the service would hang or answer nonsense."""

from __future__ import annotations

import math
from typing import NamedTuple

DECADE = 10 * 366 * 86400.0  # seconds; no clock is set further
HOUR = 3600.0


class Range(NamedTuple):
    """From the least to the most, both included. `is_off_at_0`: 0 means never, as None does."""

    least: float
    most: float
    is_off_at_0: bool = False

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int | float) and not math.isnan(number) and self.least <= number <= self.most

    def __str__(self) -> str:
        never = " (or 0: never)" if self.is_off_at_0 else ""
        return f"{self.least:.15g} to {self.most:.15g}{never}"


RANGES = {
    "retention": Range(1, DECADE),
    "iterator_lifetime": Range(0.001, DECADE),
    "page_size": Range(1, 10_000),
    "page_bytes": Range(1, 1 << 30),
    "shards_per_page": Range(1, 10_000),
    # With a roll every moment, shards would roll without end before the next call gets its answer.
    "roll_after": Range(1, DECADE, is_off_at_0=True),
    "split_rate": Range(0.001, 1e9, is_off_at_0=True),
    "ttl_delay": Range(0, DECADE),
    "enabling": Range(0, DECADE),
    "disabling": Range(0, DECADE),
    "shard_skews": Range(-DECADE, DECADE),
    "describe_rate": Range(0.001, 1e9),
    "records_rate": Range(0.001, 1e9),
    "bytes_rate": Range(1, 1e12),
    "put_rate": Range(0.001, 1e9),
    "put_bytes_rate": Range(1, 1e12),
    "shard_limit": Range(1, 1_000_000),
    "kinesis_iterator_lifetime": Range(0.001, DECADE),
    "skew": Range(-DECADE, DECADE),
    "latency": Range(0, HOUR),
}


def within(name: str, value: object) -> object:
    """The value of a knob, with None for a 0 that means never; ValueError, with the range, where it lies outside."""
    found = RANGES[name]
    if value is None:
        return value
    if found.is_off_at_0 and value == 0:
        return None
    for number in value.values() if isinstance(value, dict) else (value,):
        if number not in found:
            raise ValueError(f"the knob {name} goes from {found}; this is {number!r:.60}")
    return value
