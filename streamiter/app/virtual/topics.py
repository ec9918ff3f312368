"""Topics in a test: each is written to and read from in memory, so that what one processor sends another one gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from streamiter.errors import InvalidOption
from streamiter.log import Entry, LogRecord, MemoryLog
from streamiter.source.base import Source
from streamiter.topic import Topic

if TYPE_CHECKING:
    from streamiter.app.app import App

ALL = 1 << 62


class WorldTopics:
    """The topics of an app, while it is tested. With `given` None they stay where they are, and calls are made at once."""

    def __init__(self, app: App, now_us: Callable[[], int]) -> None:
        self._app = app
        self._now_us = now_us
        self._logs: dict[str, MemoryLog] = {}
        self._given: dict[str, list[int]] = {}  # by topic: how many entries each partition was given
        self._stack = ExitStack()

    def enter(self, given: Any) -> Any:
        """Puts logs in memory in the topics' places, with what is given for them; gives what is left for other sources."""
        topics = self._topics()
        clock = _WorldClock(self._now_us)
        for title, topic in topics.items():
            if given is not None:
                self._logs[title] = MemoryLog(title, partitions=topic.declared_partitions or 1, clock=clock)
            self._stack.enter_context(topic.stood_in(self._logs.get(title), clock))
        return self._give(topics, given)

    def has_more(self, topic: Topic[Any], shard_id: str, seen: int | None) -> bool:
        """Whether its log has entries behind this number; None: behind none."""
        log = self._logs.get(topic.title)
        last = None if log is None else log.ends(int(shard_id)).last
        return last is not None and (seen is None or last > seen)

    def sent(self) -> dict[str, list[Any]]:
        """By topic: the values that the app sent, in the order in which they were written."""
        topics = self._topics()
        return {title: [_decoded(topics[title], record) for record in self._new(title)] for title in self._logs}

    def close(self) -> None:
        """The topics are themselves again."""
        self._stack.close()

    # -- inside

    def _topics(self) -> dict[str, Topic[Any]]:
        found = dict(self._app.topics)
        for processor in self._app.processors.values():
            if isinstance(processor.source, Topic):
                topic = found.setdefault(processor.source.title, processor.source)
                if topic is not processor.source:
                    raise InvalidOption(f"two topics are called {topic.title!r}: say name= for one of them")
        return found

    def _give(self, topics: Mapping[str, Topic[Any]], given: Any) -> Any:
        read = {
            name: processor.source.title
            for name, processor in self._app.processors.items()
            if isinstance(processor.source, Topic)
        }
        if given is None or not topics or _is_source(given):
            return given
        if not isinstance(given, Mapping):
            for one in set(read.values()):
                self._put(topics[one], given)
            return given if read.keys() < self._app.processors.keys() else {}
        rest: dict[Any, Any] = {}
        for name, values in given.items():
            title: Any = read.get(name, name)
            if title not in topics or _is_source(values) or (name not in read and name in self._app.processors):
                rest[name] = values
            elif title in self._given:
                raise InvalidOption(f"the values of topic {title!r} are given once: name it, and not its processors")
            else:
                self._put(topics[title], values)
        return rest

    def _put(self, topic: Topic[Any], values: Iterable[Any]) -> None:
        log = self._logs[topic.title]
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise InvalidOption(
                f"the topic {topic.title!r} is tested on a list of values, not on a {type(values).__name__}"
            )
        for value in values:
            if isinstance(value, LogRecord):
                log.append(int(value.shard_id), [Entry(value.raw_payload, value.key, value.headers)])
            elif isinstance(value, bytes) and topic.record is not bytes:
                log.append(0, [Entry(value)])  # a payload as another program may have written it
            else:
                topic.send(value)
        self._given[topic.title] = [_count(log, partition) for partition in range(log.partitions())]

    def _new(self, title: str) -> list[LogRecord]:
        log = self._logs[title]
        given = self._given.get(title, [])
        found = [
            record
            for partition in range(log.partitions())
            for record in log.read(partition, log.start(partition), ALL).records[
                sum(given[partition : partition + 1]) :
            ]
        ]
        return sorted(found, key=attrgetter("created_us"))


class _WorldClock:
    """The time of a virtual world; nothing in it waits."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us

    def now(self) -> float:
        return self._now_us() / 1e6

    def monotonic(self) -> float:
        return self._now_us() / 1e6

    def sleep(self, seconds: float) -> None:
        pass


def _is_source(given: Any) -> bool:
    return isinstance(given, Source) or hasattr(given, "stream_arn")  # a Simulator


def _count(log: MemoryLog, partition: int) -> int:
    return len(log.read(partition, log.start(partition), ALL).records)


def _decoded(topic: Topic[Any], record: LogRecord) -> Any:
    if record.raw_payload is None:
        return None
    try:
        return topic.decoded(record.raw_payload)
    except Exception:
        return record.raw_payload
