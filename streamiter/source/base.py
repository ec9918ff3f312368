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

All else has a default: a source says only where its service is different.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple

from streamiter.clock import SECOND_US, microseconds
from streamiter.errors import InvalidOption
from streamiter.position import Place, Position
from streamiter.precision import Precision
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.token import DAY_US

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from streamiter.source.sharing import SharedSource

    R_co = TypeVar("R_co", bound=Record, covariant=True, default=Record)
else:
    from typing import TypeVar

    R_co = TypeVar("R_co", covariant=True)


class ShardIterator(NamedTuple):
    """The service's own handle on a place in a shard; it dies some minutes after it was handed out."""

    shard_id: str
    value: Any


class Page(NamedTuple, Generic[R_co]):
    """One answer about a shard's records."""

    records: Sequence[R_co]  # in the service's order
    next: ShardIterator | None  # None: the shard ends here
    service_us: int | None  # the answer's own time; None where the service does not tell
    caught_up: bool | None = (
        None  # whether this is the tip, nothing follows its records; None where the service does not tell
    )
    size_bytes: int = 0  # about what the records take in memory: it counts against `prefetch_bytes`
    children: tuple[Shard, ...] = ()  # at the shard's end: what follows it, where the service tells; then all of it
    rest_us: int = 0  # how long this shard is to be left alone now, by the service's rates


class ShardPage(NamedTuple):
    """One answer about the stream's shards."""

    shards: tuple[Shard, ...]
    next: str | None  # where the listing goes on; None: it is complete
    service_us: int | None
    is_final: bool = False  # the stream is disabled: there will be no more records than those of its shards


# By name, what sources differ in besides what they do: a source that wraps another one takes these from it.
TRAITS = (
    *("iterator_us", "page_limit", "listings_per_second", "listing_interval", "record_type", "lateness", "grain_us"),
    *("counts_anew", "is_counted", "poll_interval", "idle_interval", "drops_duplicates"),
)


class Source(ABC, Generic[R_co]):
    """Where records come from. What a service does as most do needs no word here."""

    iterator_us: int = 900_000_000  # how long an iterator lives after it was handed out
    page_limit: int = 1000  # the most records that a page can have
    listings_per_second: float = 10.0  # how often a page of shards may be asked for
    listing_interval: float = 60.0  # ... and how often the shards are listed at least, in seconds
    record_type: type[Record] = Record  # the class of its records, whose `columns` tables have
    watches: bool = False  # whether `watch` waits for what is new
    publishes: bool = False  # whether `publish` shows how far readers came
    lateness: float = 1.0  # for how many seconds after its creation a record may not be readable yet
    grain_us: int = SECOND_US  # its creation times and service times are floored to so much
    # PositionTrimmed comes where a record is gone that was not read, and at no other time; `place_behind` tells places.
    is_counted: bool = False
    # A stream that is deleted and made again counts its records from the start anew; `name` tells the two apart.
    counts_anew: bool = False
    poll_interval: float = 0.25  # how soon a shard at its tip is looked at again, in seconds, ...
    idle_interval: float = 1.0  # ... and how often at least, once it has been idle for a while
    drops_duplicates: bool = False  # whether a record is dropped that was returned before, by what `identify` gives
    model: Callable[[bytes], Any] | None = None  # makes values of payloads where the reader is given no `model=`

    @property
    @abstractmethod
    def name(self) -> str:
        """The stream's own name, for tokens. The first use may call out; InvalidStream where there is no such stream."""

    @property
    def retention_us(self) -> int:
        """How long the service holds records; it may change, and is looked at with each listing."""
        return DAY_US

    def precision(self, lateness: float | Literal["auto"] | None = "auto") -> Precision:
        """How exactly it tells times and places; `lateness`: a reader's own word for it."""
        seconds = self.lateness if lateness == "auto" else lateness
        return Precision(microseconds(seconds or 0.0), self.grain_us, self.is_counted)

    @property
    def connections(self) -> int:
        """The most calls at once that it is made for."""
        return 1 << 30

    @abstractmethod
    def list_shards(self, after: str | None) -> ShardPage:
        """A page of the stream's shards, beyond a page's `next`."""

    @abstractmethod
    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """A handle on a place in a shard. After(place) gives what follows the first record with the place's number."""

    def place_behind(self, iterator: ShardIterator) -> Place | None:
        """The place that an iterator stands behind, where the source counts; nothing is called."""
        return None

    @abstractmethod
    def fetch(self, iterator: ShardIterator, limit: int) -> Page[R_co]:
        """The next page of a shard, of at most `limit` records; one that the service holds as one may be several here."""

    def watch(self, iterators: Sequence[ShardIterator], seconds: float) -> Collection[str]:
        """Waits until records may stand behind one of these places, at most so long; gives the shards of such places.

        Readers call it on a thread of its own while nothing is pending, and poll their shards seldom meanwhile. It only makes
        a page come sooner: nothing depends on what it tells.
        """
        return ()

    def publish(self, group: str, numbers: Mapping[str, int]) -> None:
        """Shows how far a group of readers came: by shard, the number of the last record that it is done with."""

    def shared(self, group: str, consumer: str) -> SharedSource[R_co]:
        """The source as one consumer of a group of its own sees it; InvalidOption where it knows no such groups."""
        raise InvalidOption(
            f"{self!r} has no groups of consumers that acks='group' could share: a log in Redis has them"
        )

    def identify(self, record: Record) -> object | None:
        """What a record and its duplicates have in common; None: it has none."""
        return None

    def close(self) -> None:
        """Lets go of what the source itself opened."""
