"""Global tables: a replica is the table itself, for tables of all regions are in one place; here is what is told of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal, invalid, wrong_value
from streamiter.testing.tables.table import StoredTable

Body = Mapping[str, Any]
Answer = dict[str, Any]

_MOST_LISTED = 100
_OF_A_REPLICA = (
    "KMSMasterKeyId",
    "ProvisionedThroughputOverride",
    "OnDemandThroughputOverride",
    "GlobalSecondaryIndexes",
)


class GlobalTables:
    """The older calls on global tables, by name; `find` gives the table of a name, or None; `tables` lists all."""

    def __init__(
        self, find: Callable[[str], StoredTable | None], tables: Callable[[], list[StoredTable]], account: str
    ) -> None:
        self._find = find
        self._tables = tables
        self._account = account
        self.calls: dict[str, Callable[[Body, int], Answer]] = {
            "CreateGlobalTable": self._create,
            "DescribeGlobalTable": lambda body, _: {"GlobalTableDescription": self._told(self.group(body))},
            "ListGlobalTables": self._list,
            "UpdateGlobalTable": self._update,
        }

    def _create(self, body: Body, now_us: int) -> Answer:
        name = body["GlobalTableName"]
        table = self._find(name)
        if table is None:
            raise Refusal("TableNotFoundException", f"Table not found: {name}")
        if table.group is not None:
            raise Refusal("GlobalTableAlreadyExistsException", f"Global table with name: '{name}' already exists")
        check_stream(table)
        regions = [replica["RegionName"] for replica in body["ReplicationGroup"]]
        if table.truth.region not in regions:
            raise wrong_value(f"The replication group lacks {table.truth.region}, where the table is")
        table.group = dict.fromkeys(regions, now_us)
        return {"GlobalTableDescription": self._told(table, "CREATING")}

    def _list(self, body: Body, now_us: int) -> Answer:
        start, region = body.get("ExclusiveStartGlobalTableName", ""), body.get("RegionName")
        found = [
            {"GlobalTableName": table.name, "ReplicationGroup": [{"RegionName": one} for one in table.group]}
            for table in self._tables()
            if table.group is not None and table.name > start and (region is None or region in table.group)
        ]
        page = found[: body.get("Limit", _MOST_LISTED)]
        more = {"LastEvaluatedGlobalTableName": page[-1]["GlobalTableName"]} if len(page) < len(found) else {}
        return {"GlobalTables": page} | more

    def _update(self, body: Body, now_us: int) -> Answer:
        table = self.group(body)
        group = dict(table.group or {})
        for update in body["ReplicaUpdates"]:
            for kind, replica in update.items():
                region = replica["RegionName"]
                if kind == "Create" and region in group:
                    raise Refusal("ReplicaAlreadyExistsException", f"Replica already exists in region: {region}")
                if kind == "Delete" and region not in group:
                    raise Refusal("ReplicaNotFoundException", f"Replica not found in region: {region}")
                group[region] = now_us
                if kind == "Delete":
                    del group[region]
        table.group = group
        return {"GlobalTableDescription": self._told(table, "UPDATING")}

    def group(self, body: Body) -> StoredTable:
        """The table of a request, where it is an older global table."""
        table = self._find(body["GlobalTableName"])
        if table is None or table.group is None:
            raise Refusal(
                "GlobalTableNotFoundException", f"Global table with name: '{body['GlobalTableName']}' does not exist"
            )
        return table

    def _told(self, table: StoredTable, status: str = "ACTIVE") -> Answer:
        group = table.group or {}
        return {
            "GlobalTableName": table.name,
            "GlobalTableArn": f"arn:aws:dynamodb::{self._account}:global-table/{table.name}",
            "GlobalTableStatus": status,
            "CreationDateTime": min(group.values(), default=0) / SECOND_US,
            "ReplicationGroup": [{"RegionName": region, "ReplicaStatus": "ACTIVE"} for region in group],
        }


def check_stream(table: StoredTable) -> None:
    """Refuses a table without the stream that replication goes by."""
    if not table.truth.has_stream or table.truth.latest.view != "NEW_AND_OLD_IMAGES":
        raise invalid(
            "Table needs to have DynamoDB Streams enabled with StreamViewType NEW_AND_OLD_IMAGES: "
            f"TableName: {table.name}"
        )


# -- replicas, by UpdateTable


def changed_replicas(table: StoredTable, updates: list[Body]) -> tuple[dict[str, Answer], dict[str, str]]:
    """A table's replicas after these updates, and how the answer tells of those that change; a refusal where it cannot be."""
    replicas, statuses = dict(table.replicas), dict[str, str]()
    for update in updates:
        if len(update) != 1:
            raise wrong_value("Only one of Create, Update or Delete can be specified in ReplicationGroupUpdate")
        [(kind, asked)] = update.items()
        region = asked["RegionName"]
        if region == table.truth.region:
            raise wrong_value(
                "Cannot add, delete, or update the local region through ReplicaUpdates. "
                "Use CreateTable, DeleteTable, or UpdateTable as required."
            )
        if kind == "Create" and region in replicas:
            raise invalid(
                f"Failed to create a the new replica of table with name: '{table.name}' because one or more replicas "
                "already existed as tables."
            )
        if kind != "Create" and region not in replicas:
            raise invalid(
                "Update global table operation failed because one or more replicas were not part of the global table."
            )
        if kind == "Create":
            check_stream(table)
        told = {name: asked[name] for name in _OF_A_REPLICA if name in asked}
        if "TableClassOverride" in asked:
            told["ReplicaTableClassSummary"] = {"TableClass": asked["TableClassOverride"]}
        replicas[region] = {**replicas.get(region, {}), **told}
        if kind == "Delete":
            del replicas[region]
        statuses[region] = {"Create": "CREATING", "Update": "UPDATING", "Delete": "DELETING"}[kind]
    return replicas, statuses
