"""Seen: finds duplicates among the newest records returned, by the identity that the source gives.

It looks at records in the order in which they come out, so that it drops the same ones however they were fetched. It is not in
the token: after a resume, a duplicate of an earlier record comes out once more.
"""

from __future__ import annotations

from collections import OrderedDict

from streamiter.record import Record
from streamiter.source.base import Source

MOST = 100_000  # so many are remembered, about 16 MB of event ids


class Seen:
    """The identities of the newest records returned."""

    def __init__(self, source: Source, most: int = MOST) -> None:
        self._identify = source.identify
        self._most = most
        self._known: OrderedDict[object, None] = OrderedDict()

    def is_repeat(self, record: Record) -> bool:
        """Whether a record with the same identity was returned lately; a record without an identity is never a repeat."""
        return self._identify(record) in self._known

    def add(self, record: Record) -> None:
        """The record is returned."""
        identity = self._identify(record)
        if identity is None:
            return
        self._known[identity] = None
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def clear(self) -> None:
        """Reading goes on elsewhere: nothing was returned yet."""
        self._known.clear()
