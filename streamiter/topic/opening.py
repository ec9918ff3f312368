"""Opening: opens a topic's log when it is first used, adds the partitions that were asked for, and closes it after use."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from streamiter.errors import InvalidOption, InvalidStream
from streamiter.log import Log
from streamiter.log.locate import open_log

logger = logging.getLogger("streamiter.topic")


class _Opened:
    """A log that is open, and how many calls of it are under way."""

    def __init__(self, log: Log, partitions: int) -> None:
        self.log = log
        self.partitions = partitions
        self.process = os.getpid()
        self.calls = 0
        self.is_leaving = False


class Opening:
    """The log of a topic. Opens it when it is used, also after `close`. Never closes a Log of the caller."""

    def __init__(self, log: str | Log, name: str, *, partitions: int | None, grows: bool) -> None:
        self._source = log
        self._name = name
        self._wanted = partitions
        self._grows = grows
        self._opened: _Opened | None = None
        self._lock = threading.RLock()

    @property
    def partitions(self) -> int | None:
        """How many partitions there are, as far as is known without a call."""
        opened = self._opened
        return None if opened is None or opened.process != os.getpid() else opened.partitions

    def open(self) -> int:
        """Opens the log if it is closed; returns how many partitions it has."""
        with self.use():
            opened = self._opened
            return self.open() if opened is None else opened.partitions

    @contextmanager
    def use(self) -> Iterator[Log]:
        """The log; it stays open until the block ends."""
        with self._lock:
            opened = self._opened
            if opened is None or opened.process != os.getpid():  # a forked process cannot use its parent's connection
                opened = self._opened = self._open()
            opened.calls += 1
        try:
            yield opened.log
        finally:
            with self._lock:
                opened.calls -= 1
                if opened.is_leaving and not opened.calls:
                    opened.log.close()

    def look_again(self) -> None:
        """Counts the partitions anew: another process may have added some."""
        with self.use() as log:
            found = log.partitions()
        with self._lock:
            opened = self._opened
            if opened is not None and found != opened.partitions:
                logger.warning(
                    "topic %s has %d partitions now, and had %d: keys are sent by the new count from here on, so that a key's "
                    "records may be in two partitions; start its writers again if they were not stopped for it",
                    *(self._name, found, opened.partitions),
                )
                opened.partitions = found

    def close(self) -> None:
        """Closes the log once the calls under way are done, unless it is the caller's."""
        with self._lock:
            opened, self._opened = self._opened, None
            if opened is None or isinstance(self._source, Log) or opened.process != os.getpid():
                return
            opened.is_leaving = True
            if not opened.calls:
                opened.log.close()

    # -- inside

    def _open(self) -> _Opened:
        log = open_log(self._source)
        try:
            return _Opened(log, self._prepared(log))
        except BaseException:
            if not isinstance(self._source, Log):
                log.close()
            raise

    def _prepared(self, log: Log) -> int:
        """Adds partitions up to the number that was asked for; returns how many there are."""
        found = self._count(log)
        wanted = self._wanted
        if wanted is None or wanted == found:
            return found
        if wanted < found:
            logger.warning(
                "topic %s has %d partitions, and partitions=%d is not heeded: partitions are never taken away; say "
                "partitions=%d where the topic is declared",
                *(self._name, found, wanted, found),
            )
            return found
        if found and not self._grows and self._holds_records(log, found):
            raise InvalidOption(
                f"topic {self._name} has {found} partitions, and {wanted} were asked for: with more partitions, keys move, and "
                f"a key's next records may be processed before those that it has in its old one. Say partitions={found}; or, "
                "once all that is written is processed and nothing writes, grows=True"
            )
        log.grow(wanted)
        return log.partitions()

    def _count(self, log: Log) -> int:
        try:
            return log.partitions()
        except InvalidStream as error:
            if self._wanted is None:
                raise InvalidStream(
                    f"{error}; if topic {self._name} is to be made, say how many partitions where it is declared: partitions=8"
                ) from error
            return 0

    def _holds_records(self, log: Log, found: int) -> bool:
        return any(log.ends(partition).last is not None for partition in range(found))
