"""The contract kit: our own source keeps it, and one that breaks a rule is told which."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Literal

import pytest

from streamiter import DynamoDBStreams, KinesisStreams
from streamiter.errors import SourceError
from streamiter.position import Horizon
from streamiter.testing import Simulator
from streamiter.testing.contract import ContractBroken, check_source, kinesis_rig, simulated_rig

NOT_DYNAMODBS = {"the rig has no merges", "the rig has no put_packed"}


def source_of(sim: Simulator) -> DynamoDBStreams:
    return DynamoDBStreams(sim.stream_arn, client=sim.client())


def test_dynamodb_streams_keeps_the_contract():
    report = check_source(lambda: simulated_rig(source_of))
    assert len(report.kept) >= 18
    assert set(report.passed_over.values()) == NOT_DYNAMODBS


def test_it_keeps_it_on_an_older_service_too():
    def make(sim: Simulator) -> DynamoDBStreams:
        sim.knobs.knows_at_timestamp = False
        sim.knobs.trimmed_at = "GetRecords"
        sim.knobs.last_page = "empty"
        sim.knobs.shards_per_page = 2
        return source_of(sim)

    assert set(check_source(lambda: simulated_rig(make)).passed_over.values()) == NOT_DYNAMODBS


def orders(sim: Simulator) -> KinesisStreams:
    return KinesisStreams("orders", client=sim.client("kinesis"))


@pytest.mark.parametrize("stale", ["horizon", "refused", "empty"])
def test_kinesis_streams_keeps_the_contract(stale: Literal["horizon", "refused", "empty"]):
    def make(sim: Simulator) -> KinesisStreams:
        sim.knobs.stale_number = stale
        return orders(sim)

    report = check_source(lambda: kinesis_rig(make))
    assert len(report.kept) >= 20
    assert set(report.passed_over.values()) == {"the rig has no end"}


def test_kinesis_streams_keeps_it_where_less_is_told():
    def make(sim: Simulator) -> KinesisStreams:
        sim.knobs.tells_children = False
        sim.knobs.last_page = "empty"
        sim.knobs.shards_per_page = 1
        sim.knobs.ends_with_empty_page = True
        return orders(sim)

    assert len(check_source(lambda: kinesis_rig(make)).kept) >= 20


class AfterTheNumber(KinesisStreams):
    """As most readers of Kinesis do it: a place that is trimmed is passed over, and nobody hears of it."""

    def open_iterator(self, shard_id, position):
        iterator = super().open_iterator(shard_id, position)
        return iterator._replace(value=iterator.value._replace(awaited=None))


def test_a_reader_that_trusts_kinesis_breaks_the_contract():
    with pytest.raises(ContractBroken, match=r"opened after a record|PositionTrimmed|packed"):
        check_source(lambda: kinesis_rig(lambda sim: AfterTheNumber("orders", client=sim.client("kinesis"))))


def test_what_a_rig_cannot_do_is_passed_over_and_said():
    @contextmanager
    def make():
        with simulated_rig(source_of) as rig:
            rig.trim = rig.throttle = None
            yield rig

    report = check_source(make)
    assert set(report.passed_over.values()) == {"the rig has no trim", "the rig has no throttle"} | NOT_DYNAMODBS
    assert len(report.passed_over) == 5


class Skipping(DynamoDBStreams):
    def fetch(self, iterator, limit):
        page = super().fetch(iterator, limit)
        return page._replace(records=page.records[1:]) if len(page.records) > 3 else page


class Greedy(DynamoDBStreams):
    def fetch(self, iterator, limit):
        return super().fetch(iterator, 1000)


class FirstPageOnly(DynamoDBStreams):
    def list_shards(self, after):
        return super().list_shards(after)._replace(next=None, shards=super().list_shards(after).shards[:2])


class InItsOwnWords(DynamoDBStreams):
    def open_iterator(self, shard_id, position):
        try:
            return super().open_iterator(shard_id, position)
        except SourceError as error:
            raise LookupError("no") from error


class Forgetful(DynamoDBStreams):
    def open_iterator(self, shard_id, position):
        return super().open_iterator(shard_id, Horizon())


@pytest.mark.parametrize(
    "kind,promise",
    [
        (Skipping, "gives each record once"),
        (Greedy, "no more records than asked for"),
        (FirstPageOnly, "every shard with its parents"),
        (InItsOwnWords, "PositionTrimmed"),
        (Forgetful, "opened after a record"),
    ],
)
def test_a_broken_rule_is_named(kind, promise):
    with pytest.raises(ContractBroken, match=promise):
        check_source(lambda: simulated_rig(lambda sim: kind(sim.stream_arn, client=sim.client())))
