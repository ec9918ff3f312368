"""Turns: calls made one after the other on the thread that reads, where a stream has daemon threads otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from streamiter.driving.inline import Inline
from streamiter.driving.threads import Answer
from streamiter.stream.readings import Readings
from tests.worlds.tape import Tape


class Turns(Inline):
    """Calls made inline, of which a tape says which answers are late, and in what order they come."""

    def __init__(self, most: int, *, tape: Tape) -> None:
        super().__init__(most)
        self._tape = tape
        self._made: list[Answer] = []

    @property
    def has_answers(self) -> bool:
        return super().has_answers or bool(self._made)

    def answers(self, wait_seconds: float = 0.0) -> list[Answer]:
        self._made += super().answers()
        if not self._made:
            return []
        late = self._tape.draw(len(self._made) + (wait_seconds == 0))  # who waits for answers gets one
        found = [self._made.pop(self._tape.draw(len(self._made))) for _ in range(len(self._made) - late)]
        self.under_way = late
        return found


@contextmanager
def taking_turns(tape: Tape | None = None) -> Iterator[None]:
    """Every stream made inside makes its calls one after the other."""
    calls = Inline if tape is None else partial(Turns, tape=tape)
    with (
        patch("streamiter.stream.course.Readings", partial(Readings, calls=calls)),
        patch("streamiter.driving.list_now.Threads", calls),
    ):
        yield
