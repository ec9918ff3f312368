"""Destinations: a table's changes go to a Kinesis stream as well, once a client says so."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.config import Config

from streamiter import KinesisStreams, Stream
from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import Orders


@pytest.fixture
def sim():
    with Simulator(table=None, ids="service") as simulator:
        yield simulator


class Copied:
    """A table without a stream of its own, and a Kinesis stream `changes`."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.orders = Orders(sim, None)
        self.tables = sim.client("dynamodb", config=Config(parameter_validation=False))
        self.handle = sim.create_stream("changes", "S0 ~ S1")
        self.arn = sim.client("kinesis").describe_stream_summary(StreamName="changes")["StreamDescriptionSummary"][
            "StreamARN"
        ]

    def ask(self, verb: str, arn: str = "", **more: Any) -> dict[str, Any]:
        call = getattr(self.tables, f"{verb}_kinesis_streaming_destination")
        answer = call(TableName="orders", **({} if verb == "describe" else {"StreamArn": arn or self.arn}), **more)
        answer.pop("ResponseMetadata")
        return answer

    def described(self) -> list[dict[str, Any]]:
        return self.ask("describe")["KinesisDataStreamDestinations"]

    def records(self) -> list[Any]:
        client = self.sim.client("kinesis")
        source = KinesisStreams("changes", client=client, records="dynamodb", duplicates="keep")
        with Stream(source, clock=self.sim.clock) as stream:
            return [record for _, record in zip(self.handle.history, stream.follow(), strict=False)]


@pytest.fixture
def copied(sim):
    return Copied(sim)


def test_changes_go_to_a_kinesis_stream_while_it_is_enabled(copied):
    copied.orders.put("before")
    assert copied.described() == []
    answer = copied.ask("enable")
    assert answer == {
        "TableName": "orders",
        "StreamArn": copied.arn,
        "DestinationStatus": "ENABLING",
        "EnableKinesisStreamingConfiguration": {},
    }
    assert copied.described() == [{"StreamArn": copied.arn, "DestinationStatus": "ACTIVE"}]
    copied.orders.put("a", n={"N": "1"})
    copied.sim.clock.advance(1)
    copied.orders.put("a", n={"N": "1"})
    copied.orders.put("a", n={"N": "2"})
    copied.sim.clock.advance(1)
    copied.orders.delete("a")
    assert copied.ask("disable")["DestinationStatus"] == "DISABLING"
    assert copied.described() == [{"StreamArn": copied.arn, "DestinationStatus": "DISABLED"}]
    copied.orders.put("after")
    records = copied.records()
    assert [(record.event_name, record.key["id"]) for record in records] == [
        ("INSERT", "a"),
        ("MODIFY", "a"),
        ("REMOVE", "a"),
    ]
    assert [(record.old and record.old["n"], record.new and record.new["n"]) for record in records] == [
        (None, 1),
        (1, 2),
        (2, None),
    ]
    assert [record.table_name for record in records] == ["orders"] * 3
    assert len({record["meta"]["event"]["id"] for record in records}) == 3


def test_deletes_by_time_to_live_say_who_did_it(copied):
    copied.orders.tables.update_time_to_live(
        TableName="orders", TimeToLiveSpecification={"AttributeName": "end", "Enabled": True}
    )
    copied.ask("enable", EnableKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": "MICROSECOND"})
    copied.orders.live_until(copied.sim.clock.now() + 10)
    copied.sim.clock.advance(20)
    assert copied.orders.tables.scan(TableName="orders")["Count"] == 0
    insert, remove = copied.records()
    assert insert.user_identity is None
    assert remove.user_identity == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def test_the_precision_of_times_can_be_changed(copied):
    copied.ask("enable")
    asked = {"UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"}}
    assert copied.ask("update", **asked)["DestinationStatus"] == "UPDATING"
    assert copied.described()[0]["ApproximateCreationDateTimePrecision"] == "MICROSECOND"
    with refused("ValidationException", "Precision is already set to the desired value of MICROSECOND"):
        copied.ask("update", **asked)
    with refused("ValidationException", "cannot be null or contain only null values"):
        copied.ask("update")


def test_a_stream_that_is_not_there_fails_afterwards_as_the_service_says_it(copied):
    nobody = f"{copied.arn}-nobody"
    assert copied.ask("enable", nobody)["DestinationStatus"] == "ENABLING"
    [failed] = copied.described()
    assert (failed["DestinationStatus"], failed["DestinationStatusDescription"]) == (
        "ENABLE_FAILED",
        "User does not have a permission to use kinesis stream",
    )
    copied.ask("enable")
    assert [row["DestinationStatus"] for row in copied.described()] == ["ENABLE_FAILED", "ACTIVE"]
    with refused("ValidationException", "must be DISABLED or ENABLE_FAILED to perform ENABLE operation"):
        copied.ask("enable", nobody)


def test_what_cannot_be_is_refused(copied):
    with refused("ValidationException", "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation"):
        copied.ask("disable")
    asked = {"UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"}}
    with refused("ValidationException", "Updates are only allowed in ACTIVE state. TableName: orders"):
        copied.ask("update", **asked)
    with refused("ValidationException", "null at 'streamArn'"):
        copied.tables.enable_kinesis_streaming_destination(TableName="orders")
    with refused("ResourceNotFoundException", "Table: nobody not found"):
        copied.tables.describe_kinesis_streaming_destination(TableName="nobody")


def test_a_stream_that_is_deleted_and_a_table_that_is_made_again_are_no_trouble(copied):
    copied.ask("enable")
    copied.sim.client("kinesis").delete_stream(StreamName="changes")
    copied.orders.put("a")
    copied.orders.tables.delete_table(TableName="orders")
    Orders(copied.sim, None)
    assert copied.described() == []
