"""Salvage: a page that cannot be decoded as a whole, taken apart into its rows, so that one bad row spoils no other.

A body that came whole (its checksum says so) is what the service sent. Without a checksum it may have been damaged on its
way: then it is asked for once more first, and taken apart when the same iterator gives such a page again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from streamiter.position import MOST_DIGITS

_Page = TypeVar("_Page")

# Texts, and all that rows are set apart by. It needs no stack, however deep an image is nested.
_PART = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
_NUMBER = re.compile(rb'"SequenceNumber"\s*:\s*"([0-9]{1,%d})"' % MOST_DIGITS)
_MOST_DOUBTS = 1000


class Split(NamedTuple):
    """An answer's text, taken apart."""

    rest: bytes  # the answer without its rows
    rows: list[bytes]


class Salvage(Generic[_Page]):
    """Reads pages row by row, for the calls of one source: `read` gives None where there is no page in the body."""

    def __init__(self, read: Callable[[bytes], _Page | None]) -> None:
        self._read = read
        self._doubted: dict[str, None] = {}  # iterators of which a page could not be read, the oldest first

    def page(self, iterator: str, body: bytes, *, is_whole: bool) -> _Page | None:
        """The page that could not be decoded; None where it is to be asked for again."""
        if not is_whole and iterator not in self._doubted:
            while len(self._doubted) >= _MOST_DOUBTS:
                self._doubted.pop(next(iter(self._doubted), ""), None)
            self._doubted[iterator] = None
            return None
        return self._read(body)

    def was_read(self, iterator: str) -> None:
        """A page of it could be read after all."""
        if self._doubted:
            self._doubted.pop(iterator, None)


def split(body: bytes) -> Split | None:
    """The rows of an answer, each as the text that it is; None where its brackets do not fit, or it has no Records."""
    depth, start, first, last = 0, 0, -1, -1
    name = b""
    rows: list[bytes] = []
    for found in _PART.finditer(body):
        part = found[0]
        if part[:1] == b'"':
            if depth == 1:
                name = part
        elif part in b"[{":
            depth += 1
            if depth == 2 and part == b"[" and name == b'"Records"' and first < 0:
                first = start = found.end()
        elif part in b"]}":
            depth -= 1
            if depth == 1 and first >= 0 and last < 0:
                last = found.start()
                if rows or body[start:last].strip():
                    rows.append(body[start:last])
        elif depth == 2 and first >= 0 and last < 0:
            rows.append(body[start : found.start()])
            start = found.end()
    if depth != 0 or last < 0:
        return None
    return Split(body[:first] + body[last:], rows)


def number_in(row: bytes) -> str:
    """The sequence number in a row that cannot be decoded; empty where it has none, or several."""
    numbers = _NUMBER.findall(row)
    return numbers[0].decode() if len(numbers) == 1 else ""
