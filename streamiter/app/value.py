"""Values: what a record carries, for functions that want no more of it."""

from __future__ import annotations

from typing import Any

from streamiter.payload import PayloadRecord
from streamiter.record import ChangeRecord, Record


def value_of(record: Record) -> Any:
    """What the model made of a record: of a change its new image, or, where that is gone, its old one."""
    if isinstance(record, ChangeRecord):
        return record.old if record.new is None else record.new
    if isinstance(record, PayloadRecord):
        return record.payload
    return getattr(record, "value", record)
