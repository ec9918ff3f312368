"""Values: what a record carries, for functions that need only that."""

from __future__ import annotations

from typing import Any

from streamiter.payload import PayloadRecord
from streamiter.record import ChangeRecord, Record


def value_of(record: Record) -> Any:
    """The model's value of a record: for a change, of its new image, or of its old one if it has no new one."""
    if isinstance(record, ChangeRecord):
        return record.old if record.new is None else record.new
    if isinstance(record, PayloadRecord):
        return record.payload
    return getattr(record, "value", record)
