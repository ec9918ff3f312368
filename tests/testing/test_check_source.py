"""The contract kit: our own source keeps it, and one that breaks a rule is told which."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from streamiter import DynamoDBStreams
from streamiter.errors import SourceError
from streamiter.position import Horizon
from streamiter.testing import Simulator
from streamiter.testing.contract import ContractBroken, check_source, simulated_rig


def source_of(sim: Simulator) -> DynamoDBStreams:
    return DynamoDBStreams(sim.stream_arn, client=sim.client())


def test_dynamodb_streams_keeps_the_contract():
    report = check_source(lambda: simulated_rig(source_of))
    assert len(report.kept) >= 16
    assert not report.passed_over


def test_it_keeps_it_on_an_older_service_too():
    def make(sim: Simulator) -> DynamoDBStreams:
        sim.knobs.knows_at_timestamp = False
        sim.knobs.trimmed_at = "GetRecords"
        sim.knobs.last_page = "empty"
        sim.knobs.shards_per_page = 2
        return source_of(sim)

    assert not check_source(lambda: simulated_rig(make)).passed_over


def test_what_a_rig_cannot_do_is_passed_over_and_said():
    @contextmanager
    def make():
        with simulated_rig(source_of) as rig:
            rig.trim = rig.throttle = None
            yield rig

    report = check_source(make)
    assert set(report.passed_over.values()) == {"the rig has no trim", "the rig has no throttle"}
    assert len(report.passed_over) == 3


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
