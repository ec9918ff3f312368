"""The Kinesis service: streams, and the calls that make, write, change and read them; pure, with time as an argument.

It refuses by raising `Refusal`. Unlike DynamoDB's it never says that a place is trimmed: it goes on at the horizon.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from streamiter.clock import SECOND_US, microseconds
from streamiter.testing.http.refusal import Refusal, expired, throttled
from streamiter.testing.kinesis.iterators import KinesisIterator
from streamiter.testing.kinesis.truth import HOUR_US, KinesisShard, KinesisTruth, PutRecord
from streamiter.testing.trouble.knobs import Knobs

MAX_RECORDS = 10_000
LEAST_HOURS, MOST_HOURS = 24, 8760


@dataclass(frozen=True)
class KinesisPage:
    """A page of GetRecords."""

    records: list[PutRecord]
    next_iterator: str | None
    behind_us: int
    children: list[KinesisShard]


class KinesisService:
    """All that is true of Kinesis, and what the calls tell of it."""

    def __init__(self, knobs: Knobs, region: str, account: str) -> None:
        self.knobs = knobs
        self.region = region
        self.account = account
        self.streams: dict[str, KinesisTruth] = {}  # by name

    # -- streams

    def create(self, name: str, now_us: int, takes_us: int = 0) -> KinesisTruth:
        """A stream, as yet without shards."""
        if name in self.streams:
            raise Refusal("ResourceInUseException", f"Stream {name} under account {self.account} already exists.")
        arn = f"arn:aws:kinesis:{self.region}:{self.account}:stream/{name}"
        self.streams[name] = KinesisTruth(name, arn, now_us, now_us + takes_us)
        return self.streams[name]

    def delete(self, stream: KinesisTruth) -> None:
        """The stream and all that it held are gone."""
        del self.streams[stream.name]

    def stream(self, name: str | None, arn: str | None, now_us: int) -> KinesisTruth:
        """The stream of this name or ARN, as it is now; a refusal when there is none."""
        name = arn.rpartition("/")[2] if arn else name
        stream = self.streams.get(name or "")
        if stream is None or (arn is not None and arn != stream.arn):
            raise self._unknown(name)
        stream.age(now_us)
        return stream

    def _unknown(self, name: str | None) -> Refusal:
        return Refusal("ResourceNotFoundException", f"Stream {name} under account {self.account} not found.")

    def made(self, name: str | None, arn: str | None, now_us: int) -> KinesisTruth:
        """The stream, if it takes and gives records: while it is being made there is nothing of it but its description."""
        stream = self.stream(name, arn, now_us)
        if stream.status(now_us) == "CREATING":
            raise self._unknown(stream.name)
        return stream

    def active(self, name: str | None, arn: str | None, now_us: int) -> KinesisTruth:
        """The stream, if it may be changed: neither is it being made, nor was it resharded a moment ago."""
        stream = self.stream(name, arn, now_us)
        check_status(stream, ("ACTIVE",), now_us)
        return stream

    def resharded(self, stream: KinesisTruth, now_us: int) -> None:
        """It is UPDATING for as long as it is CREATING at first."""
        stream.updated_us = now_us + microseconds(self.knobs.enabling)

    def retain(self, stream: KinesisTruth, hours: int, *, longer: bool) -> None:
        """Changes how long records are held."""
        if not LEAST_HOURS <= hours <= MOST_HOURS:
            raise Refusal("InvalidArgumentException", f"Retention is {LEAST_HOURS} to {MOST_HOURS} hours, not {hours}")
        if (hours * HOUR_US < stream.retention_us) if longer else (hours * HOUR_US > stream.retention_us):
            raise Refusal("InvalidArgumentException", f"{hours} hours are no {'increase' if longer else 'decrease'}")
        stream.retention_us = hours * HOUR_US

    # -- reading

    def shard(self, stream: KinesisTruth, shard_id: str) -> KinesisShard:
        """The shard, for a reader; a refusal when it is not (or no longer) there."""
        shard = stream.shards.get(shard_id)
        if shard is None or shard.is_gone:
            told = f"Shard {shard_id} in stream {stream.name} under account {self.account} does not exist"
            raise Refusal("ResourceNotFoundException", told)
        return shard

    def get_shard_iterator(
        self, stream: KinesisTruth, shard_id: str, type: str, number: str | None, time_us: int | None, now_us: int
    ) -> str:
        """GetShardIterator: the iterator's text."""
        shard = self.shard(stream, shard_id)
        by_number = type.endswith("_SEQUENCE_NUMBER")
        if by_number != (number is not None):
            raise Refusal("InvalidArgumentException", f"{type} and a StartingSequenceNumber: both, or neither")
        if type == "AT_TIMESTAMP":
            if time_us is None:
                raise Refusal("InvalidArgumentException", "Must specify timestampInMillis for AT_TIMESTAMP")
            if time_us > now_us:
                told = "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis"
                raise Refusal("InvalidArgumentException", told)
        owner = None if number is None else stream.owner_of(int(number))
        if owner is not None and owner is not shard:
            told = f"It encodes {owner.id}, while it was used in a call to a shard with {shard_id}"
            raise Refusal("InvalidArgumentException", f"Invalid StartingSequenceNumber. {told}")
        place = self._place(shard, type, int(number or 0), time_us or 0)
        if place is None and self.knobs.stale_number == "refused":
            told = f"StartingSequenceNumber {number} used in GetShardIterator on shard {shard_id} is invalid"
            raise Refusal("InvalidArgumentException", told)
        is_stuck = place is None and self.knobs.stale_number == "empty"
        return KinesisIterator(stream.name, shard_id, place or 0, 0, now_us, is_stuck).encode()

    @staticmethod
    def _place(shard: KinesisShard, type: str, number: int, time_us: int) -> int | None:
        if type == "TRIM_HORIZON":
            return 0
        if type == "LATEST":
            return shard.end
        if type == "AT_TIMESTAMP":
            return shard.place_at_time(time_us)
        return shard.place_at(number) if type == "AT_SEQUENCE_NUMBER" else shard.place_after(number)

    def get_records(self, iterator: KinesisIterator, limit: int | None, now_us: int) -> KinesisPage:
        """GetRecords: a page of records, and the iterator to go on from."""
        stream = self.stream(iterator.stream, None, now_us)
        shard = self.shard(stream, iterator.shard_id)
        if now_us - iterator.issued_us >= microseconds(self.knobs.kinesis_iterator_lifetime):
            raise expired()
        if iterator.is_stuck:
            following = msgspec.structs.replace(iterator, issued_us=now_us)
            return KinesisPage([], following.encode(), stream.retention_us, [])
        if now_us < shard.rests_until_us:
            raise throttled()
        place = max(iterator.place, shard.trimmed)  # trimmed records are passed over, and the caller is not told
        empties = iterator.empties if place == iterator.place else 0
        records: list[PutRecord] = []
        if empties < self._empties_before(shard, place):
            empties += 1
        else:
            records = self._take(shard, place, min(limit or MAX_RECORDS, MAX_RECORDS, self.knobs.page_size))
            if records:
                place, empties = place + len(records), 0
        if self.knobs.bytes_rate is not None:
            shard.rests_until_us = now_us + round(sum(len(r.payload) for r in records) / self.knobs.bytes_rate * 1e6)
        behind_us = self._behind_us(shard, place, now_us)
        is_read_out = shard.is_closed and place == shard.end and empties >= self._empties_before(shard, place)
        if is_read_out and not (records and (shard.last_page or self.knobs.last_page) == "empty"):
            shard.was_read_out = True
            children = stream.children(shard.id) if self.knobs.tells_children else []
            return KinesisPage(records, None, behind_us, children)
        following = KinesisIterator(stream.name, shard.id, place, empties, now_us)
        return KinesisPage(records, following.encode(), behind_us, [])

    def _take(self, shard: KinesisShard, place: int, limit: int) -> list[PutRecord]:
        cut = self.knobs.weather.next_cut(shard.name, place, limit) if self.knobs.weather else None
        limit = limit if cut is None else cut - place
        return shard.take(place, limit, self.knobs.page_bytes)  # type: ignore[return-value]  # what was put is PutRecord

    def _empties_before(self, shard: KinesisShard, place: int) -> int:
        weather = self.knobs.weather
        return shard.pages.empties_before(place) or (weather.empties_before(shard.name, place) if weather else 0)

    def _behind_us(self, shard: KinesisShard, place: int, now_us: int) -> int:
        """How far the page is behind the tip; something at least where records are still to come."""
        if place >= shard.end:
            return 0 if not self._empties_before(shard, place) or not shard.is_closed else 1000
        waiting = shard.records[place - shard.trimmed]
        return max(1000, now_us - waiting.written_us)


def check_status(stream: KinesisTruth, wanted: tuple[str, ...], now_us: int) -> None:
    """Refuses what cannot be done to a stream as it stands in its life."""
    status = stream.status(now_us)
    if status not in wanted:
        raise Refusal("ResourceInUseException", f"Stream {stream.name} is not {' or '.join(wanted)}, but {status}")


def hash_keys(shard: KinesisShard) -> dict[str, str]:
    """A shard's hash keys as the service tells them."""
    return {"StartingHashKey": str(shard.keys.first), "EndingHashKey": str(shard.keys.last)}


def seconds(time_us: int) -> float:
    """A moment as the service tells it."""
    return time_us / SECOND_US
