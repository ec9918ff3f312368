"""The rig of a store: the store, and how to spoil its calls; the author of a backend writes one, of what can be done to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from streamiter.store import Store


@dataclass
class StoreRig:
    """A store without rows. What cannot be done to it is None: the rules that need it are passed over, and say so."""

    store: Store
    another: Callable[[], Store]  # one more handle on the same rows, as another process has
    beyond_page: int = 300  # so many rows of 4 KB are more than one page of a scan
    takes_threads: bool | None = True  # None: the service behind it is a fake that several threads at once confuse
    url: str | None = None  # by which other processes open it ...
    environment: Mapping[str, str] = field(default_factory=dict)  # ... with these variables set
    lose_answer: Callable[[], object] | None = None  # the next write is done, and its answer is lost
    throttle: Callable[[], object] | None = None  # the next call is told that it is one too many
    fail: Callable[[], object] | None = None  # the next call meets a fault that passes; nothing is done
    silence: Callable[[], object] | None = None  # the next call is never answered
    hasty: Callable[[], Store] | None = None  # one more handle, by the same way, with a short time limit: for that call
