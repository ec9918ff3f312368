"""Parts: what records of each kind have in common: an event, what names the row, a payload; pure."""

from __future__ import annotations

from typing import Any

from streamiter.log.record import LogRecord
from streamiter.payload import PayloadRecord
from streamiter.record import ChangeRecord, Record


def key_of(record: Record) -> dict[str, Any]:
    """What names the row: its keys, or, in a stream without rows, the partition key; in a log, what it was sent under."""
    if isinstance(record, ChangeRecord):
        return dict(record.key or {})
    if isinstance(record, LogRecord):
        return {} if record.key is None else {"key": _text(record.key)}
    key = getattr(record, "partition_key", None)
    return {} if key is None else {"partition_key": key}


def payload_of(record: Record) -> Any:
    """What a record without images carries, as it came, whatever a model made of it; None where it is one of a table."""
    if isinstance(record, PayloadRecord):
        return record.raw_payload
    return None if isinstance(record, ChangeRecord) else getattr(record, "payload", None)


def event_of(record: Record) -> str:
    """INSERT, MODIFY or REMOVE; empty where the stream does not tell of rows."""
    return getattr(record, "event_name", None) or ""


def _text(key: bytes) -> str | bytes:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key
