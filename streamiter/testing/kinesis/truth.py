"""A Kinesis stream as it really is: shards with their ranges of hash keys, what they hold, how they follow each other."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import md5
from typing import Any, NamedTuple

import msgspec

from streamiter.clock import SECOND_US
from streamiter.lineage import notation
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.consumers import Consumers
from streamiter.testing.kinesis.intake import Intake
from streamiter.testing.kinesis.sequence_numbers import GREATEST_SERIAL, SequenceNumber
from streamiter.testing.kinesis.settings import Settings
from streamiter.testing.trouble.listing import Listing
from streamiter.testing.truth.rendering import seconds_json
from streamiter.testing.truth.shards import SimulatedShard

WHOLE = 1 << 128
HOUR_US = 3600 * SECOND_US

_encode = msgspec.json.Encoder().encode


def id_of(place: int) -> str:
    """A shard's id, as the service counts them."""
    return f"shardId-{place:012d}"


def resolved_id(text: str) -> str | None:
    """The id that a caller means: the service takes 0 and shardId-0 for the first shard, too. None: it cannot be one."""
    digits = text.partition("-")[2].partition("-")[0] or text
    return id_of(int(digits)) if digits.isascii() and digits.isdigit() and int(digits) < 1 << 31 else None


class HashKeys(NamedTuple):
    """The hash keys of a shard, from the first to the last."""

    first: int
    last: int

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.first <= number <= self.last


class PutRecord(msgspec.Struct, frozen=True):
    """A record in the truth behind the service: `stream.put` returns it, `stream.history` lists them."""

    shard_id: str
    sequence_number: str
    partition_key: str | None
    payload: bytes
    created_us: int | None  # when it arrived, as the service says
    written_us: int  # when it really did
    body: bytes
    is_encrypted: bool = False

    @property
    def number(self) -> int:
        """The sequence number as the integer that it compares by."""
        return int(self.sequence_number)

    def __repr__(self) -> str:
        return f"<PutRecord {self.sequence_number} of {self.shard_id}>"


def put_record(
    shard_id: str,
    number: int,
    partition_key: str | None,
    payload: bytes,
    created_us: int,
    written_us: int,
    *,
    is_encrypted: bool = False,
) -> PutRecord:
    """A record, with its JSON in a GetRecords answer made once."""
    told: dict[str, Any] = {
        "SequenceNumber": str(number),
        "ApproximateArrivalTimestamp": msgspec.Raw(seconds_json(created_us)),
        "Data": b64encode(payload).decode(),
    }
    if partition_key is not None:
        told["PartitionKey"] = partition_key
    if is_encrypted:
        told["EncryptionType"] = "KMS"
    return PutRecord(shard_id, str(number), partition_key, payload, created_us, written_us, _encode(told), is_encrypted)


class KinesisShard(SimulatedShard):
    """One shard; it may have two parents. All its numbers begin with the second in which it was made."""

    def __init__(
        self, name: str, shard_id: str, parents: Sequence[str], made_seconds: int, opened_us: int, keys: HashKeys
    ) -> None:
        self.place = int(shard_id.rpartition("-")[2])  # among the stream's shards
        self.made_seconds = made_seconds
        self._serial = 0
        starting = int(SequenceNumber(made_seconds, 0, made_seconds, self.place))
        super().__init__(name, shard_id, parents[0] if parents else None, starting, opened_us)
        self.parents = tuple(parents)
        self.keys = keys
        self.rests_until_us = 0  # it gave as much as its rate allows until then
        self.intake = Intake()

    def next_number(self, now_us: int) -> int:
        """A sequence number greater than any of this shard so far."""
        self._serial += 1
        seconds = max(now_us // SECOND_US, self.made_seconds)
        return int(SequenceNumber(self.made_seconds, self._serial, seconds, self.place))

    def close(self, now_us: int) -> None:
        if self.closed_us is None:
            super().close(now_us)
            seconds = max(now_us // SECOND_US, self.made_seconds)
            self.ending = int(SequenceNumber(self.made_seconds, GREATEST_SERIAL, seconds, self.place))


class KinesisTruth:
    """One stream: its shards over time, from its making to its deletion."""

    def __init__(self, name: str, arn: str, created_us: int, active_us: int) -> None:
        self.name = name
        self.arn = arn
        self.created_us = created_us
        self.active_us = active_us  # CREATING until then
        self.updated_us = 0  # UPDATING until then
        self.retention_us = 24 * HOUR_US
        self.is_on_demand = False
        self.distributes = False  # AUTO: records are spread over the shards without regard to their keys
        self.gone_us: int | None = None  # DELETING until then, and gone after that
        self.settings = Settings()
        self.consumers = Consumers(arn)
        self.shards: dict[str, KinesisShard] = {}  # by id, in the order created
        self.history: list[PutRecord] = []
        self.listing = Listing()
        self._names: dict[str, str] = {}  # ids by the names that a test gave
        self._spread = 0  # records that went where the stream likes

    def status(self, now_us: int) -> str:
        """Where it stands in its life."""
        if self.gone_us is not None:
            return "DELETING"
        if now_us < self.active_us:
            return "CREATING"
        return "UPDATING" if now_us < self.updated_us else "ACTIVE"

    # -- shards

    def shard(self, name: str) -> KinesisShard:
        """The shard that the test calls so, or that has this id."""
        try:
            return self.shards[self._names.get(name, name)]
        except KeyError:
            raise LookupError(f"there is no shard {name!r} in {self.name}; stream.shape({name!r}) makes one") from None

    def shard_id(self, name: str) -> str:
        """The id that a name stands for; ids count up, as the service's do."""
        if name in self.shards:
            return name
        if name not in self._names:
            self._names[name] = id_of(len(self._names))
        return self._names[name]

    def open_shards(self) -> list[KinesisShard]:
        """Those that take records, by their hash keys."""
        return sorted((shard for shard in self.shards.values() if not shard.is_closed), key=lambda shard: shard.keys)

    def children(self, shard_id: str) -> list[KinesisShard]:
        """The shards that follow one."""
        return [shard for shard in self.shards.values() if shard_id in shard.parents]

    def grow(self, text: str, now_us: int) -> list[str]:
        """Adds the shards of a notation. Parents close, also those that were there before."""
        planned = notation.parse(text)
        roots = [shard.id for shard in planned if not shard.parents and self.shard_id(shard.id) not in self.shards]
        new = []
        for shard in planned:
            parents = [self.shard_id(parent) for parent in shard.parents]
            if self.shard_id(shard.id) in self.shards:
                continue
            if len(parents) > 2:
                raise ValueError(f"{shard.id} would have the parents {', '.join(shard.parents)}; Kinesis knows two")
            siblings = [other.id for other in planned if other.parents == shard.parents] if parents else roots
            keys = self._part(parents, siblings.index(shard.id), len(siblings))
            new.append(self._add(shard.id, parents, keys, now_us).name)
        for parent in {self.shard_id(parent) for shard in planned for parent in shard.parents} & self.shards.keys():
            self.shards[parent].close(now_us)
        return new

    def _part(self, parents: list[str], place: int, parts: int) -> HashKeys:
        above = [self.shards[parent].keys for parent in parents if parent in self.shards]
        first = min((keys.first for keys in above), default=0)
        size = max((keys.last for keys in above), default=WHOLE - 1) + 1 - first
        return HashKeys(first + size * place // parts, first + size * (place + 1) // parts - 1)

    def start(self, count: int, now_us: int) -> None:
        """So many shards, each with an equal part of the hash keys."""
        for place in range(count):
            self._add(None, [], self._part([], place, count), now_us)

    def split(self, shard: KinesisShard, at: int, now_us: int, names: Sequence[str | None] = (None, None)) -> list[str]:
        """A shard closes, and two follow: the second one begins at this hash key."""
        if not shard.keys.first < at <= shard.keys.last:
            raise Refusal("InvalidArgumentException", f"NewStartingHashKey {at} lies outside of shard {shard.id}")
        shard.close(now_us)
        parts = (HashKeys(shard.keys.first, at - 1), HashKeys(at, shard.keys.last))
        return [self._add(name, [shard.id], keys, now_us).name for name, keys in zip(names, parts, strict=True)]

    def merge(self, one: KinesisShard, other: KinesisShard, now_us: int, name: str | None = None) -> str:
        """Two neighbours close, and one shard follows them."""
        self.check_adjacent(one, other)
        one.close(now_us)
        other.close(now_us)
        keys = HashKeys(min(one.keys.first, other.keys.first), max(one.keys.last, other.keys.last))
        return self._add(name, [one.id, other.id], keys, now_us).name

    def check_adjacent(self, one: KinesisShard, other: KinesisShard) -> None:
        """Refuses two shards whose hash keys are not adjacent."""
        if one.keys.last + 1 != other.keys.first and other.keys.last + 1 != one.keys.first:
            told = f"Shards {one.id} and {other.id} in stream {self.name} under account {self.arn.split(':')[4]}"
            told += " are not an adjacent pair of shards eligible for merging"
            raise Refusal("InvalidArgumentException", told)

    def reshard(self, count: int, now_us: int) -> None:
        """Splits and merges until so many equal shards are open; in between there are shards that nothing was put into."""
        firsts = [WHOLE * place // count for place in range(count)]
        for first in firsts[1:]:
            shard = next(shard for shard in self.open_shards() if first in shard.keys)
            if shard.keys.first != first:
                self.split(shard, first, now_us)
        for first, end in zip(firsts, [*firsts[1:], WHOLE], strict=True):
            within = [shard for shard in self.open_shards() if first <= shard.keys.first < end]
            while len(within) > 1:
                merged = self.merge(within[0], within[1], now_us)
                within[:2] = [self.shard(merged)]

    def _add(self, name: str | None, parents: Sequence[str], keys: HashKeys, now_us: int) -> KinesisShard:
        shard_id = self.shard_id(name if name is not None else id_of(len(self._names)))
        # A child's numbers are greater than its parents', also where the clock stands still.
        older = [self.shards[parent].made_seconds + 1 for parent in parents if parent in self.shards]
        made_seconds = max([now_us // SECOND_US, 0, *older])
        shard = KinesisShard(name or shard_id, shard_id, parents, made_seconds, now_us, keys)
        if shard_id in self.shards:
            raise ValueError(f"there is a shard {shard.name!r} already")
        self.shards[shard_id] = shard
        return shard

    # -- records

    def newest_seconds(self, now_us: int) -> int:
        """The greatest second that a number may tell of."""
        return max([now_us // SECOND_US, *(shard.made_seconds for shard in self.shards.values())])

    def owner(self, partition_key: str | None, explicit: str | None) -> KinesisShard:
        """The open shard that a partition key, or an explicit hash key, belongs to."""
        shards = self.open_shards()
        if self.distributes and shards:
            self._spread += 1
            return shards[self._spread % len(shards)]
        if partition_key is None:
            raise Refusal("InvalidArgumentException", "PartitionKey must be specified")
        number = int(explicit) if explicit else int.from_bytes(md5(partition_key.encode()).digest(), "big")
        for shard in shards:
            if number in shard.keys:
                return shard
        raise Refusal("ResourceNotFoundException", f"Stream {self.name} has no shard for hash key {number}")

    def add(
        self, shard: KinesisShard, partition_key: str | None, payload: bytes, created_us: int, now_us: int
    ) -> PutRecord:
        """The next record of a shard."""
        is_encrypted = self.settings.key_id is not None
        number = shard.next_number(now_us)
        record = put_record(shard.id, number, partition_key, payload, created_us, now_us, is_encrypted=is_encrypted)
        shard.add(record)
        self.history.append(record)
        return record

    def age(self, now_us: int) -> None:
        """Removes the records that are older than the retention from all shards."""
        for shard in self.shards.values():
            shard.age(now_us, self.retention_us / SECOND_US)
