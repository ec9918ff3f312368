"""Descriptions: a table as DescribeTable tells of it, with its indexes and its stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.testing.tables import throughput
from streamiter.testing.tables.schema import Index
from streamiter.testing.tables.table import StoredTable

Body = dict[str, Any]

VERSION = "2019.11.21"  # of global tables


def described(
    table: StoredTable,
    status: str = "ACTIVE",
    *,
    making: str | None = None,
    replicas: Mapping[str, str] | None = None,
    now_us: int | None = None,
) -> Body:
    """A table's description. `status` is what the answer to a change says, and `making` the index that it makes,
    `replicas` the statuses of those that it changes: the change begins, though here it is done at once."""
    now_seconds = None if now_us is None else now_us / SECOND_US
    truth, settings = table.truth, table.settings
    told: Body = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in table.schema.kinds.items()
        ],
        "CreationDateTime": truth.created_us / SECOND_US,
        "DeletionProtectionEnabled": bool(settings.get("DeletionProtectionEnabled")),
        "ItemCount": len(table.items),
        "KeySchema": truth.key_schema,
        "TableArn": truth.arn,
        "TableId": truth.id,
        "TableName": truth.name,
        "TableSizeBytes": table.items.bytes,
        "TableStatus": status,
        **throughput.told(settings, now_seconds),
    }
    if settings.get("BillingMode") == "PAY_PER_REQUEST":
        since = settings.get("OnDemandSince", truth.created_us / SECOND_US)
        told["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": since}
    elif "OnDemandSince" in settings:
        told["BillingModeSummary"] = {
            "BillingMode": "PROVISIONED",
            "LastUpdateToPayPerRequestDateTime": settings["OnDemandSince"],
        }
    statuses = dict.fromkeys(table.replicas, "ACTIVE") | dict(replicas or {})
    if statuses:
        told["GlobalTableVersion"] = VERSION
        told["Replicas"] = [
            {"RegionName": region, "ReplicaStatus": one, **table.replicas.get(region, {})}
            for region, one in statuses.items()
        ]
    if "RestoreSummary" in settings:
        told["RestoreSummary"] = settings["RestoreSummary"]
    if "TableClass" in settings:
        told["TableClassSummary"] = {"TableClass": settings["TableClass"]}
        if "TableClassSince" in settings:
            told["TableClassSummary"]["LastUpdateDateTime"] = settings["TableClassSince"]
    encryption = settings.get("SSESpecification", {})
    if encryption.get("Enabled"):
        told["SSEDescription"] = {"Status": "ENABLED", "SSEType": encryption.get("SSEType", "KMS")}
        told["SSEDescription"]["KMSMasterKeyArn"] = _key_arn(
            table, encryption.get("KMSMasterKeyId", "alias/aws/dynamodb")
        )
    for member, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
        indexes = [index for index in table.schema.indexes.values() if index.is_global is is_global]
        if indexes:
            told[member] = [_index(table, index, status, making, now_seconds) for index in indexes]
    return told | _stream(table)


def dropped_index(table: StoredTable, name: str | None) -> Body | None:
    """An index that an update drops, as its answer tells of it."""
    if name is None:
        return None
    return {**_index(table, table.schema.indexes[name], "ACTIVE", None, None), "IndexStatus": "DELETING"}


def key_schema(keys: Sequence[str], hashes: int = 1) -> list[dict[str, str]]:
    """The KeySchema of these attributes, of which so many make up the partition key."""
    return [
        {"AttributeName": name, "KeyType": "HASH" if place < hashes else "RANGE"} for place, name in enumerate(keys)
    ]


def _index(table: StoredTable, index: Index, table_status: str, making: str | None, now_seconds: float | None) -> Body:
    count, size = table.items.count(index)
    told: Body = {
        "IndexArn": f"{table.truth.arn}/index/{index.name}",
        "IndexName": index.name,
        "IndexSizeBytes": size,
        "ItemCount": count,
        "KeySchema": key_schema(index.keys, index.hashes),
        "Projection": index.projection,
    }
    if index.is_global:
        is_begun = making == index.name or table_status == "CREATING"
        told["IndexStatus"] = "CREATING" if is_begun else "ACTIVE"
        told |= throughput.told(index.more, now_seconds)
    return told


def _key_arn(table: StoredTable, key: str) -> str:
    """The ARN of a key that may be named by its ARN, its alias or its id; none of them is looked for."""
    if key.startswith("arn:"):
        return key
    name = key if "/" in key else f"key/{key}"
    return f"{table.truth.arn.partition(':table/')[0].replace(':dynamodb:', ':kms:')}:{name}"


def _stream(table: StoredTable) -> Body:
    truth = table.truth
    told: Body = {}
    if truth.streams:
        told |= {"LatestStreamArn": truth.latest.arn, "LatestStreamLabel": truth.latest.label}
    if truth.has_stream:
        told["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": truth.latest.view}
    return told
