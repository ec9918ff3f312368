"""The kit: what an app's processors share in one worker, and what the worker keeps for each lease in work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streamiter.app.events import AppEvent
from streamiter.app.observer import Observer
from streamiter.app.processor import Processor
from streamiter.app.pulse import Pulse
from streamiter.app.reader import Reader
from streamiter.app.threads import Calls
from streamiter.app.works import Work
from streamiter.clock import Clock
from streamiter.lease import Lease
from streamiter.source.base import ShardPage, Source
from streamiter.store import Announcement, Store, Table


@dataclass(slots=True)
class Pools:
    """The threads for calls that block. Each kind has its own: no renewal waits behind a page or a user's function."""

    store: Calls
    source: Calls
    user: Calls
    words: Calls


@dataclass(slots=True)
class Kit:
    """What an app's processors share in one worker."""

    store: Store
    clock: Clock
    threads: Pools
    tell: Callable[[AppEvent], None]
    fail: Callable[[BaseException], None]
    observer: Observer = field(default_factory=Observer)


class Job(NamedTuple):
    """The job of one engine: a processor, the rows of its leases and workers, and where its records come from."""

    processor: Processor
    tables: tuple[Table, Table]
    make_reader: Callable[[Lease], Reader]
    list_page: Callable[[str | None], ShardPage]
    word: Announcement  # the template of all its announcements
    watched: Source[Any] | None = None  # the source, if it can wait for new records and shall do so


@dataclass(slots=True)
class Held:
    """A lease in work: where its records come from, and where they go."""

    lease: Lease
    reader: Reader
    work: Work
    pulse: Pulse
    is_stuck: bool = False
    gap: str | None = None
