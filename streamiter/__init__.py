"""One ordered, resumable iterator over a sharded change stream.

stream = Stream("dynamodb://users", "trim_horizon")
for record in stream.follow():
    print(record.event_name, record.key, record.created_at.humanize())
"""

# What checkers take for true, and nobody runs. Not typing's own: nothing is imported here, so that the command starts soon.
TYPE_CHECKING = False

if TYPE_CHECKING:
    # Values
    from streamiter.clock import Clock as Clock

    # Errors
    from streamiter.errors import AccessDenied as AccessDenied
    from streamiter.errors import CredentialsMissing as CredentialsMissing
    from streamiter.errors import InvalidOption as InvalidOption
    from streamiter.errors import InvalidPosition as InvalidPosition
    from streamiter.errors import InvalidStream as InvalidStream
    from streamiter.errors import InvalidToken as InvalidToken
    from streamiter.errors import MissingExtra as MissingExtra
    from streamiter.errors import PoisonRecord as PoisonRecord
    from streamiter.errors import RecordsExpired as RecordsExpired
    from streamiter.errors import SourceError as SourceError
    from streamiter.errors import StreamiterError as StreamiterError
    from streamiter.errors import Throttled as Throttled
    from streamiter.errors import TransientError as TransientError
    from streamiter.lineage import Lineage as Lineage
    from streamiter.record import ChangeRecord as ChangeRecord
    from streamiter.record import Record as Record
    from streamiter.shard import Shard as Shard

    # Where records come from
    from streamiter.source import DynamoDBStreams as DynamoDBStreams
    from streamiter.source import KinesisChange as KinesisChange
    from streamiter.source import KinesisRecord as KinesisRecord
    from streamiter.source import KinesisStreams as KinesisStreams
    from streamiter.source import Page as Page
    from streamiter.source import ShardIterator as ShardIterator
    from streamiter.source import ShardPage as ShardPage
    from streamiter.source import Source as Source

    # What users iterate, and what it tells of itself
    from streamiter.stream import Batch as Batch
    from streamiter.stream import Event as Event
    from streamiter.stream import GapAccepted as GapAccepted
    from streamiter.stream import GapFound as GapFound
    from streamiter.stream import LateRecord as LateRecord
    from streamiter.stream import Progress as Progress
    from streamiter.stream import Retry as Retry
    from streamiter.stream import Stats as Stats
    from streamiter.stream import Stream as Stream

# Each name, and the room that it is loaded from when somebody asks for it: whoever wants an error or a value does not
# wait for boto3.
_HOMES = {
    "Clock": "clock",
    "AccessDenied": "errors",
    "CredentialsMissing": "errors",
    "InvalidOption": "errors",
    "InvalidPosition": "errors",
    "InvalidStream": "errors",
    "InvalidToken": "errors",
    "MissingExtra": "errors",
    "PoisonRecord": "errors",
    "RecordsExpired": "errors",
    "SourceError": "errors",
    "StreamiterError": "errors",
    "Throttled": "errors",
    "TransientError": "errors",
    "Lineage": "lineage",
    "ChangeRecord": "record",
    "Record": "record",
    "Shard": "shard",
    "DynamoDBStreams": "source",
    "KinesisChange": "source",
    "KinesisRecord": "source",
    "KinesisStreams": "source",
    "Page": "source",
    "ShardIterator": "source",
    "ShardPage": "source",
    "Source": "source",
    "Batch": "stream",
    "Event": "stream",
    "GapAccepted": "stream",
    "GapFound": "stream",
    "LateRecord": "stream",
    "Progress": "stream",
    "Retry": "stream",
    "Stats": "stream",
    "Stream": "stream",
}
_ROOMS = ("clock", "errors", "images", "lineage", "merge", "position", "record", "shard", "source", "stream", "token")

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    import sys
    from importlib import import_module

    if name in _HOMES:
        found: object = getattr(import_module(f"streamiter.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if name in _ROOMS:
        return import_module(f"streamiter.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    private = (name for name in globals() if name.startswith("_"))
    return sorted({*_HOMES, *_ROOMS, *private})
