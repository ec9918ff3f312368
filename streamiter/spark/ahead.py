"""Ahead: what comes next is got on a thread of its own while what came before is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

_Result = TypeVar("_Result")

_WAIT_SECONDS = 0.5


class _Told(NamedTuple, Generic[_Result]):
    result: _Result | None
    error: BaseException | None = None
    is_end: bool = False


class Ahead(Generic[_Result]):
    """The results of an iterator, in its order; what it raises is raised in its turn.

    At most `most` results wait to be taken or are being got, beside the one in hand: until one is taken the thread rests.
    Leaving it ends the thread, which closes the iterator; one that is in the middle of a call ends with its call.
    """

    def __init__(self, results: Iterator[_Result], most: int) -> None:
        self._told: queue.SimpleQueue[_Told[_Result]] = queue.SimpleQueue()
        self._room = threading.Semaphore(most)
        self._left = threading.Event()
        arguments = (results, self._told, self._room, self._left)
        self._thread = threading.Thread(target=_get, args=arguments, name="streamiter-ahead", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[_Result]:
        return self

    def __next__(self) -> _Result:
        told = self._told.get()
        self._room.release()
        if told.is_end or told.error is not None:
            self._told.put(told)  # Whoever asks once more is told the same.
            raise StopIteration if told.error is None else told.error
        assert told.result is not None
        return told.result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        self._room.release()
        self._thread.join(_WAIT_SECONDS)


def _get(
    results: Iterator[_Result],
    told: queue.SimpleQueue[_Told[_Result]],
    room: threading.Semaphore,
    left: threading.Event,
) -> None:
    end = _Told[_Result](None, is_end=True)
    try:
        while True:
            room.acquire()
            if left.is_set():
                break
            try:
                told.put(_Told(next(results)))
            except StopIteration:
                break
    except BaseException as error:  # whatever it is, the caller's thread is to see it
        end = _Told(None, error)
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            close()
        told.put(end)
