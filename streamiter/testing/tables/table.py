"""A table as calls change it: its schema, its items, its settings, and what was set beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streamiter.testing.tables.items import Items
from streamiter.testing.tables.schema import Schema
from streamiter.testing.tables.ttl import TimeToLive
from streamiter.testing.truth.simulated_table import SimulatedTable


@dataclass
class Backups:
    """Point-in-time recovery, as it is set: the simulator keeps no backups to go back to."""

    is_on: bool = False
    days: int = 35
    since_us: int = 0


@dataclass
class StoredTable:
    """One table; `truth` is what streams know of it."""

    truth: SimulatedTable
    schema: Schema
    settings: dict[str, Any] = field(default_factory=dict)  # members of a description, as they are set
    tags: dict[str, str] = field(default_factory=dict)
    ends: TimeToLive = field(default_factory=TimeToLive)
    backups: Backups = field(default_factory=Backups)
    items: Items = field(init=False)

    def __post_init__(self) -> None:
        self.items = Items(self.schema)

    @property
    def name(self) -> str:
        return self.truth.name
