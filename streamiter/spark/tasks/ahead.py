"""Ahead: a thread fetches the next results while the caller still works on the ones before."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

_Result = TypeVar("_Result")

_WAIT_SECONDS = 0.5


class _Told(NamedTuple, Generic[_Result]):
    result: _Result | None
    error: BaseException | None = None
    is_end: bool = False


class Ahead(Generic[_Result]):
    """The results of an iterator, in its order, and then its error if it raises one.

    The thread is at most `most` results ahead of the caller, counting the one that it is fetching; then it waits until the
    caller takes one. Leaving the context ends the thread, which closes the iterator. A call that is under way ends first.
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
            self._told.put(told)  # A caller that asks once more gets the same answer.
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
    except BaseException as error:  # Each kind of error is the caller's to see, on the caller's thread.
        end = _Told(None, error)
    finally:
        if isinstance(results, Generator):
            results.close()
        told.put(end)
