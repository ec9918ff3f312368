"""The processor: a user's function with its source and its options, as the user declared it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamiter.app.call import finished
from streamiter.app.forms import Form, Handler
from streamiter.app.policies import Policy
from streamiter.app.repeats import Repeat
from streamiter.app.value import value_of
from streamiter.errors import PoisonRecord
from streamiter.lease.wishes import Entry, Every, records_of
from streamiter.log import LogRecord
from streamiter.record import ChangeRecord, Record, SpoiledRecord
from streamiter.source.base import Source
from streamiter.stream.model import Model


@dataclass(frozen=True, slots=True)
class Processor:
    """What one `@app.processor` declares."""

    name: str
    source: str | Source[Any]
    handler: Handler
    order: str
    concurrency: int
    size: int
    within_seconds: float
    start: Any
    on_error: Policy
    where: Callable[[Record], bool] | None
    middleware: Sequence[Any]
    model: Model | None
    in_flight: int
    key: Callable[[Record], Any] | None = field(default=None)
    acks: str = field(default="lease")  # or "group": other programs share a group of consumers with it
    has_values: bool = field(default=False)  # the source's records carry values, which `where` asks for, too

    def prepare(self, record: Record) -> Record:
        """The record as the function shall see it. Raises PoisonRecord if it cannot be decoded, or if the model refuses it."""
        if isinstance(record, SpoiledRecord):
            raise PoisonRecord.spoiled(record.shard_id, record.sequence_number, record.reason)
        if self.where is not None and not self.has_values:
            self._asked_of(record)  # where that raises, this one does
        if self.model is not None:
            try:
                record.use_model(self.model)
            except Exception as error:
                raise PoisonRecord(record.shard_id, record.sequence_number, self.model.name, error) from error
        if self.where is not None and self.has_values:
            self._asked_of(record)
        return record

    def prepares(self, entries: Sequence[Entry]) -> bool:
        """Whether these must be looked at one by one, which is rare."""
        return self.looks_at_each or SpoiledRecord in set(map(type, records_of(entries)))

    @property
    def looks_at_each(self) -> bool:
        """Whether the model or `where` is asked about each record."""
        return self.model is not None or self.where is not None

    def refuses(self, record: Record) -> bool:
        """Whether the policy has to decide on the record: it cannot be decoded, or the model or `where` fails on it."""
        if not self.wants(record):
            return False
        try:
            self.prepare(record)
        except Exception:
            return True
        return False

    def sift(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], list[int]]:
        """The entries to hand over, and the numbers of the others. Those behind the last one handed over count with it."""
        if self.where is None and Repeat not in set(map(type, records_of(entries))):
            return entries, []
        kept = [entry for entry in entries if self.wants(entry.record)]
        numbers = {entry.number for entry in kept}
        if kept:
            kept[-1] = kept[-1].upto(entries[-1])
        return tuple(kept), [entry.number for entry in entries if entry.number not in numbers]

    def wants(self, record: Record) -> bool:
        """Whether to hand the record over: it is no repeat, and `where` is true for it, or raises an error for the policy."""
        if isinstance(record, Repeat):
            return False
        if self.where is None or isinstance(record, SpoiledRecord):
            return True
        try:
            return bool(self._asked_of(record))
        except Exception:
            return True

    def _asked_of(self, record: Record) -> Any:
        assert self.where is not None
        if self.has_values:
            assert self.model is not None
            record.use_model(self.model)
        elif self.model is not None:
            record.forget_model()  # of a record that comes again; `where` is about what the service sent
        found = self.where(record)
        finished(found, "where= returned what is still to be run: it takes a def, not async def")
        return found

    def value_of(self, record: Record) -> Any:
        """The model's value of a record."""
        return value_of(record)

    def group_of(self, record: Record) -> Any:
        """With order="key": the key of a record. Records of one key keep their order. None: it has no key."""
        if isinstance(record, Repeat):
            return None
        if self.key is not None:
            found = self.key(record)
            finished(found, "key= returned what is still to be run: it takes a def, not async def")
            return found
        if isinstance(record, SpoiledRecord):
            return None
        if isinstance(record, ChangeRecord):
            return json.dumps(record.key, sort_keys=True, default=repr)
        if isinstance(record, LogRecord):
            return record.key
        return getattr(record, "partition_key", None)

    def group_to_keep(self, record: Record) -> Any:
        """As `group_of`, for the engine. A record whose key cannot be found keeps its order among all; its policy decides."""
        try:
            return self._hashable(record)
        except Exception:
            return Every.GROUP

    def check_key(self, entry: Entry) -> None:
        """Raises the error because of which a record's key cannot be found."""
        if entry.group is Every.GROUP:
            self._hashable(entry.record)

    def _hashable(self, record: Record) -> Any:
        group = self.group_of(record)
        hash(group)
        return group

    @property
    def hands_out_many(self) -> bool:
        """Whether records are gathered for a while."""
        return self.handler.form in (Form.BATCH, Form.CLASS)
