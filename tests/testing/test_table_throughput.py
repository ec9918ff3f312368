"""Throughput: what a table may give and take in a second, as UpdateTable changes it and DescribeTable tells it."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.test_table_creation import BASE, PROVISIONED, WITH_G, index

UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
BY_G: dict[str, Any] = {**WITH_G, "GlobalSecondaryIndexes": [index()]}
PROVISIONED_BY_G: dict[str, Any] = {
    **PROVISIONED,
    **WITH_G,
    "GlobalSecondaryIndexes": [index(ProvisionedThroughput=UNITS)],
}


@pytest.fixture
def client(sim: Simulator) -> Any:
    return sim.client("dynamodb")


def described(client: Any) -> dict[str, Any]:
    told: dict[str, Any] = client.describe_table(TableName="made")["Table"]
    return told


def of_g(**update: Any) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-g", **update}}]}


def test_raises_and_cuts_of_the_day_are_told(sim: Simulator, client: Any):
    client.create_table(**BASE | PROVISIONED_BY_G)
    for units in ((7, 6), (7, 3), (2, 9)):
        sim.clock.advance(60)
        throughput = dict(zip(UNITS, units, strict=True))
        client.update_table(
            TableName="made", ProvisionedThroughput=throughput, **of_g(ProvisionedThroughput=throughput)
        )
    told = described(client)
    for units in (told["ProvisionedThroughput"], told["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]):
        assert (units["ReadCapacityUnits"], units["WriteCapacityUnits"]) == (2, 9)
        assert units["NumberOfDecreasesToday"] == 2
        assert units["LastIncreaseDateTime"] == units["LastDecreaseDateTime"]
        assert units["LastIncreaseDateTime"].timestamp() == sim.clock.now()
    sim.clock.advance(hours=24)
    assert described(client)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0, "it is another day"


def test_units_that_stay_are_refused(client: Any):
    client.create_table(**BASE | PROVISIONED_BY_G)
    with refused("ValidationException", "The provisioned throughput for the table will not change"):
        client.update_table(TableName="made", ProvisionedThroughput=UNITS)
    with refused(
        "ValidationException",
        "The provisioned throughput for the index by-g will not change.*Requested ReadCapacityUnits: 5",
    ):
        client.update_table(TableName="made", **of_g(ProvisionedThroughput=UNITS))


def test_ceilings_of_a_table_on_demand_change_one_by_one_and_go_by_minus_one(client: Any):
    client.create_table(
        **BASE | {**BY_G, "OnDemandThroughput": {"MaxReadRequestUnits": 20, "MaxWriteRequestUnits": 15}}
    )
    client.update_table(TableName="made", OnDemandThroughput={"MaxReadRequestUnits": 40})
    assert described(client)["OnDemandThroughput"] == {"MaxReadRequestUnits": 40, "MaxWriteRequestUnits": 15}
    client.update_table(
        TableName="made",
        OnDemandThroughput={"MaxReadRequestUnits": -1},
        **of_g(OnDemandThroughput={"MaxWriteRequestUnits": 3}),
    )
    assert described(client)["OnDemandThroughput"] == {"MaxWriteRequestUnits": 15}
    assert described(client)["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] == {"MaxWriteRequestUnits": 3}
    client.update_table(
        TableName="made",
        BillingMode="PROVISIONED",
        ProvisionedThroughput=UNITS,
        **of_g(ProvisionedThroughput=UNITS),
    )
    told = described(client)
    assert "OnDemandThroughput" not in told
    assert "OnDemandThroughput" not in told["GlobalSecondaryIndexes"][0]


@pytest.mark.parametrize(
    "more, words",
    [
        ({"OnDemandThroughput": {"MaxReadRequestUnits": 0}}, "Requested MaxReadRequestUnits .* outside of valid range"),
        ({**PROVISIONED, "OnDemandThroughput": {"MaxWriteRequestUnits": 9}}, "on demand only"),
        ({"WarmThroughput": {"ReadUnitsPerSecond": 11999}}, "is lower than initial throughput for OnDemand"),
        (
            {**PROVISIONED, "WarmThroughput": {"WriteUnitsPerSecond": 5}},
            "is lower than WriteCapacityUnits of ProvisionedThroughput",
        ),
        (
            {**WITH_G, "GlobalSecondaryIndexes": [index(OnDemandThroughput={"MaxReadRequestUnits": -2})]},
            "for index by-g is outside of valid range",
        ),
        (
            {**WITH_G, "GlobalSecondaryIndexes": [index(WarmThroughput={"WriteUnitsPerSecond": 1})]},
            "for index by-g is lower than",
        ),
        ({"SSESpecification": {"Enabled": True, "SSEType": "AES256"}}, "The only valid SSEType is KMS"),
        ({"SSESpecification": {"Enabled": True, "KMSMasterKeyId": "k"}}, "SSEType KMS is required"),
    ],
)
def test_a_table_is_not_made_with_throughput_or_keys_that_cannot_be(client: Any, more: dict[str, Any], words: str):
    with refused("ValidationException", words):
        client.create_table(**BASE | more)
    assert "made" not in client.list_tables()["TableNames"]


def test_a_table_stays_as_warm_as_it_was(client: Any):
    """The Guide: it is warm for what is provisioned, or for 12,000 reads and 4,000 writes on demand, and never cools."""
    client.create_table(**BASE | PROVISIONED_BY_G)
    warm = described(client)["WarmThroughput"]
    assert (warm["ReadUnitsPerSecond"], warm["WriteUnitsPerSecond"], warm["Status"]) == (5, 6, "ACTIVE")
    client.update_table(TableName="made", WarmThroughput={"ReadUnitsPerSecond": 50})
    client.update_table(TableName="made", ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 9})
    warm = described(client)["WarmThroughput"]
    assert (warm["ReadUnitsPerSecond"], warm["WriteUnitsPerSecond"]) == (50, 9)
    with refused("ValidationException", "decreasing WarmThroughput is not supported"):
        client.update_table(TableName="made", WarmThroughput={"ReadUnitsPerSecond": 49})
    client.update_table(
        TableName="made", BillingMode="PAY_PER_REQUEST", **of_g(WarmThroughput={"ReadUnitsPerSecond": 13000})
    )
    told = described(client)
    assert told["WarmThroughput"]["ReadUnitsPerSecond"] == 12000
    assert told["GlobalSecondaryIndexes"][0]["WarmThroughput"]["ReadUnitsPerSecond"] == 13000
    assert told["ProvisionedThroughput"] == {**dict.fromkeys(UNITS, 0), "NumberOfDecreasesToday": 0}


def test_a_restored_table_has_the_mode_that_is_asked_for(client: Any):
    client.create_table(**BASE | PROVISIONED_BY_G)
    backup = client.create_backup(TableName="made", BackupName="all")["BackupDetails"]["BackupArn"]
    client.restore_table_from_backup(BackupArn=backup, TargetTableName="again", BillingModeOverride="PAY_PER_REQUEST")
    told = client.describe_table(TableName="again")["Table"]
    for units in (told["ProvisionedThroughput"], told["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]):
        assert units == {**dict.fromkeys(UNITS, 0), "NumberOfDecreasesToday": 0}
    kept = client.describe_backup(BackupArn=backup)["BackupDescription"]
    assert kept["SourceTableDetails"]["ProvisionedThroughput"] == UNITS
    assert kept["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] == UNITS
