"""The account: its limits and endpoints, and the older calls on global tables, of which it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.tables.table import StoredTable

Body = Mapping[str, Any]

_LIMITS = {
    "AccountMaxReadCapacityUnits": 80000,
    "AccountMaxWriteCapacityUnits": 80000,
    "TableMaxReadCapacityUnits": 40000,
    "TableMaxWriteCapacityUnits": 40000,
}


class Account:
    """Calls by name; `find` gives the table of a name, or None; `named` that of a request, or refuses."""

    def __init__(
        self,
        find: Callable[[str], StoredTable | None],
        named: Callable[[Body], StoredTable],
        region: Callable[[], str],
    ) -> None:
        self._find = find
        self._named = named
        self._region = region
        self.calls: dict[str, Callable[[Body, int], dict[str, Any]]] = {
            "DescribeLimits": lambda _body, _now_us: dict(_LIMITS),
            "DescribeEndpoints": self._endpoints,
            "CreateGlobalTable": self._create_global,
            "DescribeGlobalTable": _no_global,
            "DescribeGlobalTableSettings": _no_global,
            "ListGlobalTables": lambda _body, _now_us: {"GlobalTables": []},
            "UpdateGlobalTable": _no_global,
            "UpdateGlobalTableSettings": _no_global,
            "DescribeTableReplicaAutoScaling": self._scaling,
        }

    def _endpoints(self, body: Body, now_us: int) -> dict[str, Any]:
        return {"Endpoints": [{"Address": f"dynamodb.{self._region()}.amazonaws.com", "CachePeriodInMinutes": 1440}]}

    def _create_global(self, body: Body, now_us: int) -> dict[str, Any]:
        name = body["GlobalTableName"]
        if self._find(name) is None:
            raise Refusal("TableNotFoundException", f"Table not found: {name}")
        raise invalid(f"The simulator has no global tables: {name} stays in its one region")

    def _scaling(self, body: Body, now_us: int) -> dict[str, Any]:
        table = self._named(body)
        told = {"TableName": table.name, "TableStatus": "ACTIVE", "Replicas": []}
        return {"TableAutoScalingDescription": told}


def _no_global(body: Body, _now_us: int) -> dict[str, Any]:
    raise Refusal("GlobalTableNotFoundException", f"Global table with name: '{body['GlobalTableName']}' does not exist")
