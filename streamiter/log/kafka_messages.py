"""Kafka's messages: entries as the client has them, on their way out and back in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from streamiter.log.kafka_errors import confluent
from streamiter.log.record import LogRecord

_Headers = list[tuple[str, bytes | None]]


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


class Run(NamedTuple):
    """Messages of one partition that came one behind the other: entries, or one word of the client's own."""

    partition: int
    offsets: Sequence[int]
    records: list[LogRecord]
    word: Any = None  # an error of the client's, or that the partition's end is reached; then there are no records


def runs_of(messages: list[Any]) -> list[Run]:
    """What a look at the consumer brought. It takes the messages out of the list.

    They are gone before there are records of them: Python's garbage collector looks at each message again and again, and
    passes over records.
    """
    told = list(_runs(messages)) if messages else []
    messages.clear()
    return [Run(run.partition, run.offsets, run.records(), run.word) for run in told]


class _Told(NamedTuple):
    """What the messages of a run tell, without them."""

    partition: int
    offsets: Sequence[int]
    created: Sequence[int | None] = ()
    values: Sequence[bytes | None] = ()
    keys: Sequence[bytes | None] = ()
    headers: Sequence[_Headers | None] = ()
    word: Any = None

    def records(self) -> list[LogRecord]:
        """Each loop is one of C's: one of Python's over all of it takes half as long again."""
        if self.word is not None:
            return []
        none, zero, false = repeat(None), repeat(0), repeat(False)
        is_bare = self.headers.count(None) == len(self.headers)
        headers = repeat(()) if is_bare else map(_headers_of, self.headers)
        numbers = [f"{offset + 1}" for offset in self.offsets]
        stamps = none, zero, none, zero, false  # by place: names would cost as much as all else of it
        carried = self.values, none, false, self.keys, headers
        made: Any = LogRecord  # a type of its own for each payload would be more than a checker takes here
        return list(map(made, repeat(str(self.partition)), numbers, self.created, *stamps, *carried))


def _runs(messages: list[Any]) -> Iterator[_Told]:
    """Runs of messages of one partition; those that are words of the client's own are told apart: they have no time."""
    kind = confluent().Message
    partitions = list(map(kind.partition, messages))
    stamps = list(map(kind.timestamp, messages))
    kinds, times = zip(*stamps, strict=True)
    is_timed = confluent().TIMESTAMP_NOT_AVAILABLE not in kinds
    if is_timed and partitions.count(partitions[0]) == len(partitions):
        yield _told(partitions[0], messages, [ms * 1000 for ms in times])
        return
    are_words = repeat(False) if is_timed else [error is not None for error in map(kind.error, messages)]
    alike = groupby(zip(partitions, are_words, messages, stamps, strict=False), itemgetter(0, 1))
    for (partition, is_word), run in alike:
        if is_word:
            yield from (_Told(partition, [message.offset()], word=message.error()) for _, _, message, _ in run)
            continue
        _, _, of_it, times = zip(*run, strict=True)
        yield _told(partition, of_it, [ms * 1000 if is_known else None for is_known, ms in times])


def _told(partition: int, messages: Sequence[Any], created: Sequence[int | None]) -> _Told:
    kind = confluent().Message
    carried = [list(map(part, messages)) for part in (kind.value, kind.key, kind.headers)]
    return _Told(partition, list(map(kind.offset, messages)), created, *carried)


def _headers_of(headers: _Headers | None) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, value or b"") for name, value in headers) if headers else ()
