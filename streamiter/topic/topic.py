"""The topic: the writable face of a log: values go in by their keys, and are read as the records of any source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, cast

from streamiter.clock import Clock, SystemClock
from streamiter.errors import InvalidOption, StreamiterError
from streamiter.log import Log, LogRecord
from streamiter.log.locate import open_log
from streamiter.position import Place, Position
from streamiter.record import Record
from streamiter.source.base import Page, ShardIterator, ShardPage, Source
from streamiter.source.sharing import SharedSource
from streamiter.stream.options import check_choice, check_clock, check_count
from streamiter.topic.codec import Codec
from streamiter.topic.crew import Inline
from streamiter.topic.feeding import Feeding
from streamiter.topic.keys import PartitionBy
from streamiter.topic.naming import name_of
from streamiter.topic.opening import Opening
from streamiter.topic.outgoing import Formed, Forming, Outgoing
from streamiter.topic.routing import Key
from streamiter.topic.sent import Sent, SentMany, Written
from streamiter.topic.writer import Limits

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")

_FACTS = tuple(Source.__annotations__)  # the facts that a source tells without a call


class Topic(Source[LogRecord[T]], Generic[T]):
    """A log of values: `send` writes one, `sendmany` writes many, and a Stream or a processor reads them.

    `log` is a log's URL (sqlite:///orders.db?topic=orders) or a Log. `record` is the class of its values: a dataclass, a
    msgspec.Struct, a TypedDict, a pydantic model, or bytes; without it values are whatever JSON can say. `partition_by` says
    what of a value is its key: an attribute's name, a tuple of names, or a function. Records of one key stay in order.
    `partitions` makes the log if there is none.

    A value counts as sent when the log has it durably: then `send` returns. Inside an event loop, `await` it; it is on its
    way from the call on.

    `patience`: for how many seconds a send waits while the log is full or throttles; None: as long as it takes.
    `on_doubt`: what becomes of a send whose answer is lost, so that it may have been written: "raise" raises TransientError,
    "repeat" writes it again, perhaps twice.
    """

    def __init__(
        self,
        log: str | Log,
        *,
        record: type[T] | None = None,
        partition_by: PartitionBy = None,
        partitions: int | None = None,
        grows: bool = False,
        codec: Codec | None = None,
        name: str | None = None,
        patience: float | None = None,
        on_doubt: Literal["raise", "repeat"] = "raise",
        in_flight: int = 10_000,
        clock: Clock | None = None,
    ) -> None:
        told = open_log(log)  # this makes no call yet
        for fact in _FACTS:
            setattr(self, fact, getattr(told, fact))
        self._told = told
        self.title = name_of(log, name)
        """The topic's short name, as an app and the command line know it."""
        self.record = record
        """The class of its values; None: whatever JSON can say."""
        self._forming = Forming(self.title, record, codec, partition_by)
        self.model = self._forming.decode
        if partitions is not None:
            check_count("partitions", partitions)
        self.declared_partitions = partitions
        check_choice("grows", grows, (True, False))
        check_clock(clock)
        self._opening = Opening(log, self.title, partitions=partitions, grows=grows)
        self._limits = Limits.checked(patience, on_doubt, in_flight)
        self._outgoing = Outgoing(self._opening, SystemClock() if clock is None else clock, self._limits)

    def __repr__(self) -> str:
        return f"<Topic {self.title}>"

    def __reduce__(self) -> NoReturn:
        raise StreamiterError(
            "a Topic cannot be pickled or copied: its threads and connections stay where they are. Make one there, of the "
            "same URL and options"
        )

    # -- writing

    def send(
        self, value: T | Mapping[str, Any], *, key: Key = None, headers: Mapping[str, bytes | str] | None = None
    ) -> Sent:
        """Writes a value, and says where. Inside an event loop, `await` it.

        `key` goes before what `partition_by` says; without any key, the value goes to the partition whose turn it is.
        ValueMisfit: the value does not fit `record`, and nothing was written. Throttled: `patience` ran out, and nothing was
        written. TransientError: it may have been written.
        """
        return self._sent(self._forming.formed(value, key, headers))

    def send_tombstone(self, key: Key, *, headers: Mapping[str, bytes | str] | None = None) -> Sent:
        """Writes that a key has no value any more: a record whose payload is None. Inside an event loop, `await` it.

        It goes where the key's values go. A compacted topic of Kafka then lets go of all that it held under the key.
        """
        return self._sent(self._forming.tombstone(key, headers))

    def sendmany(
        self,
        values: Iterable[T | Mapping[str, Any]] | AsyncIterable[T | Mapping[str, Any]],
        *,
        key: Callable[[Any], Key] | None = None,
    ) -> SentMany:
        """Writes many values, and says where, in their order. Inside an event loop, `await` it.

        Values of one key are written in the order in which they come; partitions are written side by side. A list or tuple
        is looked through before anything is written: ValueMisfit then means that nothing was. Anything else is taken as it
        comes, up to `in_flight` values ahead of what is written. SendFailed says what was written, and goes on from there.
        """
        entries = self._forming.all_formed(values, key)
        if asyncio._get_running_loop() is None:
            if isinstance(entries, AsyncIterable):
                raise InvalidOption(
                    "what is iterated with `async for` is sent inside an event loop: await topic.sendmany"
                )
            return SentMany(self._outgoing.send_all(self.title, entries))
        return SentMany(None, asyncio.ensure_future(self._outgoing.send_all_soon(self.title, entries)))

    def _sent(self, formed: Formed) -> Sent:
        if asyncio._get_running_loop() is None:
            return Sent(self._outgoing.send(formed))
        return Sent(None, self._outgoing.send_soon(formed))

    def send_json(self, text: bytes, *, key: Key = None) -> Written:
        """Writes a value given as JSON, and waits; codec.Misfit if it does not fit."""
        return self._outgoing.send(self._forming.read(text, key))

    def ends(self) -> dict[int, int]:
        """For each partition, the number after which all later records stand."""
        with self._opening.use() as log:
            found = {partition: log.ends(partition).last for partition in range(log.partitions())}
            return {partition: log.start(partition) if last is None else last for partition, last in found.items()}

    def feed(self, on_written: Callable[[int], object] | None = None) -> Feeding:
        """Takes values as texts, one after the other: for importing files."""
        return Feeding(self._forming, self._outgoing, on_written)

    def decoded(self, payload: bytes) -> T:
        """The value of a payload; errors of the decoder are not translated."""
        return cast("T", self._forming.decode(payload))

    # -- tests

    @contextmanager
    def stood_in(self, log: Log | None, clock: Clock) -> Iterator[None]:
        """Inside the block each call is made at once, without threads, and to this log, where there is one."""
        kept = self._opening, self._outgoing
        if log is not None:
            self._opening = Opening(log, self.title, partitions=None, grows=False)
        self._outgoing = Outgoing(self._opening, clock, self._limits, Inline())
        try:
            yield
        finally:
            self._opening, self._outgoing = kept

    # -- reading: what a source does

    @property
    def name(self) -> str:
        """The log's own name, as it stands in tokens."""
        with self._opening.use() as log:
            return log.name

    @property
    def retention_us(self) -> int:
        """How long the log holds records."""
        with self._opening.use() as log:
            return log.retention_us

    @property
    def connections(self) -> int:
        """The most calls at once that the log is made for."""
        return self._told.connections

    def list_shards(self, after: str | None) -> ShardPage:
        """The partitions."""
        with self._opening.use() as log:
            return log.list_shards(after)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """A place in a partition."""
        with self._opening.use() as log:
            return log.open_iterator(shard_id, position)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[LogRecord[T]]:
        """The records that follow a place."""
        with self._opening.use() as log:
            return cast("Page[LogRecord[T]]", log.fetch(iterator, limit))

    def place_behind(self, iterator: ShardIterator) -> Place | None:
        """The place that an iterator stands behind."""
        with self._opening.use() as log:
            return log.place_behind(iterator)

    def watch(self, iterators: Sequence[ShardIterator], seconds: float) -> Collection[str]:
        """Waits for new records, if the log can."""
        with self._opening.use() as log:
            return log.watch(iterators, seconds)

    def publish(self, group: str, numbers: Mapping[str, int]) -> None:
        """Shows how far readers came, if the log can."""
        with self._opening.use() as log:
            log.publish(group, numbers)

    def shared(self, group: str, consumer: str) -> SharedSource[LogRecord[T]]:
        """The log as one consumer of a group of its own sees it."""
        with self._opening.use() as log:
            return cast("SharedSource[LogRecord[T]]", log.shared(group, consumer))

    def identify(self, record: Record) -> object | None:
        """What a record and its duplicates have in common, as the log tells."""
        return self._told.identify(record)

    def close(self) -> None:
        """Lets go of files and connections, once the calls under way are done. The topic's next use opens them again."""
        self._opening.close()
