"""One ordered, resumable iterator over a sharded change stream.

stream = Stream("dynamodb://users", "trim_horizon")
for record in stream.follow():
    print(record.event_name, record.key, record.created_at.humanize())
"""

# What checkers take for true, and nobody runs. Not typing's own: nothing is imported here, so that the command starts soon.
TYPE_CHECKING = False

if TYPE_CHECKING:
    # What users iterate with asyncio
    from streamiter.aio import AsyncStream as AsyncStream

    # Processors that many workers run
    from streamiter.app import App as App
    from streamiter.app import Halt as Halt
    from streamiter.app import Ignore as Ignore
    from streamiter.app import Quarantine as Quarantine
    from streamiter.app import Retry as Retry

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
    from streamiter.errors import SendFailed as SendFailed
    from streamiter.errors import SourceError as SourceError
    from streamiter.errors import StreamiterError as StreamiterError
    from streamiter.errors import Throttled as Throttled
    from streamiter.errors import TokenFileError as TokenFileError
    from streamiter.errors import TransientError as TransientError
    from streamiter.errors import UnreadableRecord as UnreadableRecord
    from streamiter.errors import ValueMisfit as ValueMisfit
    from streamiter.lineage import Lineage as Lineage

    # Where records come from
    from streamiter.log import LogRecord as LogRecord
    from streamiter.record import ChangeRecord as ChangeRecord
    from streamiter.record import Record as Record
    from streamiter.shard import Shard as Shard
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
    from streamiter.stream import CallFailed as CallFailed
    from streamiter.stream import Event as Event
    from streamiter.stream import GapAccepted as GapAccepted
    from streamiter.stream import GapFound as GapFound
    from streamiter.stream import LateRecord as LateRecord
    from streamiter.stream import Progress as Progress
    from streamiter.stream import RecordAhead as RecordAhead
    from streamiter.stream import Stats as Stats
    from streamiter.stream import Stream as Stream

    # Where readers keep their place
    from streamiter.tokenfile import TokenFile as TokenFile

    # Where values are written
    from streamiter.topic import Topic as Topic

# Each name, and the room that it is loaded from when somebody asks for it: whoever wants an error or a value does not
# wait for boto3.
_HOMES = {
    "App": "app",
    "Halt": "app",
    "Ignore": "app",
    "Quarantine": "app",
    "Retry": "app",
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
    "SendFailed": "errors",
    "SourceError": "errors",
    "StreamiterError": "errors",
    "Throttled": "errors",
    "TokenFileError": "errors",
    "TransientError": "errors",
    "UnreadableRecord": "errors",
    "ValueMisfit": "errors",
    "Lineage": "lineage",
    "LogRecord": "log",
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
    "AsyncStream": "aio",
    "Batch": "stream",
    "Event": "stream",
    "GapAccepted": "stream",
    "GapFound": "stream",
    "LateRecord": "stream",
    "RecordAhead": "stream",
    "Progress": "stream",
    "CallFailed": "stream",
    "Stats": "stream",
    "Stream": "stream",
    "TokenFile": "tokenfile",
    "Topic": "topic",
}
_ROOMS = (
    *(
        "aio",
        "app",
        "clock",
        "errors",
        "images",
        "lease",
        "lineage",
        "log",
        "merge",
        "moments",
        "position",
        "record",
        "shard",
        "source",
    ),
    *("store", "stream", "token", "tokenfile", "topic"),
)

__all__ = list(_HOMES)
__version__: str  # what is installed, as `pip show` tells it


def __getattr__(name: str) -> object:
    import sys
    from importlib import import_module

    if name in _HOMES:
        found: object = getattr(import_module(f"streamiter.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if name == "__version__":
        from importlib.metadata import version

        return version("streamiter")
    if name in _ROOMS:
        return import_module(f"streamiter.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    private = (name for name in globals() if name.startswith("_"))
    return sorted({*_HOMES, *_ROOMS, *private})
