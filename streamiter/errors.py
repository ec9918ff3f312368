"""Errors: what went wrong on a record's path, in one tree under StreamiterError.

    StreamiterError
    ├── InvalidOption (ValueError)         an argument of ours has a wrong type or range
    ├── InvalidStream (ValueError)         no such table, no stream on it, a malformed ARN or URL
    ├── InvalidPosition (ValueError)       a position nobody can move to
    │   └── InvalidToken                   a token that is damaged, too new, or of another stream
    ├── RecordsExpired (LookupError)       a gap: the service no longer holds what comes next
    ├── PoisonRecord                       a record that the caller's model cannot take
    ├── ValueMisfit (ValueError)           an attribute that does not fit the caller's Spark schema
    ├── SourceError                        the service, or the way to it
    │   ├── AccessDenied                   a permission is missing; names the action
    │   ├── CredentialsMissing             nothing to sign calls with, or no region to send them to
    │   ├── TransientError                 the same call may succeed later
    │   │   └── Throttled                  ... after a pause
    │   ├── IteratorExpired                open the shard again, at its place
    │   ├── PositionTrimmed                the place in the shard is no longer held
    │   ├── ShardGone                      the shard itself is no longer held
    │   └── TimeUnsupported                the service cannot open a shard at a time
    └── MissingExtra (ImportError)         an optional package is not installed; names the command

Every message says what happened, where, and what to do next. None holds images or keys of records.
"""

from __future__ import annotations

from typing import Any


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


class InvalidPosition(StreamiterError, ValueError):
    """The position is not one that a stream can move to."""


class InvalidToken(InvalidPosition):
    """The token cannot be used; says what is wrong, and where in it."""

    def __init__(self, what: str, *, where: str = "$", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(f"this token cannot be used: {what} (at {where})" + (f"; {hint}" if hint else ""))


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
    """The caller's model refused a record; the token is still before it, until stream.skip()."""

    def __init__(self, shard_id: str, sequence_number: str, model: str, cause: BaseException) -> None:
        self.shard_id = shard_id
        self.sequence_number = sequence_number
        # The cause's own text may quote the record's values, so only its type is told here; it is chained as __cause__.
        super().__init__(
            f"{model} cannot take record {sequence_number} of shard {shard_id}: {type(cause).__name__}; "
            "the token is still before it: mend the model, or go past it with stream.skip()"
        )


class ValueMisfit(StreamiterError, ValueError):
    """An attribute of a record does not fit the column that the caller's schema has for it."""

    def __init__(self, attribute: str, shard_id: str, sequence_number: str, what: str) -> None:
        self.attribute = attribute
        self.shard_id = shard_id
        self.sequence_number = sequence_number
        super().__init__(
            f"attribute {attribute} of record {sequence_number} of shard {shard_id} does not fit the schema: {what}; "
            "widen the column, or read the images as text"
        )


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
        self.extra = extra
        super().__init__(f"{package} is not installed; to get it: pip install 'streamiter[{extra}]'")
