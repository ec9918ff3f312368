"""Log records: entries of a log, as they are read."""

from __future__ import annotations

from base64 import b64encode

import msgspec

from streamiter.payload import Payload, PayloadRecord

_encode = msgspec.json.Encoder().encode


class LogRecord(PayloadRecord[Payload]):
    """One entry of a log: `record.payload` under `record.key`. `created_at` is when the log took it, by its own clock.

    The payload of a tombstone is None: its key has no value any more.
    """

    key: bytes | None = None
    """What it was sent under: it chose the partition."""
    headers: tuple[tuple[str, bytes], ...] = ()
    """What its sender said besides, by name."""

    @property
    def is_tombstone(self) -> bool:
        """Whether this entry says that its key has no value any more."""
        return self.raw_payload is None

    @property
    def headers_text(self) -> bytes | None:
        """The headers as JSON, as tables have them: [{"name": "h", "value": "text"}], or "base64" of what is no text."""
        return _encode([_told(*header) for header in self.headers]) if self.headers else None

    def __repr__(self) -> str:
        # Neither payload nor key: a repr ends up in logs.
        return f"<LogRecord {self.sequence_number} of partition {self.shard_id}>"


def _told(name: str, value: bytes) -> dict[str, str]:
    try:
        return {"name": name, "value": value.decode()}
    except UnicodeDecodeError:
        return {"name": name, "base64": b64encode(value).decode()}
