"""Errors: what went wrong on a record's path, in one tree under StreamiterError.

    StreamiterError
    ├── InvalidOption (ValueError)         an argument of ours has a wrong type or range
    ├── InvalidStream (ValueError)         no such table, no stream on it, a malformed ARN or URL
    ├── InvalidStore (ValueError)          no such kind of store, a malformed URL, rows that a newer streamiter laid out
    ├── InvalidPosition (ValueError)       a position that no stream can move to
    │   └── InvalidToken                   a token that is damaged, too new, or of another stream
    ├── RecordsExpired (LookupError)       a gap: the service no longer holds what comes next
    ├── PoisonRecord                       a record that cannot be decoded, or that the caller's model cannot take
    ├── UnreadableRecord (ValueError)      a part of a record, an image say, that cannot be decoded when it is asked for
    ├── ValueMisfit (ValueError)           a value that does not fit a topic's record, or a caller's Spark schema
    ├── SendFailed                         sendmany broke off; tells what was written, and what was not
    ├── Conflict                           another writer changed a store's row first; holds the row that stands
    ├── ProcessorFailed                    a processor raised an error, and its policy stops the app
    ├── LeaseLost                          a batch cannot be committed: another worker has its lease
    ├── CheckpointFailed                   a MultiLang daemon refused a child's checkpoint; tells by which name
    ├── UnknownMessage                     a MultiLang daemon said what its child cannot answer
    ├── SourceError                        the service, or the way to it
    │   ├── AccessDenied                   a permission is missing; names the action
    │   ├── CredentialsMissing             nothing to sign calls with, or no region to send them to
    │   ├── TransientError                 the same call may succeed later
    │   │   └── Throttled                  ... after a pause
    │   ├── IteratorExpired                open the shard again, at its place
    │   ├── PositionTrimmed                the place in the shard is no longer held
    │   ├── ShardGone                      the shard itself is no longer held
    │   └── TimeUnsupported                the service cannot open a shard at a time
    ├── TokenFileError (OSError)           a TokenFile that cannot be read or written
    └── MissingExtra (ImportError)         an optional package is not installed; names the command

Every message says what happened, where, and what to do next. None holds images or keys of records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class StreamiterError(Exception):
    """The root: catching it catches everything that streamiter raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would call the class with the message alone: a pool of processes breaks where that does not fit.
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[StreamiterError], args: tuple[Any, ...], members: dict[str, Any]) -> StreamiterError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(members)
    return error


class InvalidOption(StreamiterError, ValueError):
    """An argument has a wrong type or is out of range."""


class InvalidStream(StreamiterError, ValueError):
    """What was named is not a stream that can be read."""


class InvalidStore(StreamiterError, ValueError):
    """What was named is not a store that can hold leases."""


class Conflict(StreamiterError):
    """A row was not as the writer expected it; `standing` is the row that the store holds, None where it holds none."""

    def __init__(self, key: str, expected: int | None, standing: Any) -> None:
        self.key = key
        self.expected = expected
        self.standing = standing
        found = "there is none" if standing is None else f"it has version {standing.version}"
        wanted = "no row" if expected is None else f"version {expected}"
        super().__init__(
            f"row {key!r} was changed by another writer: {wanted} was expected, but {found}; look at `standing` and decide anew"
        )


class InvalidPosition(StreamiterError, ValueError):
    """The position is not one that a stream can move to."""


class InvalidToken(InvalidPosition):
    """The token cannot be used; says what is wrong, and where in it."""

    def __init__(self, what: str, *, where: str = "$", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(f"this token cannot be used: {what} (at {where})" + (f"; {hint}" if hint else ""))


class TokenFileError(StreamiterError, OSError):
    """A token file cannot be read or written, or another process wrote to it."""


class RecordsExpired(StreamiterError, LookupError):
    """A gap: records after `position` of `shard_id` may be lost, for the service no longer holds that place."""

    def __init__(self, shard_id: str, position: object, *, reason: str, hint: str = "") -> None:
        self.shard_id = shard_id
        self.position = position
        self.reason = reason
        self.what = f"records of shard {shard_id} after {position} may be lost: {reason}"
        hint = hint or "stream.skip() accepts the gap and reads on; stream.move_to('trim_horizon') starts over"
        super().__init__(f"{self.what}; {hint}")


class PoisonRecord(StreamiterError):
    """A record cannot be decoded, or the caller's model refused it; the token is still before it, until stream.skip()."""

    def __init__(self, shard_id: str, sequence_number: str, model: str, cause: BaseException) -> None:
        self.shard_id = shard_id
        self.sequence_number = sequence_number  # empty where it cannot be told
        # The cause's own text may quote the record's values, so only its type is told here; it is chained as __cause__.
        super().__init__(
            f"{model} cannot take record {sequence_number} of shard {shard_id}: {type(cause).__name__}; "
            "the token is still before it: fix the model, or pass over the record with stream.skip()"
        )

    @classmethod
    def spoiled(cls, shard_id: str, sequence_number: str, reason: str) -> PoisonRecord:
        """The error for a record that the service sent so that it cannot be decoded, with or without a model."""
        error = cls.__new__(cls)
        error.shard_id, error.sequence_number = shard_id, sequence_number
        named = f"record {sequence_number}" if sequence_number else "a record"
        error.args = (
            f"{named} of shard {shard_id} cannot be decoded: {reason}; "
            "the token is still before it: look at what the service sends, or go past it with stream.skip()",
        )
        return error


class UnreadableRecord(StreamiterError, ValueError):
    """A part of a record cannot be decoded: what the service sent is not DynamoDB's JSON. Reading of the stream goes on."""

    def __init__(self, what: str, where: str = "") -> None:
        self.what = what
        told = f"{where} cannot be decoded: {what}" if where else what
        super().__init__(f"{told}; the record itself was returned: leave it out, or go on with the next one")


class ValueMisfit(StreamiterError, ValueError):
    """A value does not fit the record of a topic, or an attribute the column that the caller's schema has for it."""

    def __init__(self, attribute: str, shard_id: str, sequence_number: str, what: str) -> None:
        self.attribute = attribute
        self.shard_id = shard_id
        self.sequence_number = sequence_number
        super().__init__(
            f"attribute {attribute} of record {sequence_number} of shard {shard_id} does not fit the schema: {what}; "
            "widen the column, or read the images as text"
        )

    @classmethod
    def unsent(cls, topic: str, record: str, what: str, attribute: str = "") -> ValueMisfit:
        """The error for a value that a topic does not take: it is refused before anything of it is written."""
        error = cls.__new__(cls)
        error.attribute, error.shard_id, error.sequence_number = attribute, "", ""
        error.args = (f"a value does not fit {record}, the record of topic {topic}: {what}; nothing of it was written",)
        return error


class SendFailed(StreamiterError):
    """`sendmany` broke off. `places` has, for each value that was taken so far, where it was written, or None.

    `unwritten` are the indices of those that were not written, and `doubtful` those of them that may have been written all
    the same. `topic.sendmany(error.rest(values))` goes on exactly there. `__cause__` is what went wrong.
    """

    def __init__(self, topic: str, places: Sequence[Any], doubtful: Collection[int], cause: BaseException) -> None:
        self.places = places
        self.unwritten = tuple(index for index, place in enumerate(places) if place is None)
        self.doubtful = tuple(sorted(doubtful))
        written = len(places) - len(self.unwritten)
        doubt = f", {len(self.doubtful)} of which may have been written all the same" if self.doubtful else ""
        super().__init__(
            f"sendmany to {topic} broke off: of {len(places)} values {written} were written, and {len(self.unwritten)} were "
            f"not{doubt}: {cause}; mend that, and go on with topic.sendmany(error.rest(values))"
        )
        self.__cause__ = cause

    def rest(self, values: Iterable[T]) -> Iterator[T]:
        """Those of the same values that were not written, in their order, and all that were not taken yet."""
        unwritten = set(self.unwritten)
        return (value for index, value in enumerate(values) if index >= len(self.places) or index in unwritten)


class ProcessorFailed(StreamiterError):
    """A processor raised an error, and its policy says that the app stops. The records come again on its next start."""

    def __init__(self, processor: str, lease: str, place: str, cause: BaseException) -> None:
        self.processor = processor
        self.lease = lease
        self.place = place
        super().__init__(
            f"processor {processor} failed on {place} of lease {lease}: {type(cause).__name__}; nothing is lost: the "
            "checkpoint is before it. Mend the processor and start again, or give it another on_error: Retry, Quarantine, "
            "or Ignore"
        )
        self.__cause__ = cause


class LeaseLost(StreamiterError):
    """Another worker has the lease: what was done under it must not be committed."""

    def __init__(self, key: str, fence: int) -> None:
        self.key = key
        self.fence = fence
        super().__init__(
            f"lease {key} with fence {fence} is held no more: another worker has it; roll back, the records come again there"
        )


class CheckpointFailed(StreamiterError):
    """A MultiLang daemon did not take a checkpoint of its child. `error` is the daemon's name for why."""

    def __init__(self, error: str, asked: str = "") -> None:
        self.error = error
        at = f" at {asked}" if asked else ""
        super().__init__(f"the daemon took no checkpoint{at}: {error}; {self._what_to_do}")

    @property
    def value(self) -> str:
        """The same name, as amazon_kclpy calls it."""
        return self.error

    @property
    def is_lease_lost(self) -> bool:
        """Whether another worker has the lease: stop working on this shard."""
        return self.error == "ShutdownException"

    @property
    def is_passing(self) -> bool:
        """Whether the same checkpoint may be taken later: the table is throttled, or was not reached."""
        return self.error in ("ThrottlingException", "KinesisClientLibDependencyException")

    @property
    def _what_to_do(self) -> str:
        if self.is_lease_lost:
            return "another worker has the lease, and the records come again there"
        if self.is_passing:
            return "it was tried several times; the next checkpoint covers this one, too"
        if self.error == "InvalidStateException":
            return "checkpoints are taken while records are processed, when the shard ended, and when a shutdown is requested"
        return "a checkpoint lies between the last one and the last record given"


class UnknownMessage(StreamiterError):
    """The daemon said what this child does not understand, or at the wrong time. A wrong answer could lose records."""


class SourceError(StreamiterError):
    """The service refused, or could not be reached."""


class AccessDenied(SourceError):
    """A permission is missing."""


class CredentialsMissing(SourceError):
    """There are no credentials, or no region."""


class TransientError(SourceError):
    """A fault that may pass: the call can be made again as it was."""


class Throttled(TransientError):
    """The service asks for a pause."""


class IteratorExpired(SourceError):
    """The iterator is too old; the shard opens again at its place."""


class PositionTrimmed(SourceError):
    """The place in the shard is older than what the service holds."""


class ShardGone(SourceError):
    """The service no longer knows the shard."""


class TimeUnsupported(SourceError):
    """The service cannot open a shard at a time; it is read from its horizon instead."""


class MissingExtra(StreamiterError, ImportError):
    """An optional package is missing."""

    def __init__(self, package: str, extra: str) -> None:
        from streamiter.installing import install_command  # here, because it takes longer to load than all errors

        self.extra = extra
        super().__init__(f"{package} is not installed; to get it: {install_command(extra)}")
