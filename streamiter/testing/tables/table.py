"""A table as calls change it: its schema, its items, its settings, and what was set beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streamiter.testing.tables.beside.recovery import Recovery
from streamiter.testing.tables.beside.ttl import TimeToLive
from streamiter.testing.tables.items import Items
from streamiter.testing.tables.schema import Schema
from streamiter.testing.truth.simulated_table import SimulatedTable


class Switched(NamedTuple):
    """How Contributor Insights were switched last."""

    is_on: bool
    mode: str
    since_us: int


@dataclass
class StoredTable:
    """One table; `truth` is what streams know of it."""

    truth: SimulatedTable
    schema: Schema
    settings: dict[str, Any] = field(default_factory=dict)  # members of a description, as they are set
    tags: dict[str, str] = field(default_factory=dict)
    ends: TimeToLive = field(default_factory=TimeToLive)
    recovery: Recovery = field(default_factory=Recovery)
    policies: dict[str, tuple[str, str]] = field(
        default_factory=dict
    )  # with their revisions, by ARN: its own, or a stream's
    insights: dict[str, Switched] = field(default_factory=dict)  # by the index's name; "": the table's own
    replicas: dict[str, dict[str, Any]] = field(default_factory=dict)  # by region, besides its own
    group: dict[str, int] | None = None  # the regions of an older global table, and since when they are in it
    scaling: dict[tuple[str, str, str], dict[str, Any]] = field(
        default_factory=dict
    )  # by region, index and kind of unit
    items: Items = field(init=False)

    def __post_init__(self) -> None:
        self.items = Items(self.schema)

    @property
    def name(self) -> str:
        return self.truth.name
