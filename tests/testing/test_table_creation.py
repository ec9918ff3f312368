"""Creation: what a table and its indexes may be, how they are described, and what else is set beside them."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.config import Config

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.test_table_calls import keys


@pytest.fixture
def client(sim: Simulator) -> Any:
    return sim.client("dynamodb", config=Config(parameter_validation=False))


def kinds(names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def index(name: str = "by-g", *names: str, **more: Any) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": keys(*(names or ("g",))), "Projection": {"ProjectionType": "ALL"}} | more


BASE: dict[str, Any] = {
    "TableName": "made",
    "KeySchema": keys("p", "c"),
    "AttributeDefinitions": kinds("pc"),
    "BillingMode": "PAY_PER_REQUEST",
}
WITH_G = {"AttributeDefinitions": kinds("pcg")}
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
PROVISIONED: dict[str, Any] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}


@pytest.mark.parametrize(
    "more, words",
    [
        ({"TableName": "ab"}, "at least 3 characters long"),
        ({"TableName": "a b c"}, "satisfy regular expression pattern"),
        ({"KeySchema": None}, "'keySchema'"),
        (
            {"KeySchema": None, "AttributeDefinitions": None},
            "2 validation errors detected: Value null at 'attributeDefinitions' .*; Value null at 'keySchema'",
        ),
        ({"KeySchema": keys("p", "p"), "AttributeDefinitions": kinds("p")}, "have the same name"),
        ({"KeySchema": keys("p", "c")[::-1]}, "The first KeySchemaElement is not a HASH key type"),
        ({"AttributeDefinitions": kinds("p")}, r"Keys: \[p, c\], AttributeDefinitions: \[p\]"),
        (WITH_G, "Number of attributes in KeySchema does not exactly match"),
        ({"AttributeDefinitions": [*kinds("pc"), *kinds("p")]}, "Duplicate AttributeName"),
        ({"BillingMode": "PROVISIONED"}, "ReadCapacityUnits and WriteCapacityUnits must both be specified"),
        ({"ProvisionedThroughput": UNITS}, "when BillingMode is PAY_PER_REQUEST"),
        ({"GlobalSecondaryIndexes": []}, "List of GlobalSecondaryIndexes is empty"),
        ({"GlobalSecondaryIndexes": [index()]}, r"Keys: \[g\], AttributeDefinitions: \[p, c\]"),
        ({**WITH_G, "GlobalSecondaryIndexes": [index(), index()]}, "Duplicate index name: by-g"),
        (
            {**WITH_G, "GlobalSecondaryIndexes": [index("both")], "LocalSecondaryIndexes": [index("both", "p", "g")]},
            "Duplicate index name: both",
        ),
        ({**WITH_G, "GlobalSecondaryIndexes": [index(Projection={})]}, "Unknown ProjectionType: null"),
        (
            {**WITH_G, "GlobalSecondaryIndexes": [index(Projection={"ProjectionType": "INCLUDE"})]},
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            {
                **WITH_G,
                "GlobalSecondaryIndexes": [
                    index(Projection={"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["x"]})
                ],
            },
            "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
        ),
        (
            {**WITH_G, "GlobalSecondaryIndexes": [index(ProvisionedThroughput=UNITS)]},
            "ProvisionedThroughput should not be specified for index: by-g when BillingMode is PAY_PER_REQUEST",
        ),
        (
            {**PROVISIONED, **WITH_G, "GlobalSecondaryIndexes": [index()]},
            "ProvisionedThroughput is not specified for index: by-g",
        ),
        (
            {**PROVISIONED, "ProvisionedThroughput": {**UNITS, "ReadCapacityUnits": 10**12 + 1}},
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            {
                **PROVISIONED,
                **WITH_G,
                "GlobalSecondaryIndexes": [index(ProvisionedThroughput={**UNITS, "WriteCapacityUnits": 10**13})],
            },
            "Given value 10000000000000 for WriteCapacityUnits is out of bounds for index by-g",
        ),
        (
            {**WITH_G, "LocalSecondaryIndexes": [index(f"by-g{number}", "p", "g") for number in range(6)]},
            "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
        ({"ResourcePolicy": "allow"}, "Invalid policy document"),
        ({"GlobalTableSourceArn": "arn:aws:dynamodb:us-east-1:1:table/x"}, "no global tables of several accounts"),
        (
            {**WITH_G, "GlobalSecondaryIndexes": [index(f"by-g{number}") for number in range(21)]},
            "GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ),
        (
            {**WITH_G, "LocalSecondaryIndexes": [index("by-g", "g", "c")]},
            "does not have the same leading hash key as table KeySchema for index: by-g",
        ),
        ({**WITH_G, "LocalSecondaryIndexes": [index("by-g", "p")]}, "Index KeySchema does not have a range key"),
        (
            {
                "KeySchema": keys("p"),
                "AttributeDefinitions": kinds("pg"),
                "LocalSecondaryIndexes": [index("l", "p", "g")],
            },
            "have length greater than or equal to 3",
        ),
        (
            {
                "KeySchema": keys("p"),
                "AttributeDefinitions": kinds("pg"),
                "LocalSecondaryIndexes": [index("by-g", "p", "g")],
            },
            "Table KeySchema does not have a range key",
        ),
        ({"Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}, "Duplicate tag keys"),
    ],
)
def test_a_table_that_cannot_be(client, more, words):
    request = {name: value for name, value in (BASE | more).items() if value is not None}
    with refused("ValidationException", words):
        client.create_table(**request)
    assert "made" not in client.list_tables()["TableNames"]


def test_a_table_is_described_as_it_was_made(client):
    request = BASE | {
        "AttributeDefinitions": kinds("pcg"),
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": UNITS,
        "GlobalSecondaryIndexes": [index(ProvisionedThroughput=UNITS)],
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "DeletionProtectionEnabled": True,
    }
    assert client.create_table(**request)["TableDescription"]["TableStatus"] == "CREATING"
    told = client.describe_table(TableName="made")["Table"]
    assert told["TableStatus"] == "ACTIVE"
    assert told["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **UNITS}
    assert "BillingModeSummary" not in told
    assert told["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert told["DeletionProtectionEnabled"] is True
    [by_g] = told["GlobalSecondaryIndexes"]
    assert by_g["IndexStatus"] == "ACTIVE"
    assert by_g["IndexArn"] == f"{told['TableArn']}/index/by-g"
    assert by_g["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **UNITS}
    with refused("ResourceInUseException", "Table already exists: made"):
        client.create_table(**request)
    with refused("ValidationException", "The requested value equals the current value"):
        client.update_table(TableName="made", ProvisionedThroughput=UNITS)
    client.update_table(TableName="made", BillingMode="PAY_PER_REQUEST", DeletionProtectionEnabled=False)
    told = client.describe_table(TableName="made")["Table"]
    assert told["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert told["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert told["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    with refused("ValidationException", "ProvisionedThroughput is not specified for index: by-g"):
        client.update_table(TableName="made", BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    with refused("ValidationException", "At least one of ProvisionedThroughput, BillingMode"):
        client.update_table(TableName="made", GlobalSecondaryIndexUpdates=[])


def test_a_table_s_class_is_told_with_its_time(sim, client):
    client.create_table(**BASE)
    assert "TableClassSummary" not in client.describe_table(TableName="made")["Table"]
    client.update_table(TableName="made", TableClass="STANDARD_INFREQUENT_ACCESS")
    told = client.describe_table(TableName="made")["Table"]["TableClassSummary"]
    assert told["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert told["LastUpdateDateTime"].timestamp() == sim.clock.now()


def test_an_index_of_a_table_on_demand_has_no_units(client):
    client.create_table(**BASE | {**WITH_G, "GlobalSecondaryIndexes": [index()]})
    update = [{"Update": {"IndexName": "by-g", "ProvisionedThroughput": UNITS}}]
    with refused("ValidationException", "can be specified for index: by-g when BillingMode is PAY_PER_REQUEST"):
        client.update_table(TableName="made", GlobalSecondaryIndexUpdates=update)


def test_a_key_keeps_its_type(client):
    client.create_table(**BASE)
    create = [{"Create": index("by-c", "c")}]
    definitions = [{"AttributeName": "c", "AttributeType": "N"}]
    with refused("ValidationException", "The type of c is S already"):
        client.update_table(TableName="made", AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=create)
    client.put_item(TableName="made", Item={"p": {"S": "a"}, "c": {"S": "1"}})


def test_an_index_that_goes_is_told_of_once_more(client):
    client.create_table(**BASE | {**WITH_G, "GlobalSecondaryIndexes": [index()]})
    drop = [{"Delete": {"IndexName": "by-g"}}]
    [told] = client.update_table(TableName="made", GlobalSecondaryIndexUpdates=drop)["TableDescription"][
        "GlobalSecondaryIndexes"
    ]
    assert (told["IndexName"], told["IndexStatus"]) == ("by-g", "DELETING")
    assert "GlobalSecondaryIndexes" not in client.describe_table(TableName="made")["Table"]


@pytest.mark.parametrize(
    "key, arn",
    [
        ({}, "arn:aws:kms:us-east-1:000000000000:alias/aws/dynamodb"),
        ({"KMSMasterKeyId": "alias/own"}, "arn:aws:kms:us-east-1:000000000000:alias/own"),
        ({"KMSMasterKeyId": "12-34"}, "arn:aws:kms:us-east-1:000000000000:key/12-34"),
        ({"KMSMasterKeyId": "arn:aws:kms:eu-west-1:1:key/1"}, "arn:aws:kms:eu-west-1:1:key/1"),
    ],
)
def test_encryption_is_described_with_its_key(client, key, arn):
    client.create_table(**BASE | {"SSESpecification": {"Enabled": True, "SSEType": "KMS", **key}})
    told = client.describe_table(TableName="made")["Table"]["SSEDescription"]
    assert told == {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": arn}


def test_a_description_counts_items_and_bytes(client):
    client.create_table(**BASE | {**WITH_G, "GlobalSecondaryIndexes": [index()]})
    for number in range(3):
        item = {"p": {"S": "a"}, "c": {"S": str(number)}} | ({"g": {"S": "g"}} if number else {})
        client.put_item(TableName="made", Item=item)
    client.delete_item(TableName="made", Key={"p": {"S": "a"}, "c": {"S": "2"}})
    told = client.describe_table(TableName="made")["Table"]
    assert (told["ItemCount"], told["TableSizeBytes"]) == (2, 4 + 6)
    [by_g] = told["GlobalSecondaryIndexes"]
    assert (by_g["ItemCount"], by_g["IndexSizeBytes"]) == (1, 6)


def test_tags_come_and_go(client):
    client.create_table(**BASE | {"Tags": [{"Key": "team", "Value": "blue"}]})
    arn = client.describe_table(TableName="made")["Table"]["TableArn"]
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "red"}, {"Key": "cost", "Value": ""}])
    assert {tag["Key"]: tag["Value"] for tag in client.list_tags_of_resource(ResourceArn=arn)["Tags"]} == {
        "team": "red",
        "cost": "",
    }
    client.untag_resource(ResourceArn=arn, TagKeys=["cost", "nothing"])
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "red"}]
    many = [{"Key": str(number), "Value": ""} for number in range(50)]
    for tags, words in (
        (many, "Too many tags"),
        ([], "Atleast one Tag"),
        ([{"Key": "AWS:x", "Value": ""}], "reserved"),
    ):
        with refused("ValidationException", words):
            client.tag_resource(ResourceArn=arn, Tags=tags)
    with refused("ResourceNotFoundException", "not found"):
        client.list_tags_of_resource(ResourceArn=f"{arn}s")
    with refused("ValidationException", "Invalid ResourceArn provided as input"):
        client.list_tags_of_resource(ResourceArn="made")


def test_what_has_no_backing_is_told_so(client):
    client.create_table(**BASE)
    assert client.describe_limits()["TableMaxReadCapacityUnits"] == 40000
    backups = client.describe_continuous_backups(TableName="made")["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}
    asked = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    client.update_continuous_backups(TableName="made", PointInTimeRecoverySpecification=asked)
    told = client.describe_continuous_backups(TableName="made")["ContinuousBackupsDescription"]
    assert told["PointInTimeRecoveryDescription"]["RecoveryPeriodInDays"] == 7
    with refused("TableNotFoundException", "Table not found: nothing"):
        client.describe_continuous_backups(TableName="nothing")
    with refused("GlobalTableNotFoundException", "'made' does not exist"):
        client.describe_global_table(GlobalTableName="made")
    assert client.list_global_tables()["GlobalTables"] == []
    scaling = client.describe_table_replica_auto_scaling(TableName="made")["TableAutoScalingDescription"]
    assert scaling["Replicas"] == []
    with refused("ValidationException", "no consistency among regions"):
        client.update_table(TableName="made", MultiRegionConsistency="STRONG")
    with refused("UnknownOperationException", "the simulator has no SearchVectors"):
        client.search_vectors(TableName="made", IndexName="near", SearchVector=[{"N": "1"}], TopK=1)


@pytest.mark.parametrize("operation", ["describe_table", "delete_table", "update_table", "describe_time_to_live"])
def test_a_table_that_is_not_there(client, operation):
    more = {"DeletionProtectionEnabled": True} if operation == "update_table" else {}
    with refused("ResourceNotFoundException", "Requested resource not found: Table: nothing not found"):
        getattr(client, operation)(TableName="nothing", **more)
    with refused("ValidationException", "have length greater than or equal to 3"):
        getattr(client, operation)(TableName="x", **more)
