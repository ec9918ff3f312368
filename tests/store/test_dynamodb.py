"""The table of a DynamoDB store: it is made where it is missing."""

from __future__ import annotations

from streamiter.store import Table
from streamiter.store.dynamodb import DynamoDBStore
from streamiter.testing import ManualClock, Simulator


def test_a_table_that_is_there_as_soon_as_it_is_created_is_not_waited_for():
    clock = ManualClock()
    with Simulator(table=None) as sim, DynamoDBStore("fleet", client=sim.client("dynamodb"), clock=clock) as store:
        assert store.read(Table("leases", "shop", "orders"), "S1") is None
    assert clock.slept == 0
