"""Global tables: replicas are described, and clients of their regions find the same items."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import Orders

WEST = {"RegionName": "us-west-2"}


@pytest.fixture
def orders() -> Any:
    with Simulator(table=None, ids="service") as sim:
        yield Orders(sim)


def replicate(orders: Orders, *updates: dict[str, Any]) -> dict[str, Any]:
    return orders.tables.update_table(TableName="orders", ReplicaUpdates=list(updates))["TableDescription"]


def statuses(described: dict[str, Any]) -> dict[str, str]:
    return {one["RegionName"]: one["ReplicaStatus"] for one in described.get("Replicas", [])}


def test_a_replica_comes_and_goes(orders):
    assert statuses(replicate(orders, {"Create": WEST})) == {"us-west-2": "CREATING"}
    told = orders.describe()
    assert statuses(told) == {"us-west-2": "ACTIVE"} and told["GlobalTableVersion"] == "2019.11.21"
    scaling = orders.tables.describe_table_replica_auto_scaling(TableName="orders")["TableAutoScalingDescription"]
    assert [one["RegionName"] for one in scaling["Replicas"]] == ["us-east-1", "us-west-2"]
    orders.put("a")
    west = orders.sim.client("dynamodb", region_name="us-west-2")
    assert west.get_item(TableName="orders", Key={"id": {"S": "a"}})["Item"] == {"id": {"S": "a"}}
    replicate(orders, {"Update": {**WEST, "KMSMasterKeyId": "alias/own"}})
    assert orders.describe()["Replicas"][0]["KMSMasterKeyId"] == "alias/own"
    assert statuses(replicate(orders, {"Delete": WEST})) == {"us-west-2": "DELETING"}
    assert "Replicas" not in orders.describe()


@pytest.mark.parametrize(
    "update, words",
    [
        ({"Create": {"RegionName": "us-east-1"}}, "Cannot add, delete, or update the local region"),
        ({"Create": {"RegionName": "eu-west-1"}}, "already existed as tables"),
        ({"Delete": WEST}, "not part of the global table"),
        ({"Update": WEST}, "not part of the global table"),
        ({}, "Only one of Create, Update or Delete"),
    ],
)
def test_a_replica_that_cannot_be(orders, update, words):
    replicate(orders, {"Create": {"RegionName": "eu-west-1"}})
    with refused("ValidationException", words):
        replicate(orders, update)
    assert statuses(orders.describe()) == {"eu-west-1": "ACTIVE"}


def test_replication_needs_a_stream_of_both_images():
    with Simulator(table=None, ids="service") as sim:
        orders = Orders(sim, "KEYS_ONLY")
        with refused("ValidationException", "StreamViewType NEW_AND_OLD_IMAGES"):
            replicate(orders, {"Create": WEST})
        with refused("ValidationException", "StreamViewType NEW_AND_OLD_IMAGES"):
            orders.tables.create_global_table(GlobalTableName="orders", ReplicationGroup=[WEST])


def test_the_older_calls(orders):
    here = {"RegionName": "us-east-1"}
    begun = orders.tables.create_global_table(GlobalTableName="orders", ReplicationGroup=[here])
    assert begun["GlobalTableDescription"]["GlobalTableStatus"] == "CREATING"
    updates = [{"Create": WEST}]
    orders.tables.update_global_table(GlobalTableName="orders", ReplicaUpdates=updates)
    told = orders.tables.describe_global_table(GlobalTableName="orders")["GlobalTableDescription"]
    assert told["GlobalTableArn"] == "arn:aws:dynamodb::000000000000:global-table/orders"
    assert [one["RegionName"] for one in told["ReplicationGroup"]] == ["us-east-1", "us-west-2"]
    assert orders.tables.list_global_tables(RegionName="us-west-2")["GlobalTables"][0]["GlobalTableName"] == "orders"
    assert orders.tables.list_global_tables(RegionName="eu-west-1")["GlobalTables"] == []
    settings = orders.tables.describe_global_table_settings(GlobalTableName="orders")["ReplicaSettings"]
    assert {one["ReplicaStatus"] for one in settings} == {"ACTIVE"}
    with refused("ReplicaAlreadyExistsException"):
        orders.tables.update_global_table(GlobalTableName="orders", ReplicaUpdates=updates)
    with refused("ReplicaNotFoundException"):
        wrong = [{"Delete": {"RegionName": "eu-west-1"}}]
        orders.tables.update_global_table(GlobalTableName="orders", ReplicaUpdates=wrong)
    with refused("GlobalTableAlreadyExistsException"):
        orders.tables.create_global_table(GlobalTableName="orders", ReplicationGroup=[here])
    with refused("TableNotFoundException"):
        orders.tables.create_global_table(GlobalTableName="nothing", ReplicationGroup=[here])
    with refused("GlobalTableNotFoundException", "'nothing' does not exist"):
        orders.tables.describe_global_table(GlobalTableName="nothing")
    orders.tables.update_global_table(GlobalTableName="orders", ReplicaUpdates=[{"Delete": WEST}])
    assert orders.tables.list_global_tables(RegionName="us-west-2")["GlobalTables"] == []


TARGET = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70.0}}
SCALED = {"MinimumUnits": 5, "MaximumUnits": 50, "ScalingPolicyUpdate": {"PolicyName": "half", **TARGET}}
TOLD = {
    "MinimumUnits": 5,
    "MaximumUnits": 50,
    "AutoScalingDisabled": False,
    "ScalingPolicies": [{"PolicyName": "half", **TARGET}],
}
BY_G = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "g")],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def test_auto_scaling_is_kept_and_told():
    with Simulator(table=None, ids="service") as sim:
        orders = Orders(sim, **BY_G)
        replicate(orders, {"Create": WEST})
        begun = orders.tables.update_table_replica_auto_scaling(
            TableName="orders",
            ProvisionedWriteCapacityAutoScalingUpdate=SCALED,
            GlobalSecondaryIndexUpdates=[{"IndexName": "by-g", "ProvisionedWriteCapacityAutoScalingUpdate": SCALED}],
            ReplicaUpdates=[{**WEST, "ReplicaProvisionedReadCapacityAutoScalingUpdate": {"AutoScalingDisabled": True}}],
        )["TableAutoScalingDescription"]
        assert (begun["TableName"], begun["TableStatus"]) == ("orders", "UPDATING")
        told = orders.tables.describe_table_replica_auto_scaling(TableName="orders")["TableAutoScalingDescription"]
        here, west = told["Replicas"]
        for replica in (here, west):
            assert replica["ReplicaProvisionedWriteCapacityAutoScalingSettings"] == TOLD
            [index] = replica["GlobalSecondaryIndexes"]
            assert index["ProvisionedWriteCapacityAutoScalingSettings"] == TOLD
        assert west["ReplicaProvisionedReadCapacityAutoScalingSettings"] == {"AutoScalingDisabled": True}
        assert "ReplicaProvisionedReadCapacityAutoScalingSettings" not in here
        for wrong in (
            {"ReplicaUpdates": [{"RegionName": "eu-west-1"}]},
            {"GlobalSecondaryIndexUpdates": [{"IndexName": "other"}]},
        ):
            with refused("ResourceNotFoundException"):
                orders.tables.update_table_replica_auto_scaling(TableName="orders", **wrong)
        with refused("ValidationException", "MaximumUnits"):
            orders.tables.update_table_replica_auto_scaling(
                TableName="orders", ProvisionedWriteCapacityAutoScalingUpdate={"MinimumUnits": 51}
            )


def test_an_older_global_table_s_settings_are_kept_and_told():
    with Simulator(table=None, ids="service") as sim:
        orders = Orders(sim, **BY_G)
        here = {"RegionName": "us-east-1"}
        orders.tables.create_global_table(GlobalTableName="orders", ReplicationGroup=[here, WEST])
        begun = orders.tables.update_global_table_settings(
            GlobalTableName="orders",
            GlobalTableBillingMode="PROVISIONED",
            GlobalTableProvisionedWriteCapacityUnits=7,
            GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate=SCALED,
            GlobalTableGlobalSecondaryIndexSettingsUpdate=[{"IndexName": "by-g", "ProvisionedWriteCapacityUnits": 3}],
            ReplicaSettingsUpdate=[{**WEST, "ReplicaProvisionedReadCapacityUnits": 9}],
        )
        assert {one["ReplicaStatus"] for one in begun["ReplicaSettings"]} == {"UPDATING"}
        told = orders.tables.describe_global_table_settings(GlobalTableName="orders")["ReplicaSettings"]
        assert [one["ReplicaBillingModeSummary"]["BillingMode"] for one in told] == ["PROVISIONED"] * 2
        assert [one["ReplicaProvisionedWriteCapacityUnits"] for one in told] == [7, 7]
        assert [one["ReplicaProvisionedReadCapacityUnits"] for one in told] == [0, 9]
        for one in told:
            assert one["ReplicaProvisionedWriteCapacityAutoScalingSettings"] == TOLD
            assert one["ReplicaGlobalSecondaryIndexSettings"][0]["ProvisionedWriteCapacityUnits"] == 3
        with refused("ReplicaNotFoundException"):
            orders.tables.update_global_table_settings(
                GlobalTableName="orders", ReplicaSettingsUpdate=[{"RegionName": "eu-west-1"}]
            )
        with refused("IndexNotFoundException"):
            orders.tables.update_global_table_settings(
                GlobalTableName="orders",
                GlobalTableGlobalSecondaryIndexSettingsUpdate=[
                    {"IndexName": "other", "ProvisionedWriteCapacityUnits": 3}
                ],
            )
        with refused("GlobalTableNotFoundException"):
            orders.tables.update_global_table_settings(GlobalTableName="nothing")
