"""Days of a stream that DynamoDB writes to: changes that arrive late, twice, beside what others put, over splits and merges."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from streamiter import KinesisStreams, Stream
from streamiter.testing import KinesisHandle, Simulator, change_payload
from tests.oracle import expected
from tests.stream.helpers import take, take_all

steps = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "again", "other", "split", "merge", "wait"]), st.integers(0, 99)),
    min_size=1,
    max_size=20,
)
few = settings(max_examples=15)  # a day takes a good part of a second


class Written(NamedTuple):
    shard_id: str
    number: int
    created_us: int | None
    event_id: str | None


@dataclass
class Shard:
    parents: tuple[str, ...]
    records: list[Written] = field(default_factory=list)


def happen(stream: KinesisHandle, sim: Simulator, written: list[Written], kind: str, number: int) -> None:
    shards = stream.open_shards
    shard = shards[number % len(shards)]
    if kind in ("put", "again", "other"):
        arrived_us = round(sim.clock.now() * 1e6)
        event = len(written) + 1 if kind == "put" or not written else number % len(written) + 1
        # Made up to two seconds before it arrived; the older setting tells of milliseconds.
        precision: Literal["MICROSECOND", "MILLISECOND"] = "MILLISECOND" if event % 3 == 0 else "MICROSECOND"
        created_us = arrived_us - event * 7919 % 2_000_000
        created_us -= created_us % 1000 if precision == "MILLISECOND" else 0
        image = {"id": str(event)}
        change = change_payload(image, image, created_us=created_us, event_id=event, precision=precision)
        put = stream.put(shard, b"hello" if kind == "other" else change)
        event_id = None if kind == "other" else json.loads(change)["eventID"]
        written.append(Written(put.shard_id, put.number, put.created_us if kind == "other" else created_us, event_id))
    elif kind == "split" and len(shards) < 6:
        stream.split(shard)
    elif kind == "merge" and len(shards) > 1:
        place = number % (len(shards) - 1)
        stream.merge(shards[place], shards[place + 1])
    elif kind == "wait":
        sim.clock.advance(number / 50)


def in_order(stream: KinesisHandle, written: list[Written]) -> list[Written]:
    shards = {shard.id: Shard(shard.parents) for shard in stream._truth.shards.values()}
    for record in written:
        shards[record.shard_id].records.append(record)
    return [shards[place.shard].records[place.index] for place in expected(shards)]


def first_of_each(records: list[Written]) -> list[Written]:
    """Without those whose change was told before; what is no change has no duplicates."""
    firsts = {record.event_id: record for record in reversed(records)}
    return [record for record in records if record.event_id is None or firsts[record.event_id] is record]


def identities(records: list[Any]) -> list[tuple[str, int, int | None]]:
    return [(record.shard_id, int(record.sequence_number), record.created_us) for record in records]


@few
@given(steps, st.integers(0, 1000), st.lists(st.integers(0, 30), max_size=3), st.booleans())
def test_changes_come_in_the_order_in_which_they_were_made(day, seed: int, cuts: list[int], drops: bool):
    with Simulator(table=None) as sim:
        stream = sim.create_stream("changes", "S0 ~ S1")
        written: list[Written] = []
        for kind, number in day:
            happen(stream, sim, written, kind, number)
        sim.clock.advance(60)
        sim.misbehave(seed, slow=0, lag=0, lists_nothing=0)

        def opened(token: Any) -> Stream[Any]:
            duplicates: Literal["drop", "keep"] = "drop" if drops else "keep"
            client = sim.client("kinesis")
            source = KinesisStreams("changes", client=client, records="dynamodb", duplicates=duplicates)
            return Stream(source, token, clock=sim.clock)

        wanted = [(r.shard_id, r.number, r.created_us) for r in in_order(stream, written)]
        came: list[Any] = []
        if drops:
            wanted = [(r.shard_id, r.number, r.created_us) for r in first_of_each(in_order(stream, written))]
        token: Any = "trim_horizon"
        # The memory of duplicates is not in the token: with it, the stream is read in one go.
        for cut in [] if drops else sorted(cuts):
            with opened(token) as part:
                came += take(part, sim.clock, max(0, min(cut, len(wanted)) - len(came)))
                token = json.loads(json.dumps(part.token))
        with opened(token) as rest:
            came += take_all(rest, sim.clock, len(wanted) - len(came))
        assert identities(came) == wanted
        keys = [record.order_key for record in came]
        assert keys == sorted(set(keys))
