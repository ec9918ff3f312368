"""Capacity: the units that a call consumed, counted as the Developer Guide says; none are ever too many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamiter.testing.expressions.values import Item
from streamiter.testing.tables.schema import Index, Schema
from streamiter.testing.truth.images import size_of

_READ_BYTES = 4096
_WRITE_BYTES = 1024


def read_units(size: int, *, is_consistent: bool) -> float:
    """What it takes to read so many bytes; nothing at all is looked for, too."""
    return max(1, math.ceil(size / _READ_BYTES)) * (1.0 if is_consistent else 0.5)


def write_units(size: int) -> float:
    """What it takes to write an item of so many bytes."""
    return float(max(1, math.ceil(size / _WRITE_BYTES)))


@dataclass
class Consumed:
    """What a call consumed of one table."""

    table: str
    of_table: float = 0.0
    of_local: dict[str, float] = field(default_factory=dict)
    of_global: dict[str, float] = field(default_factory=dict)

    def add_index(self, index: Index, units: float) -> None:
        """So much of an index."""
        of = self.of_global if index.is_global else self.of_local
        of[index.name] = of.get(index.name, 0.0) + units

    def add_write(self, schema: Schema, old: Item | None, new: Item | None, times: float = 1.0) -> None:
        """An item was written, in its table and in its indexes."""
        self.of_table += times * write_units(max(size_of(old or {}), size_of(new or {})))
        for index in schema.indexes.values():
            before, after = (
                index.projected(item, schema.keys) if item and index.has(item) else None for item in (old, new)
            )
            if before != after:
                is_moved = before and after and any(before[name] != after[name] for name in index.keys)
                entries = [entry for entry in (before, after) if entry]
                sizes = [size_of(entry) for entry in entries]
                self.add_index(index, times * (sum(map(write_units, sizes)) if is_moved else write_units(max(sizes))))

    def told(self, how: str, kind: str | None = None) -> dict[str, Any]:
        """ConsumedCapacity; in transactions with the kind of its units, Read or Write."""
        total = self.of_table + sum(self.of_local.values()) + sum(self.of_global.values())
        answer = {"TableName": self.table, **_units(total, kind)}
        if how == "INDEXES":
            answer["Table"] = _units(self.of_table, kind)
            for name, units in (("LocalSecondaryIndexes", self.of_local), ("GlobalSecondaryIndexes", self.of_global)):
                if units:
                    answer[name] = {index: _units(one, kind) for index, one in units.items()}
        return answer


def _units(units: float, kind: str | None) -> dict[str, float]:
    return {"CapacityUnits": units} | ({f"{kind}CapacityUnits": units} if kind else {})


def asked(body: Mapping[str, Any]) -> str | None:
    """How ConsumedCapacity is asked for; None: it is not."""
    how = body.get("ReturnConsumedCapacity", "NONE")
    return None if how == "NONE" else how
