"""Feeding: sends the values of a file, text by text, and tells how many of the first ones are all written."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streamiter.topic.outgoing import Forming, Outgoing
from streamiter.topic.routing import Key

Headers = Mapping[str, bytes] | None


class Feeding:
    """Values on their way, numbered from 0. `on_written` is told how many of the first ones are all written."""

    def __init__(self, forming: Forming, outgoing: Outgoing, on_written: Callable[[int], object] | None = None) -> None:
        self._forming = forming
        self._outgoing = outgoing
        self._many = outgoing.many(on_written=on_written)

    def put_json(self, text: bytes, key: Key = None, headers: Headers = None) -> None:
        """Sends the next value, given as JSON; Misfit if it does not fit."""
        self._outgoing.put(self._many, self._forming.read(text, key, headers))

    def put_row(self, row: Mapping[str, str], key: Key = None, headers: Headers = None) -> None:
        """Sends the next value, whose attributes are all text; Misfit if it does not fit."""
        self._outgoing.put(self._many, self._forming.convert(row, key, headers))

    def wait_for_room(self) -> bool:
        """Waits until another value may be sent; False: something failed."""
        return self._many.has_room or self._many.wait_for_room()

    def wait_until_written(self, count: int) -> bool:
        """Waits until so many of the first values are all written; False: something failed."""
        return self._many.wait_until_written(count)

    def finish(self, seconds: float | None = None) -> bool:
        """Waits until nothing is on its way, for so many seconds at most; then False."""
        return self._many.wait_for_all(seconds)

    def give_up(self, error: BaseException) -> None:
        """Leaves out the values that are not on their way yet."""
        self._many.fail(error)

    @property
    def taken(self) -> int:
        """How many values were taken."""
        return self._many.taken

    @property
    def written(self) -> int:
        """How many of the first values are all written."""
        return self._many.written

    @property
    def error(self) -> BaseException | None:
        """The error, if something failed."""
        return self._many.error

    def beyond(self) -> list[int]:
        """The values that are written although an earlier one is not."""
        return self._many.beyond()

    def doubtful(self) -> list[int]:
        """The values that may have been written, in spite of the error."""
        return self._many.doubtful()
