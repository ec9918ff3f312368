"""What DynamoDB writes to Kinesis: the shape of a change, the order of creation times, duplicates dropped by choice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from streamiter import KinesisChange, KinesisRecord, KinesisStreams, Stream
from streamiter.stream.acceptance import Duplicates
from streamiter.testing import KinesisHandle, Simulator, change_payload
from tests.indoors import IndoorSimulator
from tests.stream.helpers import drain, take


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with IndoorSimulator(table=None) as simulator:
        yield simulator


@pytest.fixture
def changes(sim: Simulator) -> KinesisHandle:
    return sim.create_stream("changes", "S0 ~ S1")


def opened(sim: Simulator, position: Any = "trim_horizon", *, duplicates: Any = "keep", **options: Any) -> Stream[Any]:
    source = KinesisStreams("changes", client=sim.client("kinesis"), records="dynamodb", duplicates=duplicates)
    return Stream(source, position, clock=sim.clock, **options)


def put(
    sim: Simulator, changes: KinesisHandle, shard: str, key: str, *, at: float = 0, id: int = 0, **more: Any
) -> None:
    """A change that was made so many microseconds from now on."""
    created_us = round(sim.clock.now() * 1e6) + round(at)
    image = {"id": key}
    changes.put(shard, change_payload(image, image, created_us=created_us, event_id=id or len(changes.history), **more))


def keys(records: list[Any]) -> list[str]:
    return [record.key["id"] for record in records]


def test_changes_come_in_the_order_of_their_microseconds(sim: Simulator, changes: KinesisHandle):
    for number in range(20):
        put(sim, changes, f"S{number * 7 % 2}", str(number), at=number * 10)
    records = drain(opened(sim), sim.clock)
    assert keys(records) == [str(number) for number in range(20)]
    assert all(isinstance(record, KinesisChange) for record in records)
    assert len({record.created_us for record in records}) == 20
    assert [record.order_key for record in records] == sorted(record.order_key for record in records)


def test_a_shard_keeps_its_own_order_whatever_the_times_say(sim: Simulator, changes: KinesisHandle):
    """Law 1: what arrived out of order stays so; created_at tells."""
    put(sim, changes, "S0", "second", at=20)
    put(sim, changes, "S0", "first", at=10)
    records = drain(opened(sim), sim.clock)
    assert keys(records) == ["second", "first"]
    assert records[0].created_us > records[1].created_us


def test_a_time_that_cannot_be_holds_nobody_back(sim: Simulator, changes: KinesisHandle):
    """Whoever may write to the stream can write any time: the time of arrival counts instead."""
    for made in (1e18, 1.7e302, -1e9):
        put(sim, changes, "S0", "forged", at=made)
        put(sim, changes, "S1", "true")
        sim.clock.advance(1)
    with opened(sim) as stream:
        assert sorted(keys(drain(stream, sim.clock))) == ["forged"] * 3 + ["true"] * 3
        token = stream.token
    assert drain(opened(sim, token), sim.clock) == []


def test_its_shape_is_that_of_dynamodb_streams(sim: Simulator, changes: KinesisHandle):
    put(sim, changes, "S0", "a", event="MODIFY", old={"id": "a"}, table="people")
    [record] = drain(opened(sim), sim.clock)
    assert dict(record) == {"key": {"id": "a"}, "new": {"id": "a"}, "old": {"id": "a"}, "meta": record["meta"]}
    assert record.event_name == "MODIFY"
    assert record.table_name == "people"


@dataclass
class Row:
    id: str


def test_a_model_takes_its_images(sim: Simulator, changes: KinesisHandle):
    put(sim, changes, "S0", "a")
    [record] = drain(opened(sim, model=Row), sim.clock)
    assert record.new == Row("a")


def test_duplicates_come_unless_they_are_dropped(sim: Simulator, changes: KinesisHandle):
    for shard, key, id in [("S0", "a", 1), ("S0", "a", 1), ("S1", "b", 2), ("S0", "a", 1), ("S1", "c", 3)]:
        put(sim, changes, shard, key, id=id)
        sim.clock.advance(0.1)
    assert keys(drain(opened(sim), sim.clock)) == ["a", "a", "b", "a", "c"]
    stream = opened(sim, duplicates="drop")
    records = drain(stream, sim.clock)
    assert keys(records) == ["a", "b", "c"]
    assert (stream.stats.records, stream.stats.duplicates) == (3, 2)
    assert [record.clock for record in records] == [1, 3, 5]  # as if nothing had been dropped


def test_a_token_remembers_no_duplicates(sim: Simulator, changes: KinesisHandle):
    put(sim, changes, "S0", "a", id=1)
    sim.clock.advance(1)
    put(sim, changes, "S0", "a", id=1)
    put(sim, changes, "S0", "b", id=2)
    stream = opened(sim, duplicates="drop")
    assert keys(take(stream, sim.clock, 1)) == ["a"]
    resumed = opened(sim, stream.token, duplicates="drop")
    assert keys(drain(resumed, sim.clock)) == ["a", "b"]
    assert keys(drain(stream, sim.clock)) == ["b"]


def test_what_is_read_again_is_no_duplicate(sim: Simulator, changes: KinesisHandle):
    put(sim, changes, "S0", "a", id=1)
    stream = opened(sim, duplicates="drop")
    token = stream.token
    assert keys(drain(stream, sim.clock)) == ["a"]
    stream.move_to(token)
    assert keys(drain(stream, sim.clock)) == ["a"]


def test_batches_that_fail_lose_nothing_to_the_memory_of_duplicates(
    sim: Simulator, changes: KinesisHandle, monkeypatch: pytest.MonkeyPatch
):
    for number in range(4):
        put(sim, changes, "S0", str(number), id=number + 1)
    stream = opened(sim, duplicates="drop")
    slept = sim.clock.sleep

    def interrupted(seconds: float) -> None:
        monkeypatch.setattr(sim.clock, "sleep", slept)
        raise KeyboardInterrupt

    monkeypatch.setattr(sim.clock, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(stream.batches(100, until="caught_up"))
    assert keys(drain(stream, sim.clock)) == ["0", "1", "2", "3"]


def test_the_memory_is_bounded():
    class Ids:
        def identify(self, record: Any) -> str:
            return record.sequence_number

    def record(number: int) -> KinesisRecord:
        return KinesisRecord("S", str(number), None)

    seen = Duplicates(Ids(), most=3)
    for number in range(5):
        assert not seen.is_repeat(record(number))
        seen.add(record(number))
    assert [seen.is_repeat(record(number)) for number in range(5)] == [False, False, True, True, True]


def test_what_is_no_change_comes_as_it_is(sim: Simulator, changes: KinesisHandle):
    put(sim, changes, "S0", "a")
    changes.put("S0", b"hello", key="k")
    changes.put("S0", b"hello", key="k")
    stream = opened(sim, duplicates="drop")
    change, *others = drain(stream, sim.clock)
    assert change.key == {"id": "a"}
    assert [(record.payload, record.partition_key) for record in others] == [(b"hello", "k")] * 2


def test_to_arrow_has_the_columns_of_a_change_and_the_table(sim: Simulator, changes: KinesisHandle):
    put(sim, changes, "S0", "a", table="people")
    changes.put("S0", b"hello")
    table = opened(sim).to_arrow()
    assert table.column_names == [
        *("event_id", "event_name", "stream_arn", "shard_id", "sequence_number", "order_key", "created_at"),
        *("keys", "new_image", "old_image", "size_bytes", "user_identity", "table_name", "arrived_at", "payload"),
    ]
    assert table["keys"].to_pylist() == ['{"id":{"S":"a"}}', None]
    assert table["table_name"].to_pylist() == ["people", None]
    assert table["payload"].to_pylist() == [None, b"hello"]
    assert table["event_name"].to_pylist() == ["INSERT", None]
