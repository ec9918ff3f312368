"""Marks: a moment, to find out when all was returned that the service held then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Mark:
    """Set by `Reading.mark`; `Reading.is_past` looks at it."""

    serial: int  # how many calls had been made
    ticket: int  # the newest listing that had begun
    service_us: int | None = None  # a moment after it, by the service's clock
    goals: dict[str, int] | None = None  # how many records each lane is to have given, once that is known
