"""A Kinesis stream's handle: what a test does to one stream, in words of one line each."""

from __future__ import annotations

from collections.abc import Iterable
from types import EllipsisType
from typing import TYPE_CHECKING

from streamiter.clock import microseconds
from streamiter.testing.handle import StreamHandle
from streamiter.testing.kinesis.aggregate import pack
from streamiter.testing.kinesis.truth import HOUR_US, KinesisShard, KinesisTruth, PutRecord

if TYPE_CHECKING:
    from streamiter.testing.http.reception import Reception


class KinesisHandle(StreamHandle):
    """One stream of a simulator. Shards go by the names given in `shape`."""

    def __init__(self, reception: Reception, truth: KinesisTruth) -> None:
        super().__init__(reception)
        self._truth = truth

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._truth.name

    @property
    def arn(self) -> str:
        """The stream's ARN."""
        return self._truth.arn

    @property
    def history(self) -> list[PutRecord]:
        """Every record, in the order really written, trimmed ones included."""
        return self._truth.history

    @property
    def retention_hours(self) -> float:
        """How long records are held; to be set, too."""
        return self._truth.retention_us / HOUR_US

    @retention_hours.setter
    def retention_hours(self, hours: float) -> None:
        self._truth.retention_us = round(hours * HOUR_US)

    def shard(self, name: str) -> KinesisShard:
        """The truth of a shard: its id, its parents, the records it holds."""
        with self._reception.lock:
            self._truth.age(self._reception.now_us)
            return self._truth.shard(name)

    def shard_id(self, name: str) -> str:
        """The id under which the service knows a shard."""
        return self._truth.shard_id(name)

    @property
    def open_shards(self) -> list[str]:
        """The names of the shards that take records, by their hash keys."""
        return [shard.name for shard in self._truth.open_shards()]

    # -- shards

    def shape(self, lineage: str) -> list[str]:
        """Adds shards by the notation of lineages, merges too: `stream.shape("{S1, S2} => S3")`. Parents close."""
        with self._reception.lock:
            return self._truth.grow(lineage, self._reception.now_us)

    def split(self, shard: str, *children: str) -> list[str]:
        """Closes a shard and opens two in its place, each with half of its hash keys."""
        with self._reception.lock:
            truth = self._truth.shard(shard)
            middle = (truth.keys.first + truth.keys.last + 1) // 2
            return self._truth.split(truth, middle, self._reception.now_us, children or (None, None))

    def merge(self, one: str, other: str, child: str | None = None) -> str:
        """Closes two shards that are neighbours, and opens one in their place."""
        with self._reception.lock:
            return self._truth.merge(self._truth.shard(one), self._truth.shard(other), self._reception.now_us, child)

    def reshard(self, count: int) -> None:
        """Splits and merges until so many equal shards are open."""
        with self._reception.lock:
            self._truth.reshard(count, self._reception.now_us)

    def trim(self, shard: str, before: int | None = None) -> None:
        """Trims a shard before a record (its place, counted from 0), or all of it."""
        with self._reception.lock:
            truth = self._truth.shard(shard)
            truth.trim(truth.end if before is None else before)

    def delete(self) -> None:
        """The stream is deleted, with all that it held."""
        with self._reception.lock:
            self._reception.kinesis.delete(self._truth)

    # -- records

    def put(
        self, shard: str, payload: bytes | str = b"", *, key: str | None = "k", created: float | EllipsisType = ...
    ) -> PutRecord:
        """Writes the next record of a shard. `created`, in seconds, is what the service says of its arrival."""
        with self._reception.lock:
            truth, now_us = self._truth.shard(shard), self._reception.now_us
            if truth.was_read_out:
                raise ValueError(f"shard {shard!r} was read to its end already: no reader would see this record")
            shift_us = self._reception.knobs.created_shift_us(truth.name, truth.end)
            created_us = now_us + shift_us if isinstance(created, EllipsisType) else microseconds(created)
            data = payload.encode() if isinstance(payload, str) else payload
            return self._truth.add(truth, key, data, created_us, now_us)

    def put_packed(self, shard: str, records: Iterable[tuple[str, bytes]], *, key: str = "a") -> PutRecord:
        """Writes one record that holds several, as the Kinesis Producer Library packs them."""
        return self.put(shard, pack(records), key=key)

    def put_by_key(self, key: str, payload: bytes | str = b"") -> PutRecord:
        """Writes a record to the shard that its key belongs to."""
        with self._reception.lock:
            return self.put(self._truth.owner(key, None).name, payload, key=key)

    # -- inside

    @property
    def _stream(self) -> KinesisTruth:
        return self._truth
