"""Logs: they keep records that streamiter writes itself, and each of them is a Source, too."""

from typing import TYPE_CHECKING

from streamiter.log.base import Ends as Ends
from streamiter.log.base import Entry as Entry
from streamiter.log.base import Log as Log
from streamiter.log.base import Slice as Slice
from streamiter.log.locate import open_log as open_log
from streamiter.log.record import LogRecord as LogRecord

if TYPE_CHECKING:
    from streamiter.log.kafka import KafkaLog as KafkaLog
    from streamiter.log.kinesis import KinesisLog as KinesisLog
    from streamiter.log.memory import MemoryLog as MemoryLog
    from streamiter.log.redis import RedisLog as RedisLog
    from streamiter.log.sqlite import SqliteLog as SqliteLog

# A backend and its library are imported when they are first named.
_HOMES = {
    "KafkaLog": "kafka",
    "KinesisLog": "kinesis",
    "MemoryLog": "memory",
    "RedisLog": "redis",
    "SqliteLog": "sqlite",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOMES:
        found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
