"""Backups, and what else is kept beside a table: policies, insights, exports; each as the service's documents have it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import Orders

GLOBAL = {
    "IndexName": "by-g",
    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
NAMES = [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "g")]
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*"}]})


@pytest.fixture
def orders() -> Any:
    with Simulator(table=None, ids="service") as sim:
        orders = Orders(sim, GlobalSecondaryIndexes=[GLOBAL], AttributeDefinitions=NAMES)
        orders.put("a", g={"S": "x"}, b={"B": b"\0"})
        orders.put("b")
        yield orders


def items(orders: Orders, table: str = "orders") -> list[Any]:
    return sorted(orders.tables.scan(TableName=table)["Items"], key=lambda item: item["id"]["S"])


def back_up(orders: Orders, name: str = "nightly") -> str:
    details = orders.tables.create_backup(TableName="orders", BackupName=name)["BackupDetails"]
    assert (details["BackupStatus"], details["BackupType"]) == ("CREATING", "USER")
    return details["BackupArn"]


# -- backups


def test_a_backup_is_the_table_as_it_was(orders):
    before = items(orders)
    arn = back_up(orders)
    orders.delete("a")
    orders.put("c")
    told = orders.tables.describe_backup(BackupArn=arn)["BackupDescription"]
    assert told["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert (told["SourceTableDetails"]["TableName"], told["SourceTableDetails"]["ItemCount"]) == ("orders", 2)
    assert told["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"][0]["IndexName"] == "by-g"
    made = orders.tables.restore_table_from_backup(TargetTableName="again", BackupArn=arn)["TableDescription"]
    assert made["RestoreSummary"]["SourceBackupArn"] == arn and made["RestoreSummary"]["RestoreInProgress"]
    assert items(orders, "again") == before
    assert orders.tables.scan(TableName="again", IndexName="by-g")["Count"] == 1
    described = orders.tables.describe_table(TableName="again")["Table"]
    assert not described["RestoreSummary"]["RestoreInProgress"]
    assert "StreamSpecification" not in described  # which a restored table has none of


def test_the_table_and_its_copy_are_two(orders):
    orders.tables.restore_table_from_backup(TargetTableName="again", BackupArn=back_up(orders))
    orders.tables.update_table(TableName="again", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-g"}}])
    orders.tables.put_item(TableName="again", Item={"id": {"S": "c"}, "g": {"N": "1"}})
    assert len(items(orders)) == 2
    with refused("ValidationException", "Type mismatch for Index Key g"):
        orders.put("c", g={"N": "1"})


def test_a_backup_outlives_its_table(orders):
    arn = back_up(orders)
    orders.tables.delete_table(TableName="orders")
    orders.tables.restore_table_from_backup(TargetTableName="orders", BackupArn=arn)
    assert len(items(orders)) == 2


def test_a_table_may_be_restored_without_its_indexes(orders):
    made = orders.tables.restore_table_from_backup(
        TargetTableName="again", BackupArn=back_up(orders), GlobalSecondaryIndexOverride=[]
    )["TableDescription"]
    assert "GlobalSecondaryIndexes" not in made
    assert made["AttributeDefinitions"] == [{"AttributeName": "id", "AttributeType": "S"}]


def test_backups_are_listed_page_by_page(orders):
    arns = [back_up(orders, f"number-{number}") for number in range(3)]
    first = orders.tables.list_backups(TableName="orders", Limit=2)
    assert [one["BackupArn"] for one in first["BackupSummaries"]] == arns[:2]
    rest = orders.tables.list_backups(ExclusiveStartBackupArn=first["LastEvaluatedBackupArn"])
    assert [one["BackupName"] for one in rest["BackupSummaries"]] == ["number-2"]
    assert "LastEvaluatedBackupArn" not in rest
    assert orders.tables.list_backups(TableName="others")["BackupSummaries"] == []
    assert orders.tables.list_backups(BackupType="SYSTEM")["BackupSummaries"] == []
    gone = orders.tables.delete_backup(BackupArn=arns[0])["BackupDescription"]
    assert gone["BackupDetails"]["BackupStatus"] == "DELETED"
    assert len(orders.tables.list_backups()["BackupSummaries"]) == 2


def test_what_is_not_there_is_not_backed_up_or_restored(orders):
    arn = back_up(orders)
    with refused("TableNotFoundException", "Table not found: nothing"):
        orders.tables.create_backup(TableName="nothing", BackupName="nightly")
    with refused("TableAlreadyExistsException", "Table already exists: orders"):
        orders.tables.restore_table_from_backup(TargetTableName="orders", BackupArn=arn)
    for call, more in (
        ("describe_backup", {}),
        ("delete_backup", {}),
        ("restore_table_from_backup", {"TargetTableName": "again"}),
    ):
        with refused("BackupNotFoundException", "Backup not found"):
            getattr(orders.tables, call)(BackupArn=f"{arn}0", **more)


# -- moments


def recover(orders: Orders, target: str, **when: Any) -> list[str]:
    orders.tables.restore_table_to_point_in_time(SourceTableName="orders", TargetTableName=target, **when)
    return [item["id"]["S"] for item in items(orders, target)]


def test_a_table_as_it_was_at_a_moment(orders):
    specification = {"PointInTimeRecoveryEnabled": True}
    orders.tables.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=specification)
    began = orders.sim.clock.now()
    orders.sim.clock.advance(60)
    orders.put("a", g={"S": "changed"})
    orders.delete("b")
    orders.sim.clock.advance(60)
    orders.put("c")
    orders.sim.clock.advance(60)
    assert recover(orders, "latest", UseLatestRestorableTime=True) == ["a", "c"]
    assert recover(orders, "between", RestoreDateTime=began + 90) == ["a"]
    assert recover(orders, "before", RestoreDateTime=began + 30) == ["a", "b"]
    assert items(orders, "before")[0]["g"] == {"S": "x"} and items(orders, "between")[0]["g"] == {"S": "changed"}
    for wrong in (began - 1, began + 1000):
        with refused("InvalidRestoreTimeException"):
            recover(orders, "wrong", RestoreDateTime=wrong)
    with refused("ValidationException", "RestoreDateTime and UseLatestRestorableTime"):
        recover(orders, "wrong")


def test_no_moment_without_point_in_time_recovery(orders):
    with refused("PointInTimeRecoveryUnavailableException", "not enabled for table 'orders'"):
        recover(orders, "latest", UseLatestRestorableTime=True)


# -- policies


def test_a_policy_is_kept_with_its_revision(orders):
    arn = orders.describe()["TableArn"]
    with refused("PolicyNotFoundException"):
        orders.tables.get_resource_policy(ResourceArn=arn)
    first = orders.tables.put_resource_policy(ResourceArn=arn, Policy=POLICY)["RevisionId"]
    assert orders.tables.put_resource_policy(ResourceArn=arn, Policy=POLICY)["RevisionId"] == first
    told = orders.tables.get_resource_policy(ResourceArn=arn)
    assert (told["Policy"], told["RevisionId"]) == (POLICY, first)
    with refused("PolicyNotFoundException"):
        orders.tables.put_resource_policy(ResourceArn=arn, Policy=f"{POLICY} ", ExpectedRevisionId="1")
    second = orders.tables.put_resource_policy(ResourceArn=arn, Policy=f"{POLICY} ", ExpectedRevisionId=first)
    assert second["RevisionId"] != first
    assert orders.tables.delete_resource_policy(ResourceArn=arn)["RevisionId"] == second["RevisionId"]
    assert "RevisionId" not in orders.tables.delete_resource_policy(ResourceArn=arn)
    with refused("PolicyNotFoundException"):
        orders.tables.get_resource_policy(ResourceArn=arn)
    orders.tables.put_resource_policy(ResourceArn=orders.arn, Policy=POLICY, ExpectedRevisionId="NO_POLICY")
    assert orders.tables.get_resource_policy(ResourceArn=orders.arn)["Policy"] == POLICY


def test_a_policy_belongs_to_something_and_is_one(orders):
    arn = orders.describe()["TableArn"]
    with refused("ResourceNotFoundException"):
        orders.tables.put_resource_policy(ResourceArn=f"{arn}s", Policy=POLICY)
    with refused("ValidationException", "Invalid ResourceArn"):
        orders.tables.put_resource_policy(ResourceArn="orders", Policy=POLICY)
    with refused("ValidationException", "Invalid policy document"):
        orders.tables.put_resource_policy(ResourceArn=arn, Policy="allow")
    with refused("LimitExceededException"):
        orders.tables.put_resource_policy(ResourceArn=arn, Policy=POLICY + " " * 20_481)


# -- insights


def test_insights_are_switched_for_a_table_and_its_global_indexes(orders):
    place = {"TableName": "orders", "IndexName": "by-g"}
    assert orders.tables.describe_contributor_insights(**place)["ContributorInsightsStatus"] == "DISABLED"
    begun = orders.tables.update_contributor_insights(**place, ContributorInsightsAction="ENABLE")
    assert begun["ContributorInsightsStatus"] == "ENABLING"
    told = orders.tables.describe_contributor_insights(**place)
    assert (told["ContributorInsightsStatus"], len(told["ContributorInsightsRuleList"])) == ("ENABLED", 2)
    assert orders.tables.describe_contributor_insights(TableName="orders")["ContributorInsightsStatus"] == "DISABLED"
    [listed] = orders.tables.list_contributor_insights()["ContributorInsightsSummaries"]
    assert (listed["IndexName"], listed["ContributorInsightsStatus"]) == ("by-g", "ENABLED")
    with refused("ResourceNotFoundException"):
        orders.tables.describe_contributor_insights(TableName="orders", IndexName="nothing")


# -- exports and imports


def test_an_export_fails_for_want_of_its_bucket(orders):
    arn = orders.describe()["TableArn"]
    with refused("PointInTimeRecoveryUnavailableException"):
        orders.tables.export_table_to_point_in_time(TableArn=arn, S3Bucket="bucket")
    specification = {"PointInTimeRecoveryEnabled": True}
    orders.tables.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=specification)
    begun = orders.tables.export_table_to_point_in_time(TableArn=arn, S3Bucket="bucket")["ExportDescription"]
    assert begun["ExportStatus"] == "IN_PROGRESS"
    told = orders.tables.describe_export(ExportArn=begun["ExportArn"])["ExportDescription"]
    assert (told["ExportStatus"], told["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert [one["ExportArn"] for one in orders.tables.list_exports()["ExportSummaries"]] == [begun["ExportArn"]]
    with refused("ExportNotFoundException"):
        orders.tables.describe_export(ExportArn=f"{begun['ExportArn']}0")
    with refused("TableNotFoundException"):
        orders.tables.export_table_to_point_in_time(TableArn=f"{arn}s", S3Bucket="bucket")


def test_an_import_fails_for_want_of_its_bucket(orders):
    table = {
        "TableName": "brought",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": NAMES[:1],
        "BillingMode": "PAY_PER_REQUEST",
    }
    source: dict[str, Any] = {"S3BucketSource": {"S3Bucket": "bucket"}, "InputFormat": "DYNAMODB_JSON"}
    begun = orders.tables.import_table(**source, TableCreationParameters=table)["ImportTableDescription"]
    assert begun["ImportStatus"] == "IN_PROGRESS"
    told = orders.tables.describe_import(ImportArn=begun["ImportArn"])["ImportTableDescription"]
    assert (told["ImportStatus"], told["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert [one["ImportStatus"] for one in orders.tables.list_imports()["ImportSummaryList"]] == ["FAILED"]
    with refused("ResourceInUseException"):
        orders.tables.import_table(**source, TableCreationParameters=table | {"TableName": "orders"})
    with refused("ImportNotFoundException"):
        orders.tables.describe_import(ImportArn=f"{begun['ImportArn']}0")


def test_what_is_asked_for_again_with_its_token_is_the_same(orders):
    arn = orders.describe()["TableArn"]
    specification = {"PointInTimeRecoveryEnabled": True}
    orders.tables.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=specification)
    asked = {"TableArn": arn, "S3Bucket": "bucket", "ClientToken": "one"}
    first, again = (orders.tables.export_table_to_point_in_time(**asked)["ExportDescription"] for _ in range(2))
    assert first["ExportArn"] == again["ExportArn"]
    with refused("ExportConflictException", "same client token"):
        orders.tables.export_table_to_point_in_time(**asked | {"S3Bucket": "other"})
    orders.sim.clock.advance(hours=8)
    later = orders.tables.export_table_to_point_in_time(**asked)["ExportDescription"]
    assert later["ExportArn"] != first["ExportArn"], "eight hours are over"


def test_a_bulk_operation_fails_for_want_of_its_bucket(orders):
    asked: dict[str, Any] = {
        "TableName": "orders",
        "InputS3Configuration": {"S3Bucket": "bucket", "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"S3Bucket": "errors", "OutputType": ["ERROR"]},
    }
    started = []
    for number in range(3):
        orders.sim.clock.advance(1)
        told = orders.tables.start_bulk_put_items(**asked, ClientToken=f"token-{number}")["BulkOperationDescription"]
        assert (told["BulkOperationStatus"], told["PerformanceTier"]) == ("IN_PROGRESS", "STANDARD")
        started.append(told["BulkOperationArn"])
    again = orders.tables.start_bulk_put_items(**asked, ClientToken="token-2")["BulkOperationDescription"]
    assert again["BulkOperationArn"] == started[-1]
    with refused("IdempotentParameterMismatchException"):
        orders.tables.start_bulk_put_items(**asked, PerformanceTier="ACCELERATED", ClientToken="token-2")
    told = orders.tables.describe_bulk_operation(BulkOperationArn=started[0])["BulkOperationDescription"]
    assert (told["BulkOperationStatus"], told["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert told["TableDetails"][0]["TableName"] == "orders"
    first = orders.tables.list_bulk_operations(MaxResults=2)
    rest = orders.tables.list_bulk_operations(NextToken=first["NextToken"])
    listed = [one["BulkOperationArn"] for page in (first, rest) for one in page["BulkOperationsSummaryList"]]
    assert listed == started[::-1], "the most recent ones come first"
    assert orders.tables.cancel_bulk_operation(BulkOperationArn=started[0])["BulkOperationStatus"] == "CANCELLING"
    for call in (orders.tables.describe_bulk_operation, orders.tables.cancel_bulk_operation):
        with refused("ResourceNotFoundException"):
            call(BulkOperationArn=f"{started[0]}0")
    with refused("ResourceNotFoundException"):
        orders.tables.start_bulk_put_items(**asked | {"TableName": "nothing"})
