"""Runnel's names, over apps and topics: what its documentation shows runs here with the imports changed."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform
from urllib.parse import quote, urlsplit

import msgspec

from streamiter import app as apps
from streamiter.app.forms import read_form
from streamiter.app.value import value_of
from streamiter.errors import InvalidOption
from streamiter.topic import Topic
from streamiter.topic.keys import PartitionBy

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")

REDIS_URL = "redis://127.0.0.1:6379"
_SETTINGS = ("default_partition_count", "default_partition_size", "default_lock_expiry", "default_grace_period")


class ExceptionPolicy(Enum):
    """What becomes of a partition whose processor raised an error."""

    HALT = "halt"
    QUARANTINE = "quarantine"
    IGNORE = "ignore"


_POLICIES: dict[ExceptionPolicy, apps.Policy] = {
    ExceptionPolicy.HALT: apps.Halt(),
    ExceptionPolicy.QUARANTINE: apps.Quarantine(),
    ExceptionPolicy.IGNORE: apps.Ignore(),
}


if TYPE_CHECKING:

    @dataclass_transform(kw_only_default=True)
    class Record:
        """As below, in words that checkers know."""

        def __init_subclass__(cls, *, primitive: bool = False) -> None: ...

else:

    class _RecordMeta(type(msgspec.Struct)):
        """Lets `primitive=True` pass: values are JSON with and without it."""

        def __new__(mcs, name, bases, namespace, primitive=False, **options):
            return super().__new__(mcs, name, bases, namespace, kw_only=True, **options)

    class Record(msgspec.Struct, metaclass=_RecordMeta):
        """The base of a stream's values, whose attributes are annotated."""


class Events:
    """What a processor iterates: records, or, after `take`, lists of them; `records()` gives the values in them."""

    def __init__(self, events: apps.Events[Any], size: int | None = None, within: float | None = None) -> None:
        self._events = events
        self._size = size
        self._within = within

    def take(self, n: int, within: float | None = None) -> Events:
        """Lists of up to `n`, or of what there is after `within` seconds."""
        return Events(self._events, n, within)

    async def records(self) -> AsyncGenerator[Any, None]:
        """The values. Each counts as processed once the next is asked for."""
        async for found in self:
            yield [value_of(record) for record in found] if isinstance(found, list) else value_of(found)

    async def __aiter__(self) -> AsyncIterator[Any]:
        if self._size is None:
            async for record in self._events.records():
                yield record
            return
        while records := await self._events.take(self._size, self._within):
            yield records


class App(apps.App):
    """An app whose streams and leases are in one Redis."""

    def __init__(self, name: str, redis_url: str = REDIS_URL, **settings: Any) -> None:
        unknown = sorted(settings.keys() - set(_SETTINGS))
        if unknown:
            raise InvalidOption(f"{unknown[0]}= has no meaning here: leave it out; known are {', '.join(_SETTINGS)}")
        parts = urlsplit(redis_url)
        database = parts.path.strip("/") or "0"
        self._server = parts._replace(path="", query="", fragment="").geturl()
        self._database = database
        self._partitions = settings.get("default_partition_count", 16)
        self._partition_size = settings.get("default_partition_size")
        super().__init__(
            name,
            store=f"{self._server}/{database}",
            failover=settings.get("default_lock_expiry", 10.0),
            grace=settings.get("default_grace_period", 30.0),
        )

    def stream(
        self,
        name: str,
        record: type[R],
        partition_by: PartitionBy,
        partition_count: int | None = None,
        partition_size: int | None = None,
        **options: Any,
    ) -> Topic[R]:
        """A stream of such values: a topic in Redis. A full partition makes `send` wait; nothing unread is trimmed."""
        for option in options:
            instead = "all keys hash alike" if option == "hasher" else "a codec= goes to app.topic(url, ...)"
            raise InvalidOption(f"{option}= has no meaning here: leave it out; {instead}")
        size = partition_size or self._partition_size
        said = f"app={quote(self.name)}&db={self._database}" + (f"&partition_size={size}" if size else "")
        count = partition_count or self._partitions
        return self.topic(
            f"{self._server}/{quote(name)}?{said}",
            record=record,
            partition_by=partition_by,
            partitions=count,
            name=name,
        )

    def processor(
        self, source: Any, *, exception_policy: ExceptionPolicy = ExceptionPolicy.HALT, **options: Any
    ) -> Callable[[F], F]:
        """Declares a processor of events; one that wants records, values or batches is declared as in any app."""
        options.setdefault("on_error", _POLICIES[exception_policy])

        def declared(function: F) -> F:
            model = options.get("model") or getattr(source, "record", None) or getattr(source, "model", None)
            if read_form(function, model=model).form is not apps.forms.Form.EVENTS:
                return super(App, self).processor(source, **options)(function)

            @functools.wraps(function)
            async def run(events: Any, *lease: Any) -> None:
                await function(Events(events), *lease)

            super(App, self).processor(source, **options)(run)
            return function

        return declared

    def task(self, *_: Any, **__: Any) -> Any:
        """There is no such thing here; says what to do instead."""
        raise InvalidOption(
            "app.task has no meaning here: call the function before app.run(), or run app.serve() in an event loop of yours, "
            "beside it"
        )

    def timer(self, interval: float, *, on_leader: bool = False, name: str | None = None) -> Callable[[F], F]:
        """Declares what runs at each multiple of `interval` seconds."""
        return super().timer(interval, on_leader=on_leader, name=name)

    def crontab(self, spec: str, *, on_leader: bool = False, timezone: str = "UTC") -> Callable[[F], F]:
        """Declares what runs at the moments of a cron expression."""
        return super().cron(spec, on_leader=on_leader, timezone=timezone)
