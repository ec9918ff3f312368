"""Kafka's messages: entries as the client has them, on their way out and back in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamiter.log.record import LogRecord


class Deliveries:
    """What became of entries that were sent."""

    def __init__(self, count: int) -> None:
        self.numbers = [0] * count
        self.missing = count
        self.error: Any = None

    def reporter(self, at: int) -> Any:
        """What is called with the fate of the entry at this place."""

        def report(error: Any, message: Any) -> None:
            self.missing -= 1
            if error is not None:
                self.error = self.error or error
            else:
                self.numbers[at] = message.offset() + 1

        return report


def records_of(shard_id: str, messages: Sequence[Any]) -> list[LogRecord]:
    """The entries of these messages, all of one partition."""
    found = []
    for message in messages:
        kind, milliseconds = message.timestamp()
        headers = message.headers()
        found.append(  # by place: names would cost as much as all else of it
            LogRecord(
                *(shard_id, str(message.offset() + 1), milliseconds * 1000 if kind else None, None, 0, None, 0, False),
                *(message.value(), None, False, message.key()),
                tuple((name, value or b"") for name, value in headers) if headers else (),
            )
        )
    return found
