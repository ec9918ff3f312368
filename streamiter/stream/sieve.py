"""The sieve: which records are returned: no duplicates, none that `skip()` went past, none that the model refuses."""

from __future__ import annotations

from streamiter.driving import Driver
from streamiter.errors import PoisonRecord
from streamiter.position import Place
from streamiter.record import Record, SpoiledRecord
from streamiter.stream.ending import Ending
from streamiter.stream.model import Model
from streamiter.stream.seen import Seen

Identity = tuple[str, Place]


class Sieve:
    """Looks at records one by one, before they are taken: a record that it refuses is still to come."""

    def __init__(self, model: Model | None, seen: Seen | None) -> None:
        self.passed_over: set[Identity] = set()  # poison records further on that skip() named
        self.poison = 0  # records passed over
        self.duplicates = 0  # records dropped
        self._model = model
        self._seen = seen
        self._poison: Identity | None = None  # the record that was refused last
        self._accepted: Identity | None = None  # the one that was let through last: it may be looked at again

    @property
    def is_open(self) -> bool:
        """Whether it lets all records through."""
        return self._model is None and self._seen is None and not self.passed_over

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
            elif self._seen is not None and identity != self._accepted and self._seen.is_repeat(record):
                driver.pop()
                self.duplicates += 1
            else:
                self._let_through(record, identity)
                return True
        return False

    def _let_through(self, record: Record, identity: Identity) -> None:
        if self._model is not None:
            self._apply(self._model, record)
        if self._seen is not None:
            self._accepted = identity  # before it counts as seen: Ctrl-C may come, and then it is looked at again
            self._seen.add(record)

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
        if self._seen is not None:
            self._seen.clear()

    def _apply(self, model: Model, record: Record) -> None:
        try:
            record.use_model(model)
        except Exception as error:
            self._poison = _identity(record)
            raise PoisonRecord(record.shard_id, record.sequence_number, model.name, error) from error


def _identity(record: Record) -> Identity:
    return record.shard_id, record.place
