"""Records: what is put is what a client reads."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from streamiter.testing import Simulator
from streamiter.testing.clock import START
from streamiter.testing.truth.rendering import seconds_json
from tests.testing.readers import get, iterator


def fetch(sim: Simulator, shard: str = "S0") -> list[dict[str, Any]]:
    return get(sim, iterator(sim, shard))["Records"]


@pytest.fixture
def sim():
    with Simulator("S0") as simulator:
        yield simulator


def test_a_record_as_boto3_reads_it(sim):
    sim.clock.advance(0.7)
    written = sim.put("S0", key="a", new={"id": "a", "n": 2}, old={"id": "a", "n": 1}, event="MODIFY")
    [record] = fetch(sim)
    change = record["dynamodb"]
    assert change["ApproximateCreationDateTime"] == datetime.fromtimestamp(START, UTC), "floored to the second"
    assert change["Keys"] == {"id": {"S": "a"}}
    assert change["NewImage"] == {"id": {"S": "a"}, "n": {"N": "2"}}
    assert change["OldImage"] == {"id": {"S": "a"}, "n": {"N": "1"}}
    assert change["SequenceNumber"] == written.sequence_number
    assert 21 <= len(written.sequence_number) <= 40
    assert change["SizeBytes"] > 0
    assert change["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert (record["eventName"], record["eventVersion"], record["eventSource"]) == ("MODIFY", "1.1", "aws:dynamodb")
    assert record["awsRegion"] == "us-east-1"
    assert len(record["eventID"]) == 32
    assert "userIdentity" not in record


def test_without_being_told_an_insert_has_its_key_and_a_removal_no_new_image(sim):
    sim.put("S0")
    sim.put("S0", key=7, event="REMOVE")
    sim.put("S0", key={"id": "x", "sort": 1}, new=None)
    insert, removal, nothing = (record["dynamodb"] for record in fetch(sim))
    assert insert["Keys"] == insert["NewImage"] == {"id": {"S": "1"}}
    assert removal["Keys"] == {"id": {"N": "7"}}
    assert nothing["Keys"] == {"id": {"S": "x"}, "sort": {"N": "1"}}
    assert not {"NewImage", "OldImage"} & {*removal, *nothing}


def test_creation_time_may_be_left_out_or_run_backwards(sim):
    for created in (START + 100, None, START - 100, 0):
        sim.put("S0", created=created)
    times = [record["dynamodb"].get("ApproximateCreationDateTime") for record in fetch(sim)]
    assert [time and time.timestamp() for time in times] == [START + 100, None, START - 100, 0]
    assert [record.created for record in sim.history] == [START + 100, None, START - 100, 0]
    assert {record.written_us for record in sim.history} == {1_750_000_000_000_000}


@pytest.mark.parametrize(
    "time_us,text",
    [
        (1_750_000_000_000_000, b"1.75E9"),
        (1_750_000_000_123_456, b"1.750000000123456E9"),
        (2_000_000, b"2.0E0"),
        (10_500_000, b"1.05E1"),
        (500_000, b"0.5"),
        (0, b"0.0"),
        (-1_000_000, b"-1.0"),
    ],
)
def test_moments_go_out_as_the_service_writes_them(time_us, text):
    assert seconds_json(time_us) == text


def test_numbers_grow_with_gaps_over_all_shards(sim):
    sim.shape("S0 => S1")
    numbers = [sim.put(shard).number for shard in ("S0", "S0", "S1", "S0", "S1")]
    assert numbers == sorted(set(numbers))
    assert any(following - number > 1 for number, following in itertools.pairwise(numbers))


def test_numbers_may_be_given(sim):
    given = ["111500000000006870532001", 10**20 + 1, 3, 2, 2]
    written = [sim.put("S0", number=number).number for number in given]
    assert written == [111500000000006870532001, 10**20 + 1, 10**20 + 3, 10**20 + 2, 10**20 + 2]
    assert [int(record["dynamodb"]["SequenceNumber"]) for record in fetch(sim)] == written
    assert sim.put("S0").number > max(written)
    for number in ("12", "1" * 41, "-" + "1" * 21, 10**40):
        with pytest.raises(ValueError, match="21 to 40 digits"):
            sim.put("S0", number=number)


def test_a_delete_by_time_to_live_says_so(sim):
    sim.put("S0", event="REMOVE", user_identity=True)
    sim.put("S0", event="REMOVE", user_identity={"PrincipalId": "me", "Type": "Someone"})
    first, second = fetch(sim)
    assert first["userIdentity"] == {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    assert second["userIdentity"] == {"PrincipalId": "me", "Type": "Someone"}


def test_every_type_arrives(sim):
    image = {
        "id": "é\u2028\x00",
        "n": Decimal("1E+125"),
        "f": 1.5,
        "b": b"\x00\xff",
        "ss": {"b", "a"},
        "ns": {2, Decimal("1.5")},
        "bs": frozenset({b"b", b"a"}),
        "m": {"inner": {"deep": None}},
        "l": [True, "x", (1,)],
    }
    sim.put("S0", key="k", new=image)
    assert fetch(sim)[0]["dynamodb"]["NewImage"] == {
        "id": {"S": "é\u2028\x00"},
        "n": {"N": "1E+125"},
        "f": {"N": "1.5"},
        "b": {"B": b"\x00\xff"},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["1.5", "2"]},
        "bs": {"BS": [b"a", b"b"]},
        "m": {"M": {"inner": {"M": {"deep": {"NULL": True}}}}},
        "l": {"L": [{"BOOL": True}, {"S": "x"}, {"L": [{"N": "1"}]}]},
    }


@pytest.mark.parametrize("value", [object(), set(), {1, "a"}, float("nan"), {True}])
def test_what_dynamodb_has_no_type_for_is_a_mistake_of_the_test(sim, value):
    with pytest.raises(TypeError):
        sim.put("S0", new={"id": "a", "x": value})
    assert sim.history == []


def test_images_may_be_typed_already(sim):
    sim.put("S0", key={"id": {"S": "a"}}, new={"id": {"S": "a"}, "n": {"N": "1.000"}}, typed=True)
    assert fetch(sim)[0]["dynamodb"]["NewImage"]["n"] == {"N": "1.000"}


@pytest.mark.parametrize(
    "view,images",
    [
        ("KEYS_ONLY", set()),
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
    ],
)
def test_the_view_type_chooses_the_images(view, images):
    with Simulator("S0", view=view) as sim:
        sim.put("S0", new={"id": "a"}, old={"id": "a"}, event="MODIFY")
        assert {"NewImage", "OldImage"} & fetch(sim)[0]["dynamodb"].keys() == images


def test_history_is_in_the_order_written(sim):
    sim.shape("S0 => {S1, S2}")
    for shard in ("S2", "S0", "S1", "S0"):
        sim.put(shard)
    assert [record.shard_id for record in sim.history] == ["S2", "S0", "S1", "S0"]
    assert "S2" in repr(sim.history[0])
    assert "id" not in repr(sim.history[0]).replace("shard_id", "")


def test_a_shard_that_a_reader_has_seen_the_end_of_takes_no_more(sim):
    sim.shape("S0 => S1")
    sim.put("S0")
    fetch(sim)
    with pytest.raises(ValueError, match="read to its end"):
        sim.put("S0")
