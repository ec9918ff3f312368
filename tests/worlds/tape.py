"""Tapes: choices made in advance, that a world's telling is read off."""

from __future__ import annotations


class Tape:
    """Choices made in advance; 0, the plain choice, once they are used up."""

    def __init__(self, choices: bytes = b"") -> None:
        self._choices = choices
        self._at = 0

    def draw(self, count: int) -> int:
        """A number from 0 up to count - 1."""
        if self._at == len(self._choices):
            return 0
        self._at += 1
        return self._choices[self._at - 1] % count

    def once_in(self, count: int) -> bool:
        """Whether something happens that happens once in so many times."""
        return self.draw(count) == count - 1
