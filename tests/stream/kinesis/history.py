"""What the tests of Kinesis share: a simulated stream's own history, as the oracle sorts it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streamiter import KinesisRecord
from streamiter.source.kinesis_aggregate import take_apart
from streamiter.testing import KinesisHandle, Simulator
from streamiter.testing.kinesis.truth import PutRecord
from tests.oracle import expected


class Told(NamedTuple):
    """One record of a user's, perhaps of several that were put as one."""

    shard_id: str
    number: int
    sub: int
    payload: bytes
    created_us: int | None


@dataclass
class Shard:
    """A shard of a simulated stream as the oracle takes it."""

    parents: tuple[str, ...]
    records: list[Told] = field(default_factory=list)


def told(records: Iterable[PutRecord]) -> list[Told]:
    """The records of users in those that were put."""
    out = []
    for record in records:
        parts = take_apart(record.payload)
        payloads = [record.payload] if parts is None else [part.payload for part in parts]
        out += [
            Told(record.shard_id, record.number, sub, payload, record.created_us)
            for sub, payload in enumerate(payloads)
        ]
    return out


def in_order(stream: KinesisHandle, *, absent: Iterable[str] = (), since_us: int | None = None) -> list[Told]:
    """All that was ever put, as laws 3 and 4 sort it. `absent`: shards that count as trimmed."""
    truth = stream._truth
    shards = {shard.id: Shard(shard.parents) for shard in truth.shards.values()}
    for record in told(stream.history):
        shards[record.shard_id].records.append(record)
    gone = {stream.shard_id(name) for name in absent}
    kept = {shard_id: shard for shard_id, shard in shards.items() if shard_id not in gone}
    return [kept[place.shard].records[place.index] for place in expected(kept, start_us=since_us)]


def identities(records: Iterable[Any]) -> list[tuple[str, int, int]]:
    """Which records these are, wherever they came from."""
    return [
        (record.shard_id, record.number, record.sub if isinstance(record, Told) else record.sub_sequence_number)
        for record in records
    ]


def assert_came(records: Sequence[KinesisRecord], wanted: Sequence[Told], *, clock: int = 0) -> None:
    """These records are those, in that order, none late, numbered on, with order keys that sort as they came."""
    assert identities(records) == identities(wanted)
    assert [record.payload for record in records] == [w.payload for w in wanted]
    assert [record.created_us for record in records] == [w.created_us for w in wanted]
    assert [record.clock for record in records] == list(range(clock + 1, clock + 1 + len(records)))
    assert not [record for record in records if record.late]
    keys = [record.order_key for record in records]
    assert keys == sorted(set(keys))


def assert_lawful(records: Sequence[KinesisRecord], stream: KinesisHandle, *, once: bool = True) -> None:
    """Laws 1, 2 and 5: nothing lost, nothing twice, shard order, no shard's record before all of its parents'."""
    at = {identity: place for place, identity in enumerate(identities(records))}
    assert len(at) == len(records), "a record came out twice"
    written = told(stream.history)
    if once:
        assert sorted(at) == sorted(identities(written)), "lost"
    for shard in stream._truth.shards.values():
        mine = [at[i] for i in identities(r for r in written if r.shard_id == shard.id) if i in at]
        assert mine == sorted(mine), f"law 1: {shard.id}"
        for parent in shard.parents:
            theirs = [at[i] for i in identities(r for r in written if r.shard_id == parent) if i in at]
            assert not (mine and theirs and max(theirs) > min(mine)), f"law 2: {shard.id} before the end of {parent}"


def write(sim: Simulator, orders: KinesisHandle, *shards: str, rounds: int = 4, every: float = 0.5) -> None:
    """Puts records to shards in turn, turning the clock after each round."""
    for number in range(rounds):
        for shard in shards:
            orders.put(shard, f"{shard}-{number}", key=shard)
        sim.clock.advance(every)
