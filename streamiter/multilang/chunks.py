"""Chunks: the records that wait for one child, cut into messages, of which the next is made while the child works."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from streamiter.errors import PoisonRecord, UnreadableRecord
from streamiter.multilang.marks import Mark
from streamiter.multilang.records import wire_record
from streamiter.multilang.wire import ProcessRecords, WireRecord, to_child

if TYPE_CHECKING:
    from streamiter.lease.wishes import Entry

CHUNK_BYTES: Final = 4 << 20  # how many bytes of payloads go into a message; a larger record gets a message of its own


class Chunk(NamedTuple):
    """Records that go in one message."""

    entries: list[Entry]
    action: ProcessRecords
    line: bytes


class Undeliverable(Exception):
    """The next record cannot be decoded, so no child can get it."""

    def __init__(self, entry: Entry, why: str) -> None:
        super().__init__(why)
        self.number = Mark(*entry.record.numbered).checkpoint if entry.record.sequence_number else ""
        self.why = why

    @property
    def place(self) -> str:
        """Where it is, as events tell it."""
        return f"record {self.number or '(without a number)'}"


class Chunks:
    """A queue of records. `behind_ms` says how far a message's last record is behind the newest one of the shard."""

    def __init__(self, most: int, behind_ms: Callable[[Entry], int], shard: str | None) -> None:
        self._most = most
        self._behind_ms = behind_ms
        self._shard = shard
        self._queue: deque[Entry] = deque()
        self._ahead: Chunk | None = None

    def __bool__(self) -> bool:
        return bool(self._ahead or self._queue)

    def add(self, entries: Sequence[Entry]) -> None:
        """Adds records at the end of the queue."""
        self._queue.extend(entries)

    def take(self) -> Chunk:
        """Takes the next message; raises Undeliverable if its first record cannot be decoded."""
        chunk, self._ahead = self._ahead or self._make(), None
        return chunk

    def make_ahead(self) -> None:
        """Makes the next message, if records wait for one."""
        if self._ahead is None and self._queue:
            with suppress(Undeliverable):  # `take` raises it when its turn comes
                self._ahead = self._make()

    def take_all(self) -> list[Entry]:
        """Takes all records that the child was not given yet."""
        entries = [*([] if self._ahead is None else self._ahead.entries), *self._queue]
        self._ahead = None
        self._queue.clear()
        return entries

    # -- inside

    def _make(self) -> Chunk:
        """A message of as many records as may go into one."""
        entries: list[Entry] = []
        records: list[WireRecord] = []
        size = 0
        while self._queue and len(records) < self._most:
            try:
                record = wire_record(self._queue[0].record)
            except (PoisonRecord, UnreadableRecord) as error:
                if records:
                    break  # those before it go first
                raise Undeliverable(self._queue[0], _why(error)) from error
            size += len(record.data)
            if records and size > CHUNK_BYTES:
                break
            entries.append(self._queue.popleft())
            records.append(record)
        action = ProcessRecords(records, self._behind_ms(entries[-1]))
        return Chunk(entries, action, to_child(action, shard=self._shard))


def _why(error: PoisonRecord | UnreadableRecord) -> str:
    """The error's text without its advice, which is for readers of a Stream."""
    return str(error).partition(";")[0]
