"""Backups: a table as it was when one was made, or at a moment since point-in-time recovery is on; and new tables from them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.tables.creation import check_served
from streamiter.testing.tables.descriptions import described
from streamiter.testing.tables.schema import Schema
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.throughput import keep

Body = Mapping[str, Any]
Answer = dict[str, Any]
# The name of a new table, its schema and settings, and when it is made: the table, made.
Make = Callable[[str, Schema, dict[str, Any], int], StoredTable]

_MOST_LISTED = 100
_DETAILS = ("BackupArn", "BackupName", "BackupSizeBytes", "BackupStatus", "BackupType", "BackupCreationDateTime")
_OF_INDEXES = ("IndexName", "KeySchema", "Projection", "OnDemandThroughput")
_OVERRIDES = {
    "ProvisionedThroughputOverride": "ProvisionedThroughput",
    "OnDemandThroughputOverride": "OnDemandThroughput",
    "SSESpecificationOverride": "SSESpecification",
}


class _Backup(NamedTuple):
    """One backup: what is told of it, and what a table is made of again."""

    told: dict[str, Any]  # BackupDescription
    schema: Schema
    settings: dict[str, Any]
    items: list[bytes]


class TableBackups:
    """The calls on backups, by name; `find` gives the table of a name, or None."""

    def __init__(self, find: Callable[[str], StoredTable | None], make: Make) -> None:
        self._find = find
        self._make = make
        self._backups: dict[str, _Backup] = {}  # by ARN, the oldest first
        self._made = 0
        self.calls: dict[str, Callable[[Body, int], Answer]] = {
            "CreateBackup": self._create,
            "DescribeBackup": lambda body, _: {"BackupDescription": self._backup(body).told},
            "DeleteBackup": self._delete,
            "ListBackups": self._list,
            "RestoreTableFromBackup": self._restore,
            "RestoreTableToPointInTime": self._restore_to,
            "DescribeContinuousBackups": lambda body, now_us: _told(self._table(body["TableName"]), now_us),
            "UpdateContinuousBackups": self._update_continuous,
        }

    # -- backups

    def _create(self, body: Body, now_us: int) -> Answer:
        table = self._table(body["TableName"])
        arn = f"{table.truth.arn}/backup/{now_us // 1000:014d}-{self._made:08x}"
        self._made += 1
        details = {
            "BackupArn": arn,
            "BackupName": body["BackupName"],
            "BackupSizeBytes": table.items.bytes,
            "BackupStatus": "AVAILABLE",
            "BackupType": "USER",
            "BackupCreationDateTime": now_us / SECOND_US,
        }
        told = {
            "BackupDetails": details,
            "SourceTableDetails": _source(table),
            "SourceTableFeatureDetails": _features(table),
        }
        self._backups[arn] = _Backup(told, *_copied(table), [stored for _, stored in table.items.by_key()])
        return {"BackupDetails": {**details, "BackupStatus": "CREATING"}}

    def _delete(self, body: Body, now_us: int) -> Answer:
        told = copy.deepcopy(self._backup(body).told)
        del self._backups[body["BackupArn"]]
        told["BackupDetails"]["BackupStatus"] = "DELETED"
        return {"BackupDescription": told}

    def _list(self, body: Body, now_us: int) -> Answer:
        name, start = body.get("TableName"), body.get("ExclusiveStartBackupArn")
        low, high = body.get("TimeRangeLowerBound", 0), body.get("TimeRangeUpperBound", float("inf"))
        summaries = [_summary(backup) for backup in self._backups.values()]
        found = [
            one
            for one in summaries
            if name in (None, one["TableName"])
            and low <= one["BackupCreationDateTime"] < high
            and body.get("BackupType", "USER") in ("USER", "ALL")
        ]
        if start is not None:
            found = [one for one in found if one["BackupArn"].rpartition("/")[2] > start.rpartition("/")[2]]
        page = found[: body.get("Limit", _MOST_LISTED)]
        more = {"LastEvaluatedBackupArn": page[-1]["BackupArn"]} if len(page) < len(found) else {}
        return {"BackupSummaries": page} | more

    def _restore(self, body: Body, now_us: int) -> Answer:
        backup = self._backup(body)
        source = {"SourceBackupArn": body["BackupArn"], "SourceTableArn": backup.told["SourceTableDetails"]["TableArn"]}
        restored = self._restored(body, copy.deepcopy(backup.schema), dict(backup.settings), now_us)
        restored.items.load(backup.items)
        return _begun(restored, source, backup.told["BackupDetails"]["BackupCreationDateTime"])

    # -- moments

    def _restore_to(self, body: Body, now_us: int) -> Answer:
        given = [name for name in ("SourceTableName", "SourceTableArn") if name in body]
        if len(given) != 1:
            raise invalid("One of SourceTableName and SourceTableArn is required, and only one")
        table = self._table(body[given[0]].rpartition(":table/")[2])
        if not table.recovery.is_on:
            raise Refusal(
                "PointInTimeRecoveryUnavailableException",
                f"Point in time recovery is not enabled for table '{table.name}'",
            )
        if ("RestoreDateTime" in body) == bool(body.get("UseLatestRestorableTime")):
            raise invalid("One of RestoreDateTime and UseLatestRestorableTime is required, and only one")
        at_us = round(body["RestoreDateTime"] * SECOND_US) if "RestoreDateTime" in body else now_us
        earliest_us = table.recovery.earliest_us(now_us)
        if not earliest_us <= at_us <= now_us:
            raise Refusal(
                "InvalidRestoreTimeException",
                "The specified restore time is outside the range of EarliestRestorableDateTime "
                f"({earliest_us / SECOND_US}) and LatestRestorableDateTime ({now_us / SECOND_US})",
            )
        items = table.recovery.items_at(at_us, dict(table.items.by_key()))
        restored = self._restored(body, *_copied(table), now_us)
        restored.items.load(items)
        return _begun(restored, {"SourceTableArn": table.truth.arn}, at_us / SECOND_US)

    def _update_continuous(self, body: Body, now_us: int) -> Answer:
        table = self._table(body["TableName"])
        asked = body["PointInTimeRecoverySpecification"]
        is_on = asked["PointInTimeRecoveryEnabled"]
        if not is_on and "RecoveryPeriodInDays" in asked:
            raise invalid("RecoveryPeriodInDays can only be set where point-in-time recovery is enabled")
        table.recovery.switch(is_on, asked.get("RecoveryPeriodInDays"), now_us)
        return _told(table, now_us)

    # -- inside

    def _backup(self, body: Body) -> _Backup:
        backup = self._backups.get(body["BackupArn"])
        if backup is None:
            raise Refusal("BackupNotFoundException", f"Backup not found: {body['BackupArn']}")
        return backup

    def _table(self, name: str) -> StoredTable:
        table = self._find(name)
        if table is None:
            raise Refusal("TableNotFoundException", f"Table not found: {name}")
        return table

    def _restored(self, body: Body, schema: Schema, settings: dict[str, Any], now_us: int) -> StoredTable:
        name = body["TargetTableName"]
        check_served(body)
        if self._find(name) is not None:
            raise Refusal("TableAlreadyExistsException", f"Table already exists: {name}")
        asked = {own: body[override] for override, own in _OVERRIDES.items() if override in body}
        mode = body.get("BillingModeOverride", settings.get("BillingMode", "PROVISIONED"))
        settings |= {"BillingMode": mode}
        settings |= {name: asked[name] for name in ("SSESpecification",) if name in asked}
        for throughput, of in (
            (settings, asked),
            *((index.more, {}) for index in schema.indexes.values() if index.is_global),
        ):
            keep(throughput, of, mode)
        for member, is_global in (("LocalSecondaryIndexOverride", False), ("GlobalSecondaryIndexOverride", True)):
            if member in body:
                kept = {index["IndexName"] for index in body[member]}
                for index in [index for index in schema.indexes.values() if index.is_global is is_global]:
                    if index.name not in kept:
                        del schema.indexes[index.name]
        schema.forget_unused()
        return self._make(name, schema, settings, now_us)


def _copied(table: StoredTable) -> tuple[Schema, dict[str, Any]]:
    settings = {name: value for name, value in table.settings.items() if name != "RestoreSummary"}
    return copy.deepcopy(table.schema), settings


def _begun(table: StoredTable, source: dict[str, Any], at: float) -> Answer:
    """The answer to a restoring: it begins, though here it is done at once."""
    summary = {**source, "RestoreDateTime": at, "RestoreInProgress": False}
    table.settings["RestoreSummary"] = summary
    told = described(table, "CREATING")
    return {"TableDescription": {**told, "RestoreSummary": {**summary, "RestoreInProgress": True}}}


def _source(table: StoredTable) -> Answer:
    told = described(table)
    source = {
        "BillingMode": table.settings.get("BillingMode", "PROVISIONED"),
        "ProvisionedThroughput": _units(told),
        "TableCreationDateTime": told["CreationDateTime"],
    }
    names = ("TableName", "TableId", "TableArn", "TableSizeBytes", "KeySchema", "ItemCount", "OnDemandThroughput")
    return source | {name: told[name] for name in names if name in told}


def _features(table: StoredTable) -> Answer:
    told = described(table)
    features: Answer = {
        member: [
            {name: index[name] for name in _OF_INDEXES if name in index}
            | ({"ProvisionedThroughput": _units(index)} if "ProvisionedThroughput" in index else {})
            for index in told[member]
        ]
        for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        if member in told
    }
    if "StreamSpecification" in told:
        features["StreamDescription"] = told["StreamSpecification"]
    if table.ends.attribute is not None:
        features["TimeToLiveDescription"] = table.ends.describe()
    return features | ({"SSEDescription": told["SSEDescription"]} if "SSEDescription" in told else {})


def _units(told: Answer) -> Answer:
    return {name: told["ProvisionedThroughput"][name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")}


def _summary(backup: _Backup) -> Answer:
    details, source = backup.told["BackupDetails"], backup.told["SourceTableDetails"]
    return {name: details[name] for name in _DETAILS} | {
        name: source[name] for name in ("TableName", "TableId", "TableArn")
    }


def _told(table: StoredTable, now_us: int) -> Answer:
    recovery = table.recovery
    told: Answer = {"PointInTimeRecoveryStatus": "ENABLED" if recovery.is_on else "DISABLED"}
    if recovery.is_on:
        told |= {
            "RecoveryPeriodInDays": recovery.days,
            "EarliestRestorableDateTime": recovery.earliest_us(now_us) / SECOND_US,
            "LatestRestorableDateTime": now_us / SECOND_US,  # the service is some minutes behind
        }
    description = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": told}
    return {"ContinuousBackupsDescription": description}
