"""SQLite files that several processes of one machine share: opened when needed, waited for when busy; errors in our words."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from streamiter.clock import Clock
from streamiter.errors import AccessDenied, StreamiterError, Throttled, TransientError

CALL_SECONDS = 5.0  # how long a call waits for a file that others keep busy
KEPT = 4  # connections that are kept open while nobody uses them
STATEMENTS = 512  # that a connection keeps compiled

_Answer = TypeVar("_Answer")
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_LEAST_PAUSE, _GREATEST_PAUSE = 0.0005, 0.02
_NO_TURN: AbstractContextManager[object] = nullcontext()

LOG_SCHEMA = "streamiter_log_schema"  # the table that a log's file has ...
STORE_SCHEMA = "streamiter_schema"  # ... and a store's: they are kept apart


class Kind(NamedTuple):
    """What a file is to hold, and what its error is where it holds something else."""

    error: type[StreamiterError]
    prepare: Callable[[sqlite3.Connection], None]  # of each new connection: it lays the file out, if it is new
    makes: bool = True  # a file that is not there is made


class SqliteFile:
    """Connections to one file. A call has one for itself; what it raises while the file is busy is tried again."""

    def __init__(self, path: Path, name: str, kind: Kind, clock: Clock) -> None:
        self.path = path
        self._name = name  # as errors call its owner
        self._kind = kind
        self._clock = clock
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._inherited: list[sqlite3.Connection] = []
        self._identity: tuple[int, int] | None = None  # of the file that these are open on

    def call(
        self, call: Callable[[sqlite3.Connection], _Answer], turn: AbstractContextManager[object] = _NO_TURN
    ) -> _Answer:
        """Calls until the file is free; `turn` is held while it is tried, and not while it waits.

        SQLite's own handler waits in steps that let a busy process starve the others.
        """
        ends = self._clock.monotonic() + CALL_SECONDS
        while True:
            try:
                with turn, self._connection() as db:
                    return call(db)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _BUSY:
                    raise self._told(error) from error
                if self._clock.monotonic() >= ends:
                    told = f"{self._name}: other processes kept it locked for {CALL_SECONDS:.0f} s"
                    raise TransientError(told) from error
            except sqlite3.DatabaseError as error:
                raise self._refused(error) from error
            self._clock.sleep(random.uniform(_LEAST_PAUSE, _GREATEST_PAUSE))

    def call_now(self, call: Callable[[sqlite3.Connection], _Answer]) -> _Answer | None:
        """Calls once; None where the file is busy."""
        try:
            with self._connection() as db:
                return call(db)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in _BUSY:
                return None
            raise self._told(error) from error
        except sqlite3.DatabaseError as error:
            raise self._refused(error) from error

    def close(self) -> None:
        """Closes the connections that nobody uses; a later call opens one again."""
        with self._lock:
            idle, self._idle, self._identity = self._idle, [], None
        for db in idle:
            db.close()

    # -- inside

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        db, identity = self._take()
        try:
            yield db
        finally:
            is_kept = False
            with self._lock:
                if identity == self._identity and len(self._idle) < KEPT and not db.in_transaction:
                    self._idle.append(db)
                    is_kept = True
            if not is_kept:
                db.close()

    def _take(self) -> tuple[sqlite3.Connection, tuple[int, int]]:
        """A connection to the file that stands under its name now: it may have been replaced."""
        if os.getpid() != self._process:
            # A process that was forked off must not use its parent's connections, nor close them; another thread of the
            # parent may have held the lock.
            self._inherited, self._idle, self._identity = self._idle, [], None
            self._process, self._lock = os.getpid(), threading.Lock()
        identity = _identity(self.path)
        stale: list[sqlite3.Connection] = []
        with self._lock:
            if identity != self._identity:
                stale, self._idle = self._idle, []
                self._identity = identity
            db = self._idle.pop() if self._idle else None
        for old in stale:
            old.close()
        if db is None:
            db = self._open()
        if identity is None:
            identity = _identity(self.path) or (0, 0)
            with self._lock:
                self._identity = identity
        return db, identity

    def _open(self) -> sqlite3.Connection:
        if not self.path.parent.is_dir():
            raise self._kind.error(f"{self._name}: there is no folder {str(self.path.parent)!r}; make it first")
        mode = "rwc" if self._kind.makes else "rw"
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        db = sqlite3.connect(
            uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS
        )
        try:
            self._kind.prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _refused(self, error: sqlite3.DatabaseError) -> StreamiterError:
        told = "name a file that streamiter made, or a new one"
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CORRUPT:
            told = "the file is damaged: restore it from a copy, or save what can be read by sqlite3's .recover"
        return self._kind.error(f"{self._name}: {error}; {told}")

    def _told(self, error: sqlite3.OperationalError) -> StreamiterError:
        code = error.sqlite_errorcode & 0xFF
        if code == sqlite3.SQLITE_FULL:
            return Throttled(f"{self._name}: the disk is full; nothing was written")
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return AccessDenied(f"{self._name}: {error}; this user needs to write to the file and to its folder")
        if code == sqlite3.SQLITE_CANTOPEN and not self._kind.makes and not self.path.exists():
            return self._kind.error(f"{self._name}: there is no such file")
        if code == sqlite3.SQLITE_CANTOPEN and self.path.is_dir():
            return self._kind.error(f"{self._name}: that is a folder; name a file in it")
        if code == sqlite3.SQLITE_ERROR:  # what it was asked makes no sense with these tables
            return self._kind.error(f"{self._name}: {error}: another program changed the file; restore it from a copy")
        return TransientError(f"{self._name}: {error}; is the disk full, or the folder gone?")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """A transaction that writes."""
    db.execute("BEGIN IMMEDIATE")  # a deferred one would find the file busy at its first write, after its reads
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite itself may have rolled back
            db.execute("ROLLBACK")
        raise


def has_table(db: sqlite3.Connection, name: str) -> bool:
    """Whether the file has a table of this name."""
    return bool(db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone())
