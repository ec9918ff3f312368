"""Announcing: tells the other workers through the store what this one did, if the store can, so that they look at once.

Nothing depends on it: if an announcement is lost, or the store has none, the others look in their next round.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Protocol

from streamiter.app.threads import Calls
from streamiter.errors import StreamiterError
from streamiter.lease import Engine, Lease, Worker
from streamiter.lease.wishes import WriteLease, WriteWorker
from streamiter.store import Announcement, Announcer, Store

logger = logging.getLogger("streamiter.app")

LISTEN_SECONDS = 2.0
AFTER_FAULT_SECONDS = 1.0
FINISH_SECONDS = 1.0
LOOKS = 2  # after a word: two looks that show the same workers settle who is there


class Drives(Protocol):
    """What drives the worker's engine."""

    engine: Engine

    def happen(self, event: Callable[[int], None]) -> None:
        """An event for the engine."""

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs it beside."""


class Announcing:
    """The words of one worker of one processor. All of it is on the event loop, but for the store's calls."""

    def __init__(self, store: Store, me: Announcement, calls: Calls, worker: Drives) -> None:
        """`me`: what all words have in common."""
        self._announcer = store if isinstance(store, Announcer) else None
        self._me = me
        self._calls = calls
        self._worker = worker
        self._owners: dict[str, str | None] = {}
        self._versions: dict[str, int] = {}  # of the rows that we wrote
        self._said: Worker | None = None
        self._unsaid: deque[Announcement] = deque()
        self._speaking: asyncio.Task[None] | None = None
        self._looks = 0
        self._asked: dict[str, int] = {}  # whose rows stood still, and at which beat
        self._askers: set[str] = set()  # they are told when our row has moved
        self._seen: dict[str, tuple[int, bool]] = {}  # of the others' rows: the beat, and whether it was seen to move

    def start(self) -> None:
        """Listens, from now on."""
        if self._announcer is not None:
            self._worker.spawn(self._listen(self._announcer))

    async def finish(self) -> None:
        """Waits until all is said; not for long, where the store does not answer."""
        if self._speaking is not None:
            await asyncio.wait([self._speaking], timeout=FINISH_SECONDS)

    def looked(self, leases: Iterable[Lease], workers: Iterable[Worker]) -> None:
        """All leases and workers, as they stand; it is looked once more where a word came."""
        # A look may be older than what we wrote since it began.
        rows = {lease.key: lease for lease in leases}
        is_old = {key: row.version < self._versions.get(key, 0) for key, row in rows.items()}
        self._owners = {key: self._owners[key] if is_old[key] else row.owner for key, row in rows.items()}
        unproved = self._see(workers)
        if self._looks > 1:
            self._looks -= 1
            self._look(beats=False)
        elif self._looks:
            self._looks = 0
            self._tell("who" if unproved else "")  # how things are after all that was said

    def wrote(self, wish: WriteLease | WriteWorker) -> None:
        """A row was written."""
        if isinstance(wish, WriteLease):
            self._versions[wish.lease.key] = 1 if wish.expected is None else wish.expected + 1
            self._wrote_lease(wish.lease)
        else:
            self._wrote_worker(wish.worker)

    # -- inside

    def _wrote_worker(self, worker: Worker) -> None:
        """Our own row was written."""
        if self._announcer is None:
            return
        said, self._said = self._said, worker._replace(beat=0, version=0)
        if said is None:
            self._heard(beats=False)  # to be settled soon
        is_new = said is None or said != self._said
        self._tell(("left" if worker.leaving else "joined" if said is None else "asks") if is_new else "")
        askers, self._askers = self._askers, set()
        for name in sorted(askers):
            self._tell("here", name)

    def _wrote_lease(self, lease: Lease) -> None:
        """A lease's row was written: where it is free now, or another's work may begin, the others are to look."""
        was = self._owners.get(lease.key, "")
        self._owners[lease.key] = lease.owner
        if was != lease.owner:
            self._tell("completed" if lease.completed else "taken" if lease.owner else "released" if was else "created")

    def _see(self, workers: Iterable[Worker]) -> list[str]:
        """Workers whose rows may be left of dead ones, and that were not asked yet: those that live move their rows then."""
        before, self._seen = self._seen, {}
        unproved: list[str] = []
        for worker in workers:
            beat, has_moved = before.get(worker.id, (None, worker.version == 1))
            self._seen[worker.id] = worker.beat, has_moved or beat not in (None, worker.beat)
            if (
                worker.id != self._me.worker
                and not self._seen[worker.id][1]
                and self._asked.get(worker.id) != worker.beat
            ):
                unproved.append(worker.id)
        if self._looks == 1:
            self._asked = {name: beat for name, beat in self._asked.items() if name in self._seen}
            self._asked |= {name: self._seen[name][0] for name in unproved}
        return unproved

    def _tell(self, what: str, to: str = "") -> None:
        if self._announcer is not None:
            told = self._me._replace(what="" if what == "taken" else what, to=to, leases=dict(self._owners))
            if self._said is not None and self._said.leaving:
                told = told._replace(valid_seconds=0.0)
            self._unsaid.append(told)
            if self._speaking is None:
                self._speaking = self._worker.spawn(self._speak(self._announcer))

    async def _speak(self, announcer: Announcer) -> None:
        """One word after the other: who hears the last one knows how things are."""
        try:
            while self._unsaid:
                told = self._unsaid.popleft()
                if told.what or not self._unsaid:
                    await self._calls.call(partial(announcer.announce, told))
        except StreamiterError as error:
            logger.info("the others are not told: %s", error)
        finally:
            self._speaking = None

    def _look(self, *, beats: bool) -> None:
        self._worker.happen(partial(self._worker.engine.look_now, beats=beats))

    def _heard(self, *, beats: bool) -> None:
        self._looks = LOOKS
        self._look(beats=beats)

    async def _listen(self, announcer: Announcer) -> None:
        place: str | None = None
        while True:
            try:
                place, words = await self._calls.call(partial(announcer.listen, self._me, place, LISTEN_SECONDS))
            except StreamiterError as error:
                logger.info("announcements are not heard for a while: %s", error)
                await asyncio.sleep(AFTER_FAULT_SECONDS)
                continue
            words = [word for word in words if word.worker != self._me.worker and word.to in ("", self._me.worker)]
            askers = {word.worker for word in words if word.what == "who"}
            self._askers |= askers
            if words:
                self._heard(beats=bool(askers))
