"""A table's handle: what a test does to one table's stream, one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

from streamiter.clock import microseconds
from streamiter.testing.handle import StreamHandle
from streamiter.testing.http.reception import Reception
from streamiter.testing.truth.images import Image
from streamiter.testing.truth.records import TTL_IDENTITY, EventName, SpelledOut, ViewType, WrittenRecord
from streamiter.testing.truth.shards import SimulatedShard
from streamiter.testing.truth.simulated_table import SimulatedTable
from streamiter.testing.truth.spelled import Spelled, spelled_image, spelled_number, spelled_time_us
from streamiter.testing.truth.streams import SimulatedStream
from streamiter.testing.truth.writing import append


class Table(StreamHandle):
    """One table of a simulator. Shards go by the names given in `shape`; what happens, happens to the latest stream."""

    def __init__(self, reception: Reception, truth: SimulatedTable, *, keep_ids: bool) -> None:
        super().__init__(reception)
        self._truth = truth
        self._keep_ids = keep_ids

    @property
    def table_name(self) -> str:
        return self._truth.name

    @property
    def table_arn(self) -> str:
        return self._truth.arn

    @property
    def history(self) -> list[WrittenRecord]:
        """Every record, in the order really written, trimmed ones and those of earlier streams included."""
        self._reception.live()
        return self._truth.history

    @property
    def stream_arn(self) -> str:
        """The ARN of the latest stream."""
        return self._stream.arn

    @property
    def stream_arns(self) -> list[str]:
        """The ARNs of all streams, oldest first."""
        return [stream.arn for stream in self._truth.streams]

    def shard(self, name: str) -> SimulatedShard:
        """The truth of a shard: its id, the records it holds, its numbers."""
        with self._reception.lock:
            self._reception.live()
            self._stream.age(self._now_us, self._reception.knobs)
            return self._stream.shard(name)

    def shard_id(self, name: str) -> str:
        """The id under which the service knows a shard."""
        return self._stream.shard_id(name, self._now_us)

    @property
    def open_shards(self) -> list[str]:
        """The names of the shards that take records."""
        self._reception.live()
        return [shard.name for shard in self._stream.open_shards()]

    # -- shards come and go

    def shape(self, lineage: str) -> list[str]:
        """Adds shards: `sim.shape("S0 => {S1, S2}")`. Parents close, also those that were there. Gives the new names."""
        with self._reception.lock:
            return self._stream.grow(lineage, self._now_us, self._next_number)

    def split(self, shard: str, *children: str) -> list[str]:
        """Closes a shard and opens its children: two, unless they are named."""
        with self._reception.lock:
            return self._succeed(shard, list(children) or [None, None])

    def roll(self, shard: str | None = None, child: str | None = None) -> list[str]:
        """Closes a shard and opens one child; without arguments all open shards, as happens about every four hours."""
        with self._reception.lock:
            names = self.open_shards if shard is None else [shard]
            return [new for name in names for new in self._succeed(name, [child])]

    def trim(self, shard: str, before: int | str | WrittenRecord | None = None) -> None:
        """Trims a shard before a record (itself, its sequence number, or its place counted from 0), or all of it."""
        with self._reception.lock:
            truth = self._stream.shard(shard)
            if isinstance(before, WrittenRecord):
                before = truth.place_of(before)
            elif isinstance(before, str):
                before = truth.place_at(int(before)) or 0
            truth.trim(truth.end if before is None else before)

    def disable(self, *, takes: float = 0) -> None:
        """Disables the stream: its shards close, and it stays readable for a day. DISABLING for `takes` seconds."""
        with self._reception.lock:
            self._stream.disable(self._now_us, microseconds(takes))

    def enable(self, lineage: str = "", *, view: ViewType = "NEW_AND_OLD_IMAGES", takes: float = 0) -> str:
        """A new stream, with a new ARN, which it gives. ENABLING for `takes` seconds."""
        with self._reception.lock:
            stream = self._reception.service.enable(
                self._truth, view, self._now_us, microseconds(takes), keep_ids=self._keep_ids
            )
            if lineage:
                self.shape(lineage)
            return stream.arn

    # -- records

    def put(
        self,
        shard: str,
        *,
        key: Any = ...,
        new: Image | EllipsisType | None = ...,
        old: Image | None = None,
        event: EventName = "INSERT",
        created: float | EllipsisType | None = ...,
        number: int | str | EllipsisType = ...,
        user_identity: dict[str, str] | bool | None = None,
        typed: bool = False,
    ) -> WrittenRecord:
        """Writes the next record of a shard.

        `key` is an image, or the hash key's value. `created` is in seconds, None leaves it out of the record; it may run
        backwards, as may `number`: a text of 21 to 40 digits, or an int, to which 10**20 is added if it is shorter.
        `user_identity=True` is that of the deletes by time to live. With `typed`, images are DynamoDB's JSON already.
        A closed shard takes records, too, until a reader has seen its end.
        """
        with self._reception.lock:
            self._reception.live()
            truth, now_us = self._stream.shard(shard), self._now_us
            if truth.was_read_out:
                raise ValueError(f"shard {shard!r} was read to its end already: no reader would see this record")
            key_image = self._key(key)
            new_image = (None if event == "REMOVE" else key_image) if isinstance(new, EllipsisType) else new
            is_own = isinstance(number, EllipsisType)
            place = None if is_own else len(self.history) + 1
            images = (key_image, new_image, old) if typed else None
            its_number = (
                self._next_number(truth.greatest) if isinstance(number, EllipsisType) else spelled_number(number)
            )
            created_us = spelled_time_us(
                created, now_us + self._reception.knobs.created_shift_us(truth.name, truth.end)
            )
            identity = TTL_IDENTITY if user_identity is True else user_identity or None
            spelled_key = spelled_image(key_image, typed) or {}
            return append(
                self._truth,
                truth,
                Spelled(
                    spelled_key,
                    spelled_image(old, typed),
                    spelled_image(new_image, typed),
                    event,
                ),
                number=its_number,
                created_us=created_us,
                now_us=now_us,
                user_identity=identity,
                spelled=None if is_own and not typed else SpelledOut(place, images),
            )

    # -- listings

    def repeat_cursor(self, times: float = 1) -> None:
        """So many calls (math.inf: all) that name a shard to start after get that same shard as LastEvaluatedShardId."""
        self._stream.listing.cursor_repeats = times

    # -- inside

    @property
    def _stream(self) -> SimulatedStream:
        return self._truth.latest

    def _next_number(self, above: int = 0) -> int:
        return self._reception.service.next_number(above)

    def _succeed(self, shard: str, children: Sequence[str | None]) -> list[str]:
        return self._stream.succeed(self._stream.shard(shard), children, self._now_us, self._next_number)

    def _key(self, key: Any) -> Image:
        if isinstance(key, Mapping):
            return key
        return {self._truth.hash_key: str(len(self.history) + 1) if key is ... else key}
