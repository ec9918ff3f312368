"""What the rules of logs share: entries to write, whole partitions, and what a check expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamiter.errors import PositionTrimmed, ShardGone
from streamiter.log import Entry, Log, LogRecord
from streamiter.testing.contract.probe import equal as equal
from streamiter.testing.contract.probe import expect as expect

MANY = 10_000  # pages of one partition: no rule writes so much that it takes them


def entries(payloads: str | Sequence[str]) -> list[Entry]:
    """An entry for each."""
    return [Entry(payload.encode()) for payload in payloads]


def all_of(log: Log, partition: int, after: int | None = None, limit: int = 1000) -> list[LogRecord]:
    """All entries of a partition that are held, or all that follow a number."""
    found: list[LogRecord] = []
    behind = log.start(partition) if after is None else after
    for _ in range(MANY):
        records, is_tip, _ = log.read(partition, behind, limit)
        expect(len(records) <= limit, f"{len(records)} entries came where {limit} were asked for")
        expect(bool(records) or is_tip, "a look that brings nothing is at the tip")
        found += records
        behind = records[-1].number if records else behind
        if is_tip:
            return found
    raise AssertionError(f"partition {partition} does not end")


def texts(records: Sequence[LogRecord]) -> list[str]:
    """Their payloads."""
    return [record.payload.decode() for record in records]


def trimmed(call: Callable[[], object], what: str) -> PositionTrimmed:
    """The PositionTrimmed that a call must raise."""
    try:
        call()
    except PositionTrimmed as error:
        return error
    raise AssertionError(f"{what}: there was no PositionTrimmed")


def gone(call: Callable[[], object], what: str) -> None:
    """A call must raise ShardGone."""
    try:
        call()
    except ShardGone:
        return
    raise AssertionError(f"{what}: there was no ShardGone")
