"""The sieve: which of the records that come out are returned: no duplicates, none that `skip()` named, none a model refuses."""

from __future__ import annotations

from streamiter.errors import PoisonRecord
from streamiter.position import Place
from streamiter.record import Record
from streamiter.stream.ending import Ending
from streamiter.stream.model import Model
from streamiter.stream.reading import Reading
from streamiter.stream.seen import Seen
from streamiter.stream.tally import Tally

Identity = tuple[str, Place]


class Sieve:
    """Looks at records one by one, before they are taken: what it refuses is still to come."""

    def __init__(self, model: Model | None, seen: Seen | None, tally: Tally) -> None:
        self.passed_over: set[Identity] = set()  # poison records further on that skip() named
        self._model = model
        self._seen = seen
        self._tally = tally
        self._poison: Identity | None = None  # the record that was refused last

    @property
    def is_open(self) -> bool:
        """Whether it lets all through."""
        return self._model is None and self._seen is None and not self.passed_over

    def pop(self, reading: Reading, ending: Ending | None) -> Record | None:
        """The next record that is to be returned, up to an ending; PoisonRecord names one that the model cannot take."""
        while (record := reading.peek()) is not None:
            if ending is not None and ending.stands_before(record):
                return None
            if _identity(record) in self.passed_over:
                self.passed_over.discard(_identity(record))
                reading.pop()
                continue
            if self._seen is not None and self._seen.is_repeat(record):
                self._tally.duplicates += 1
                reading.pop()
                continue
            if self._model is not None:
                self._apply(self._model, record)
            if self._seen is not None:
                self._seen.add(record)
            return reading.pop()
        return None

    def pass_over(self, reading: Reading) -> None:
        """Goes past the record that was refused."""
        self._tally.poison += 1
        record = reading.peek()
        if record is not None and _identity(record) == self._poison:
            reading.pop()
        elif self._poison is not None:
            self.passed_over.add(self._poison)

    def clear(self) -> None:
        """Reading goes on elsewhere: what comes again from here on is not a duplicate."""
        self.passed_over.clear()
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
