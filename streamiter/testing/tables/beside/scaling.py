"""Scaling: what auto scaling of global tables is set to, in both versions of them; it is kept and told, and nothing scales."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal, wrong_value
from streamiter.testing.tables.table import StoredTable
from streamiter.testing.tables.throughput import NO_THROUGHPUT, keep

Body = Mapping[str, Any]
Answer = dict[str, Any]

_READ, _WRITE = "Read", "Write"
_LIMITS = ("MinimumUnits", "MaximumUnits", "AutoScalingDisabled", "AutoScalingRoleArn")


class Change(NamedTuple):
    """What is set for one kind of unit, of a table or of an index (else ""), in one region or in all."""

    kind: str
    of_index: str = ""
    region: str | None = None
    scaling: Body | None = None
    units: int | None = None


class Scaling:
    """The calls on it, by name; `named` gives the table of a request, `group` that of an older global table."""

    def __init__(self, named: Callable[[Body], StoredTable], group: Callable[[Body], StoredTable]) -> None:
        self._named = named
        self._group = group
        self.calls: dict[str, Callable[[Body, int], Answer]] = {
            "DescribeTableReplicaAutoScaling": lambda body, _: _told(self._named(body)),
            "UpdateTableReplicaAutoScaling": self._update,
            "DescribeGlobalTableSettings": lambda body, _: _settings(self._group(body)),
            "UpdateGlobalTableSettings": self._update_settings,
        }

    def _update(self, body: Body, now_us: int) -> Answer:
        table = self._named(body)
        for change in _apply(table, _regions(table), list(_changes(body)), "ResourceNotFoundException"):
            table.scaling.update(change)
        return _told(table, "UPDATING")

    def _update_settings(self, body: Body, now_us: int) -> Answer:
        table = self._group(body)
        regions = list(table.group or {})
        changes = list(_older_changes(body))
        kept = _apply(table, regions, changes, "ReplicaNotFoundException")
        for change in kept:
            table.scaling.update(change)
        mode = body.get("GlobalTableBillingMode", table.settings.get("BillingMode", "PROVISIONED"))
        units = body.get("GlobalTableProvisionedWriteCapacityUnits")
        now = table.settings.get("ProvisionedThroughput", NO_THROUGHPUT)
        asked = {**NO_THROUGHPUT, **now} | ({} if units is None else {"WriteCapacityUnits": units})
        table.settings["BillingMode"] = mode
        keep(table.settings, {"ProvisionedThroughput": asked}, mode, now_us / SECOND_US)
        return _settings(table, "UPDATING")


# -- what is asked for


def _changes(body: Body) -> Iterator[Change]:
    """UpdateTableReplicaAutoScaling: writes are the same in all regions, reads are each region's own."""
    yield Change(_WRITE, scaling=body.get("ProvisionedWriteCapacityAutoScalingUpdate"))
    for one in body.get("GlobalSecondaryIndexUpdates", ()):
        yield Change(_WRITE, one["IndexName"], scaling=one.get("ProvisionedWriteCapacityAutoScalingUpdate"))
    for replica in body.get("ReplicaUpdates", ()):
        region = replica["RegionName"]
        yield Change(_READ, "", region, replica.get("ReplicaProvisionedReadCapacityAutoScalingUpdate"))
        for one in replica.get("ReplicaGlobalSecondaryIndexUpdates", ()):
            yield Change(_READ, one["IndexName"], region, one.get("ProvisionedReadCapacityAutoScalingUpdate"))


def _older_changes(body: Body) -> Iterator[Change]:
    """UpdateGlobalTableSettings: the same, and units besides."""
    yield Change(
        _WRITE,
        scaling=body.get("GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate"),
        units=body.get("GlobalTableProvisionedWriteCapacityUnits"),
    )
    for one in body.get("GlobalTableGlobalSecondaryIndexSettingsUpdate", ()):
        scaling, units = (
            one.get("ProvisionedWriteCapacityAutoScalingSettingsUpdate"),
            one.get("ProvisionedWriteCapacityUnits"),
        )
        yield Change(_WRITE, one["IndexName"], None, scaling, units)
    for replica in body.get("ReplicaSettingsUpdate", ()):
        region = replica["RegionName"]
        scaling = replica.get("ReplicaProvisionedReadCapacityAutoScalingSettingsUpdate")
        yield Change(_READ, "", region, scaling, replica.get("ReplicaProvisionedReadCapacityUnits"))
        for one in replica.get("ReplicaGlobalSecondaryIndexSettingsUpdate", ()):
            scaling, units = (
                one.get("ProvisionedReadCapacityAutoScalingSettingsUpdate"),
                one.get("ProvisionedReadCapacityUnits"),
            )
            yield Change(_READ, one["IndexName"], region, scaling, units)


def _apply(table: StoredTable, regions: list[str], changes: list[Change], unknown: str) -> list[dict[Any, Answer]]:
    """What is to be kept, by region, index and kind; a refusal of what is not there, before anything is done."""
    kept: list[dict[Any, Answer]] = []
    for change in changes:
        if change.region is not None and change.region not in regions:
            raise Refusal(unknown, f"Replica not found in region: {change.region}")
        if change.of_index and not _has(table, change.of_index):
            name = "IndexNotFoundException" if unknown.startswith("Replica") else unknown
            raise Refusal(name, f"Requested resource not found: Index: {change.of_index} not found")
        for region in regions if change.region is None else [change.region]:
            place = (region, change.of_index, change.kind)
            now = dict(table.scaling.get(place, {}))
            if change.scaling is not None:
                now["Scaling"] = _scaled(now.get("Scaling", {}), change.scaling)
            if change.units is not None:
                now["Units"] = change.units
            kept.append({place: now})
    return kept


def _scaled(now: Body, asked: Body) -> Answer:
    """AutoScalingSettingsDescription, after an AutoScalingSettingsUpdate."""
    new: Answer = {**now, **{name: asked[name] for name in _LIMITS if name in asked}}
    if new.get("MinimumUnits", 0) > new.get("MaximumUnits", new.get("MinimumUnits", 0)):
        raise wrong_value("MinimumUnits of auto scaling are not to be more than its MaximumUnits")
    policy = asked.get("ScalingPolicyUpdate")
    if policy is not None:
        name = policy.get("PolicyName", "$scaling-policy")
        others = [one for one in new.get("ScalingPolicies", ()) if one["PolicyName"] != name]
        new["ScalingPolicies"] = [*others, {**policy, "PolicyName": name}]
    return {"AutoScalingDisabled": False, **new}


# -- what is told


def _regions(table: StoredTable) -> list[str]:
    return [table.truth.region, *table.replicas] if table.replicas else []


def _told(table: StoredTable, status: str = "ACTIVE") -> Answer:
    replicas = [
        {"RegionName": region, "ReplicaStatus": status, **_parts(table, region, "GlobalSecondaryIndexes")}
        for region in _regions(table)
    ]
    return {"TableAutoScalingDescription": {"TableName": table.name, "TableStatus": status, "Replicas": replicas}}


def _settings(table: StoredTable, status: str = "ACTIVE") -> Answer:
    """ReplicaSettings, as the older global tables have them."""
    units = table.settings.get("ProvisionedThroughput", NO_THROUGHPUT)
    replicas = [
        {
            "RegionName": region,
            "ReplicaStatus": status,
            "ReplicaBillingModeSummary": {"BillingMode": table.settings.get("BillingMode", "PROVISIONED")},
            "ReplicaProvisionedReadCapacityUnits": units["ReadCapacityUnits"],
            "ReplicaProvisionedWriteCapacityUnits": units["WriteCapacityUnits"],
            **_parts(table, region, "ReplicaGlobalSecondaryIndexSettings"),
        }
        for region in table.group or {}
    ]
    return {"GlobalTableName": table.name, "ReplicaSettings": replicas}


def _parts(table: StoredTable, region: str, of_indexes: str) -> Answer:
    """What is kept of a replica and of its indexes."""
    indexes = [
        {"IndexName": name, "IndexStatus": "ACTIVE", **_of(table, region, name, "Provisioned")}
        for name in _indexes(table)
    ]
    return _of(table, region, "", "ReplicaProvisioned") | ({of_indexes: indexes} if indexes else {})


def _of(table: StoredTable, region: str, index: str, prefix: str) -> Answer:
    answer: Answer = {}
    for kind in (_READ, _WRITE):
        kept = table.scaling.get((region, index, kind), {})
        if "Units" in kept:
            answer[f"{prefix}{kind}CapacityUnits"] = kept["Units"]
        if "Scaling" in kept:
            answer[f"{prefix}{kind}CapacityAutoScalingSettings"] = kept["Scaling"]
    return answer


def _indexes(table: StoredTable) -> list[str]:
    return [index.name for index in table.schema.indexes.values() if index.is_global]


def _has(table: StoredTable, index: str) -> bool:
    return index in _indexes(table)
