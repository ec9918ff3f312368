"""`stream.batches()` and `to_arrow()`: bulk work, with the token after each piece."""

from __future__ import annotations

import json
import re
from itertools import islice

import pyarrow as pa
import pytest

from streamiter import Batch, InvalidOption
from streamiter.installing import install_command
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, assert_came, drain, identities, in_order, take, write


def flat(batches) -> list:
    return [record for batch in batches for record in batch]


def test_batches_are_lists_of_records_in_order(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    write(sim, "S0", rounds=7)
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2", rounds=7)
    batches = list(open_stream().batches(5, until="caught_up"))
    assert [len(batch) for batch in batches] == [5, 5, 5, 5, 1]
    assert all(isinstance(batch, Batch) and isinstance(batch, list) for batch in batches)
    assert_all_came(flat(batches), sim)


def test_each_batch_has_the_token_after_its_last_record(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=6)
    batches = list(open_stream().batches(5, until="caught_up"))
    wanted = in_order(sim)
    for number, batch in enumerate(batches):
        came = sum(len(before) for before in batches[: number + 1])
        resumed = open_stream(json.loads(json.dumps(batch.token)))
        assert_came(drain(resumed, sim.clock), wanted[came:], clock=came)


def test_a_batch_keeps_its_token_while_the_stream_goes_on(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    write(sim, "S1", rounds=6)
    stream = open_stream()
    batches = stream.batches(2)
    first = next(batches)
    kept = json.dumps(first.token)
    next(batches)
    assert json.dumps(first.token) == kept
    assert first.token != stream.token


def test_caught_up_is_all_that_was_held_when_the_call_began(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=4)
    held = list(sim.history)
    came = []
    for batch in open_stream().batches(3, until="caught_up"):
        came += batch
        sim.put("S1")  # more comes in all the time: it ends all the same
        assert len(came) < 100
    assert identities(came)[: len(held)] == identities(in_order(sim, held))


def test_caught_up_on_a_stream_that_is_caught_up_gives_what_came_since(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    stream = open_stream()
    assert list(stream.batches(100, until="caught_up")) == []
    write(sim, "S2", "S1")
    assert_all_came(flat(stream.batches(100, until="caught_up")), sim)
    assert list(stream.batches(100, until="caught_up")) == []


def test_caught_up_goes_into_children_that_are_not_listed_yet(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    write(sim, "S0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2")
    sim.hide("S1", "S2", passes=4)
    assert_all_came(flat(open_stream().batches(100, until="caught_up")), sim)


def test_caught_up_holds_at_the_records_of_this_very_second(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2 ~ S3")
    for shard in ("S3", "S1", "S2"):
        sim.put(shard)
    assert_all_came(flat(open_stream().batches(100, until="caught_up")), sim)


def test_an_empty_stream_is_caught_up(sim: Simulator, open_stream: Open):
    assert list(open_stream().batches(10, until="caught_up")) == []


def test_without_until_it_goes_on_and_does_not_wait_for_a_full_batch(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    write(sim, "S1")
    stream = open_stream()
    batches = stream.batches(1000)
    assert_came(next(batches), sim.history)
    write(sim, "S1", rounds=2)
    assert_came(next(batches), sim.history[3:], clock=3)
    stream.close()
    assert list(batches) == []


def test_batches_end_with_a_drained_stream(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    sim.disable()
    assert_all_came(flat(open_stream().batches(4)), sim)


def test_next_goes_on_after_batches(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=5)
    stream = open_stream()
    came = flat(islice(stream.batches(3), 2))
    assert_all_came(came + take(stream, sim.clock, 4), sim)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "10", None])
def test_a_size_is_a_whole_number_from_1_up(open_stream: Open, size):
    with pytest.raises(InvalidOption, match="size= takes a whole number from 1 up"):
        open_stream().batches(size)


@pytest.mark.parametrize("until", ["end", 1, True])
def test_until_is_one_of_what_is_known(open_stream: Open, until):
    with pytest.raises(InvalidOption, match="'caught_up'"):
        open_stream().batches(10, until=until)
    with pytest.raises(InvalidOption, match="'caught_up'"):
        open_stream().to_arrow(until=until)


# -- to_arrow


def test_a_table_holds_the_records_in_order(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    write(sim, "S0")
    sim.shape("S0 => {S1, S2}")
    sim.put("S1", key="x", new={"id": "x", "n": 1.5, "b": b"\x00", "s": {"p", "q"}})
    sim.put("S2", key="x", event="REMOVE", old={"id": "x"}, user_identity=True, created=None)
    stream = open_stream()
    table = stream.to_arrow(until="caught_up")
    assert isinstance(table, pa.Table)
    rows = table.to_pylist()
    wanted = in_order(sim)
    assert [(row["shard_id"], row["sequence_number"]) for row in rows] == identities(wanted)
    assert [row["order_key"] for row in rows] == sorted({row["order_key"] for row in rows})
    assert [row["event_name"] for row in rows] == [record.event_name for record in wanted]
    assert {row["stream_arn"] for row in rows} == {sim.stream_arn}
    for row, record in zip(rows, wanted, strict=True):
        body = json.loads(record.body)
        assert row["event_id"] == body["eventID"]
        assert row["size_bytes"] == body["dynamodb"]["SizeBytes"]
        assert json.loads(row["keys"]) == body["dynamodb"]["Keys"]
        for column, name in (("new_image", "NewImage"), ("old_image", "OldImage")):
            assert (row[column] and json.loads(row[column])) == body["dynamodb"].get(name)
        assert (row["user_identity"] and json.loads(row["user_identity"])) == body.get("userIdentity")
        created = row["created_at"]
        assert (created and created.timestamp()) == record.created


def test_its_columns_have_the_types_that_spark_sees(open_stream: Open):
    schema = open_stream().to_arrow().schema
    assert schema == pa.schema(
        {
            "event_id": pa.string(),
            "event_name": pa.string(),
            "stream_arn": pa.string(),
            "shard_id": pa.string(),
            "sequence_number": pa.string(),
            "order_key": pa.string(),
            "created_at": pa.timestamp("us", tz="UTC"),
            "keys": pa.string(),
            "new_image": pa.string(),
            "old_image": pa.string(),
            "size_bytes": pa.int64(),
            "user_identity": pa.string(),
        }
    )


def test_order_keys_are_the_same_as_from_next(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    by_next = [record.order_key for record in drain(open_stream(), sim.clock)]
    assert open_stream().to_arrow()["order_key"].to_pylist() == by_next


def test_the_token_moves_only_when_the_table_is_there(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    stream = open_stream(patience=5)
    before = stream.token
    sim.fault("GetRecords", "S2", kind="500", times=None)
    with pytest.raises(Exception, match="S2"):
        stream.to_arrow()
    assert stream.token == before
    sim.heal()
    assert stream.to_arrow().num_rows == 6
    assert stream.token != before
    assert stream.to_arrow().num_rows == 0


def test_a_second_table_goes_on_after_the_first(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    stream = open_stream()
    first = stream.to_arrow()
    write(sim, "S2", "S1")
    second = stream.to_arrow()
    numbers = first["sequence_number"].to_pylist() + second["sequence_number"].to_pylist()
    assert numbers == [record.sequence_number for record in in_order(sim)]


def test_without_pyarrow_the_install_command_is_named(
    sim: Simulator, open_stream: Open, monkeypatch: pytest.MonkeyPatch
):
    import sys

    from streamiter import MissingExtra

    sim.shape("S1")
    write(sim, "S1")
    stream = open_stream()
    before = stream.token
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("arrow"))):
        stream.to_arrow()
    assert stream.token == before
