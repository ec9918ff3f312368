"""The Kinesis service: streams, and the calls that make, write, change and read them; pure, with time as an argument.

It refuses by raising `Refusal`. Unlike DynamoDB's it never says that a place is trimmed: it goes on at the horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from streamiter.clock import SECOND_US, microseconds
from streamiter.testing.http.refusal import Refusal, throttled
from streamiter.testing.kinesis.consumers import Consumer
from streamiter.testing.kinesis.consumers import not_found as no_consumer
from streamiter.testing.kinesis.iterators import KinesisIterator
from streamiter.testing.kinesis.sequence_numbers import parse, spelled
from streamiter.testing.kinesis.truth import HOUR_US, KinesisShard, KinesisTruth, PutRecord, id_of, resolved_id
from streamiter.testing.trouble.knobs import Knobs

MAX_RECORDS = 10_000
LEAST_HOURS, MOST_HOURS = 24, 8760
_LAST_SECOND = 253_402_300_799  # of the year 9999
_LIMITS_PAGE = (
    "Refer to the AWS Service Limits page (http://docs.aws.amazon.com/general/latest/gr/aws_service_limits.html) "
    "for current limits and how to request higher limits."
)


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
        self.commitment = "DISABLED"  # the account's, to a least throughput that is paid for
        self.policies: dict[str, str] = {}  # by the ARN of what they are on

    # -- streams

    def create(self, name: str, now_us: int, takes_us: int = 0) -> KinesisTruth:
        """A stream, as yet without shards."""
        self.check_free(name, now_us)
        arn = f"arn:aws:kinesis:{self.region}:{self.account}:stream/{name}"
        self.streams[name] = KinesisTruth(name, arn, now_us, now_us + takes_us)
        return self.streams[name]

    def check_free(self, name: str, now_us: int) -> None:
        """Refuses a name that a stream has."""
        self.bury(now_us)
        if name in self.streams:
            raise Refusal("ResourceInUseException", f"Stream {name} under account {self.account} already exists.")

    def delete(self, stream: KinesisTruth, gone_us: int = 0) -> None:
        """The stream is DELETING until then; after that it is gone with all that it held."""
        stream.gone_us = gone_us
        stream.consumers.clear()
        self.bury(gone_us and gone_us - 1)

    def bury(self, now_us: int) -> None:
        """Forgets the streams whose deletion is over."""
        for name in [name for name, stream in self.streams.items() if stream.gone_us is not None]:
            if (self.streams[name].gone_us or 0) <= now_us:
                stream = self.streams.pop(name)
                self.policies = {arn: text for arn, text in self.policies.items() if not arn.startswith(stream.arn)}

    def stream(self, name: str | None, arn: str | None, now_us: int) -> KinesisTruth:
        """The stream of this name or ARN, as it is now; a refusal when there is none, or the two do not fit."""
        self.bury(now_us)
        named = _name_in(arn) if arn else name
        if arn and name is not None and name != named:
            raise Refusal("InvalidArgumentException", f"StreamName {name} and StreamARN {arn} are not the same stream")
        stream = self.streams.get(named or "")
        if stream is None or (arn is not None and arn != stream.arn):
            raise self._unknown(named)
        stream.age(now_us)
        return stream

    def by_arn(self, arn: str, now_us: int) -> KinesisTruth:
        """The stream of this ARN."""
        return self.stream(None, arn, now_us)

    def consumer(self, arn: str, now_us: int) -> Consumer:
        """The consumer of this ARN."""
        stream_arn = arn.partition("/consumer/")[0]
        stream = self.streams.get(_name_in(stream_arn))
        if stream is None or stream.arn != stream_arn or stream.gone_us is not None:
            raise no_consumer(arn)
        return stream.consumers.find(None, arn)

    @property
    def on_demand_streams(self) -> int:
        """How many streams are in that mode."""
        return sum(stream.is_on_demand for stream in self.streams.values())

    @property
    def provisioned_shards(self) -> int:
        """How many shards of all other streams are open."""
        return sum(len(stream.open_shards()) for stream in self.streams.values() if not stream.is_on_demand)

    def check_shards(self, more: int) -> None:
        """Refuses shards beyond what the account may have."""
        count, limit = self.provisioned_shards, self.knobs.shard_limit
        if more and count + more > limit:
            told = f"This request would exceed the shard limit for the account {self.account} in {self.region}."
            counts = f"Current shard count for the account: {count}. Limit: {limit}."
            more_told = f"Number of additional shards that would have resulted from this request: {more}."
            raise Refusal("LimitExceededException", f"{told} {counts} {more_told} {_LIMITS_PAGE}")

    def check_created(self, stream: KinesisTruth, time: float | None) -> None:
        """Refuses a stream that was made at another time than the caller thinks: it was made anew."""
        if time is not None and abs(microseconds(time) - stream.created_us) >= SECOND_US:
            raise self._unknown(stream.name)

    def _unknown(self, name: str | None) -> Refusal:
        return Refusal("ResourceNotFoundException", f"Stream {name} under account {self.account} not found.")

    def made(self, name: str | None, arn: str | None, now_us: int) -> KinesisTruth:
        """The stream, if it takes and gives records: while it is being made there is nothing of it but its description."""
        stream = self.stream(name, arn, now_us)
        if stream.status(now_us) in ("CREATING", "DELETING"):
            raise self._unknown(stream.name)
        return stream

    def active(self, name: str | None, arn: str | None, now_us: int) -> KinesisTruth:
        """The stream, if it may be changed: neither is it being made, nor was it resharded a moment ago."""
        stream = self.stream(name, arn, now_us)
        self.check_status(stream, ("ACTIVE",), now_us)
        return stream

    def check_status(self, stream: KinesisTruth, wanted: tuple[str, ...], now_us: int) -> None:
        """Refuses what cannot be done to a stream as it stands in its life."""
        status = stream.status(now_us)
        if status not in wanted:
            told = f"Stream {stream.name} under account {self.account} not {' or '.join(wanted)}, instead in state {status}"
            raise Refusal("ResourceInUseException", told)

    def resharded(self, stream: KinesisTruth, now_us: int) -> None:
        """It is UPDATING for as long as it is CREATING at first."""
        stream.updated_us = now_us + microseconds(self.knobs.enabling)

    def retain(self, stream: KinesisTruth, hours: int, *, longer: bool) -> None:
        """Changes how long records are held."""
        asked, now_hours = f"equested retention period ({hours} hours)", stream.retention_us // HOUR_US
        if hours < LEAST_HOURS:
            told = f"Minimum allowed retention period is {LEAST_HOURS} hours. R{asked} is too short."
        elif hours > MOST_HOURS:
            told = f"Maximum allowed retention period is {MOST_HOURS} hours. R{asked} is too long."
        elif (hours < now_hours) if longer else (hours > now_hours):
            told = f"R{asked} for stream {stream.name} can not be {'shorter' if longer else 'longer'} than existing"
            told += f" retention period ({now_hours} hours). Use {'De' if longer else 'In'}creaseRetentionPeriod API."
        else:
            told = ""
        if told:
            raise Refusal("InvalidArgumentException", told)
        stream.retention_us = hours * HOUR_US

    # -- reading

    def shard(self, stream: KinesisTruth, shard_id: str) -> KinesisShard:
        """The shard, for a reader; a refusal when it is not (or no longer) there."""
        shard = stream.shards.get(self.known_id(stream.name, shard_id))
        if shard is None or shard.is_gone:
            raise self.no_shard(stream.name, shard_id)
        return shard

    def known_id(self, stream: str, shard_id: str) -> str:
        """The shard's id as it is written in full; a refusal where no shard can have it."""
        known = resolved_id(shard_id)
        if known is None:
            told = f"Could not find shard {shard_id} in stream {stream} under account {self.account}."
            raise Refusal("ResourceNotFoundException", told)
        return known

    def no_shard(self, stream: str, shard_id: str) -> Refusal:
        """There is no such shard to read."""
        told = f"Shard {resolved_id(shard_id) or shard_id} in stream {stream} under account {self.account}"
        return Refusal("ResourceNotFoundException", f"{told} does not exist")

    def get_shard_iterator(
        self, stream: KinesisTruth, shard_id: str, type: str, number: str | None, time_us: int | None, now_us: int
    ) -> str:
        """GetShardIterator: the iterator's text."""
        shard = self.shard(stream, shard_id)
        by_number = type.endswith("_SEQUENCE_NUMBER")
        if by_number != (number is not None):
            ways = "(1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber"
            ways += " or (2) TRIM_HORIZON or LATEST and no StartingSequenceNumber"
            told = f"{type} and {'no' if by_number else 'also a'} StartingSequenceNumber"
            raise Refusal("InvalidArgumentException", f"Must either specify {ways}. Request specified {told}.")
        if type == "AT_TIMESTAMP":
            if time_us is None:
                raise Refusal("InvalidArgumentException", "Must specify timestampInMillis for AT_TIMESTAMP")
            if time_us > now_us:
                told = "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis."
                told += f" timestampInMillis: {time_us // 1000}, currentTimestampInMillis: {now_us // 1000}"
                raise Refusal("InvalidArgumentException", told)
        if number is not None:
            self._check_number(stream, shard, int(number))
        place = self._place(shard, type, int(number or 0), time_us or 0)
        if place is None and self.knobs.stale_number == "refused":
            told = f"StartingSequenceNumber {number} used in GetShardIterator on shard {shard_id} is invalid"
            raise Refusal("InvalidArgumentException", told)
        is_stuck = place is None and self.knobs.stale_number == "empty"
        return KinesisIterator(stream.name, shard.id, place or 0, 0, now_us, is_stuck).encode()

    def _check_number(self, stream: KinesisTruth, shard: KinesisShard, number: int) -> None:
        """Refuses a number that this shard cannot have, as the number itself tells."""
        place = f"GetShardIterator on shard {shard.id} in stream {stream.name} under account {self.account}"
        told, found = "", parse(number)
        if found is None:
            told = f"StartingSequenceNumber {number} used in {place} is invalid."
        elif found.shard != shard.place:
            told = f"It encodes {id_of(found.shard)}, while it was used in a call to a shard with {shard.id}"
            told = f"Invalid StartingSequenceNumber. {told}"
        elif (found.version, found.made_seconds) != (2, shard.made_seconds):
            told = f"StartingSequenceNumber {spelled(number)} used in {place} is invalid"
            told += " because it did not come from this stream."
        if told:
            raise Refusal("InvalidArgumentException", told)

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
            times = f"was created at time {_utc(iterator.issued_us)} while right now it is {_utc(now_us)}"
            age = f"{self.knobs.kinesis_iterator_lifetime * 1000:.0f} milliseconds"
            told = f"Iterator expired. The iterator {times} which is further in the future than the tolerated delay of"
            raise Refusal("ExpiredIteratorException", f"{told} {age}.")
        if iterator.is_stuck:
            following = msgspec.structs.replace(iterator, issued_us=now_us)
            return KinesisPage([], following.encode(), stream.retention_us, [])
        if now_us < shard.rests_until_us:
            raise throttled()
        page = self.page_of(iterator, limit, now_us)
        if self.knobs.bytes_rate is not None:
            read = sum(len(record.payload) for record in page.records)
            shard.rests_until_us = now_us + round(read / self.knobs.bytes_rate * 1e6)
        return page

    def page_of(self, iterator: KinesisIterator, limit: int | None, now_us: int) -> KinesisPage:
        """What lies at a place, whoever reads it at whichever rate."""
        stream = self.stream(iterator.stream, None, now_us)
        shard = self.shard(stream, iterator.shard_id)
        place = max(iterator.place, shard.trimmed)  # trimmed records are passed over, and the caller is not told
        empties = iterator.empties if place == iterator.place else 0
        records: list[PutRecord] = []
        if empties < self._empties_before(shard, place):
            empties += 1
        else:
            records = self._take(shard, place, min(limit or MAX_RECORDS, MAX_RECORDS, self.knobs.page_size))
            if records:
                place, empties = place + len(records), 0
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


def _utc(time_us: int) -> str:
    seconds = max(0, min(time_us // SECOND_US, _LAST_SECOND))
    return datetime.fromtimestamp(seconds, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


def _name_in(arn: str) -> str:
    return arn.rpartition("/")[2]


def hash_keys(shard: KinesisShard) -> dict[str, str]:
    """A shard's hash keys as the service tells them."""
    return {"StartingHashKey": str(shard.keys.first), "EndingHashKey": str(shard.keys.last)}


def seconds(time_us: int) -> float:
    """A moment as the service tells it."""
    return time_us / SECOND_US
