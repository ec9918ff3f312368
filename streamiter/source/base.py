"""The contract of a source: the one thing that a new backend writes.

A source makes calls and nothing else: no order, no retries, no waiting. Its methods are called from several threads at
once. What the service answers in its own words it raises in ours:

    IteratorExpired    the iterator is too old
    PositionTrimmed    the place in the shard is no longer held
    ShardGone          the shard is not known any more
    Throttled          asked too often
    TransientError     a fault that may pass: 5xx, time-outs, cut connections
    TimeUnsupported    shards cannot be opened at a time (it is asked for the horizon instead)
    AccessDenied, CredentialsMissing, InvalidStream    final; the message says what to do

A source may say three things more: `record_type`, the class of its records, whose `columns` tables have; with
`drops_duplicates`, how to `identify(record)`: what a record and its duplicates have in common; and `connections`, the most
calls at once that it is made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from streamiter.position import Position
from streamiter.record import Record
from streamiter.shard import Shard


class ShardIterator(NamedTuple):
    """The service's own handle on a place in a shard; it dies some minutes after it was handed out."""

    shard_id: str
    value: Any


class Page(NamedTuple):
    """One answer about a shard's records."""

    records: Sequence[Record]  # in the service's order
    next: ShardIterator | None  # None: the shard ends here
    service_us: int | None  # the answer's own time; None where the service does not tell
    caught_up: bool | None = None  # whether this is the tip; None where the service does not tell
    size_bytes: int = 0  # about what the records take in memory: it counts against `prefetch_bytes`
    children: tuple[Shard, ...] = ()  # at the shard's end: what follows it, where the service tells; then all of it
    rest_us: int = 0  # how long this shard is to be left alone now, by the service's rates


class ShardPage(NamedTuple):
    """One answer about the stream's shards."""

    shards: tuple[Shard, ...]
    next: str | None  # where the listing goes on; None: it is complete
    service_us: int | None
    is_final: bool = False  # the stream is disabled: there will be no more records than those of its shards


class Source(Protocol):
    """Where records come from."""

    iterator_us: int  # how long an iterator lives after it was handed out
    page_limit: int  # the most records that a page can have
    listings_per_second: float  # how often a page of shards may be asked for

    @property
    def name(self) -> str:
        """The stream's own name, for tokens. The first use may call out; InvalidStream where there is no such stream."""

    @property
    def retention_us(self) -> int:
        """How long the service holds records; it may change, and is looked at after each listing."""

    def list_shards(self, after: str | None) -> ShardPage:
        """A page of the stream's shards, beyond a page's `next`."""

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """A handle on a place in a shard. After(place) gives what follows the first record with the place's number."""

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        """The next page of a shard, of at most `limit` records; one that the service holds as one may be several here."""

    def close(self) -> None:
        """Lets go of what the source itself opened."""
