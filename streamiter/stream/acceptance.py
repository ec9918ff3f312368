"""Acceptance: which records are returned: no duplicates, none that `skip()` went past, none that the model refuses."""

from __future__ import annotations

from collections import OrderedDict

from streamiter.driving import Driver
from streamiter.errors import PoisonRecord
from streamiter.position import Place
from streamiter.record import Record, SpoiledRecord
from streamiter.source.base import Source
from streamiter.stream.model import Model
from streamiter.stream.starting import Ending

Identity = tuple[str, Place]

MOST = 100_000  # so many are remembered, about 16 MB of event ids


class Duplicates:
    """Finds duplicates among the newest records returned, by the identity that the source gives.

    It looks at records in the order in which they come out, so it drops the same ones however they were fetched. It is not in
    the token: after a resume, a duplicate of an earlier record comes out once more.
    """

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


class Acceptance:
    """Looks at records one by one, before they are taken: a record that it refuses is still to come."""

    def __init__(self, model: Model | None, known: Duplicates | None) -> None:
        self.passed_over: set[Identity] = set()  # poison records further on that skip() named
        self.poison = 0  # records passed over
        self.duplicates = 0  # records dropped
        self._model = model
        self._known = known
        self._poison: Identity | None = None  # the record that was refused last
        self._accepted: Identity | None = None  # the one that was let through last: it may be looked at again

    @property
    def is_open(self) -> bool:
        """Whether it lets all records through."""
        return self._model is None and self._known is None and not self.passed_over

    def accepts(self, driver: Driver, ending: Ending | None) -> bool:
        """Whether to return the next record; raises PoisonRecord for one that cannot be decoded, or that the model refuses.

        Drops duplicates and skipped records on the way, but none beyond an ending.
        """
        while (record := driver.peek()) is not None:
            if ending is not None and ending.stands_before(record):
                return False
            identity = _identity(record)
            if identity in self.passed_over:
                driver.pop()
                self.passed_over.discard(identity)
            elif isinstance(record, SpoiledRecord):
                self._poison = identity
                raise PoisonRecord.spoiled(record.shard_id, record.sequence_number, record.reason)
            elif self._known is not None and identity != self._accepted and self._known.is_repeat(record):
                driver.pop()
                self.duplicates += 1
            else:
                self._let_through(record, identity)
                return True
        return False

    def _let_through(self, record: Record, identity: Identity) -> None:
        if self._model is not None:
            self._apply(self._model, record)
        if self._known is not None:
            self._accepted = identity  # before it counts as known: Ctrl-C may come, and then it is looked at again
            self._known.add(record)

    def note_poison(self) -> None:
        """A record was skipped."""
        self.poison += 1

    def pass_over(self, driver: Driver) -> None:
        """Goes past the record that was refused last."""
        record = driver.peek()
        if record is not None and _identity(record) == self._poison:
            driver.pop()
        elif self._poison is not None:
            self.passed_over.add(self._poison)
        self.note_poison()

    def clear(self) -> None:
        """Reading goes on elsewhere: records that come again from here on are no duplicates."""
        self.passed_over.clear()
        self._accepted = None
        if self._known is not None:
            self._known.clear()

    def _apply(self, model: Model, record: Record) -> None:
        try:
            record.use_model(model)
        except Exception as error:
            self._poison = _identity(record)
            raise PoisonRecord(record.shard_id, record.sequence_number, model.name, error) from error


def _identity(record: Record) -> Identity:
    return record.shard_id, record.place
