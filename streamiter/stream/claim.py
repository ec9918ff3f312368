"""Claims: one thread at a time reads or moves a stream; an error names both threads if a second one tries."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import Thread, current_thread
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakSet

from streamiter.errors import StreamiterError

P = ParamSpec("P")
T = TypeVar("T")

READER = "reader"


class Claim:
    """The thread that reads at present, and the method that it is in."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = os.getpid()
        # One entry at most, set in one step and cleared in one, between which no other thread and no signal can come. Ctrl-C
        # right after it is set may leave it there: the same thread may claim again, and the entry goes with that.
        self.holder: dict[str, tuple[Thread, str]] = {}

    def take(self, what: str) -> None:
        """Claims the stream for this thread; StreamiterError if another thread is in the middle of reading."""
        self.check_process(what)
        asking = current_thread()
        reader, doing = self.holder.setdefault(READER, (asking, what))
        if reader is not asking:
            raise StreamiterError(
                f"thread {asking.name!r} called {what}() of {self._name} while thread {reader.name!r} is in its {doing}(): "
                "one thread at a time reads or moves a stream; stats, token, ended and close() are free to all. Put a lock "
                "around the stream, or give each thread a Stream of its own"
            )

    def check_process(self, what: str) -> None:
        """Refuses a process that was forked off: the stream's threads and connections are its parent's."""
        if self.is_forked:
            raise StreamiterError(
                f"{what}() of {self._name}: this Stream was made in process {self._process}, and its threads and connections "
                f"stay there; this is process {os.getpid()}, which was forked off. Make the source and the Stream anew in "
                "each process: Stream(source, token); stream.token can still be read here"
            )

    @property
    def is_forked(self) -> bool:
        """Whether this process is a child of the one that made the stream."""
        return os.getpid() != self._process


class _Claims(Protocol):
    """What `claimed` needs: `enter` claims, and `holder` says which thread has the claim."""

    @property
    def holder(self) -> dict[str, tuple[Thread, str]]: ...

    def enter(self, what: str) -> None: ...


class _Reads(Protocol):
    @property
    def _outlet(self) -> _Claims: ...


R = TypeVar("R", bound=_Reads)


def claimed(what: str) -> Callable[[Callable[Concatenate[R, P], T]], Callable[Concatenate[R, P], T]]:
    """A method that only one thread at a time may be in; `what` is its name in messages."""

    def decorate(method: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
        @wraps(method)
        def alone(self: R, *args: P.args, **kwargs: P.kwargs) -> T:
            outlet = self._outlet
            outlet.enter(what)
            try:
                return method(self, *args, **kwargs)
            finally:
                outlet.holder.clear()

        return cast("Callable[Concatenate[R, P], T]", alone)

    return decorate


class Forks(Protocol):
    """An object that must know when its process was forked off."""

    def forked(self) -> None:
        """Called in the child, before any of the caller's code."""


alive: WeakSet[Forks] = WeakSet()


def _forked() -> None:
    for found in list(alive):
        found.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
