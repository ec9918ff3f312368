"""The account: its limits and endpoints, and how its tables scale by themselves, which they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.testing.tables.table import StoredTable

Body = Mapping[str, Any]

_LIMITS = {
    "AccountMaxReadCapacityUnits": 80000,
    "AccountMaxWriteCapacityUnits": 80000,
    "TableMaxReadCapacityUnits": 40000,
    "TableMaxWriteCapacityUnits": 40000,
}


class Account:
    """Calls by name; `named` gives the table of a request, or refuses."""

    def __init__(self, named: Callable[[Body], StoredTable], region: Callable[[], str]) -> None:
        self._named = named
        self._region = region
        self.calls: dict[str, Callable[[Body, int], dict[str, Any]]] = {
            "DescribeLimits": lambda _body, _now_us: dict(_LIMITS),
            "DescribeEndpoints": self._endpoints,
            "DescribeTableReplicaAutoScaling": self._scaling,
        }

    def _endpoints(self, body: Body, now_us: int) -> dict[str, Any]:
        return {"Endpoints": [{"Address": f"dynamodb.{self._region()}.amazonaws.com", "CachePeriodInMinutes": 1440}]}

    def _scaling(self, body: Body, now_us: int) -> dict[str, Any]:
        table = self._named(body)
        replicas = [{"RegionName": region, "ReplicaStatus": "ACTIVE"} for region in table.replicas]
        told = {"TableName": table.name, "TableStatus": "ACTIVE", "Replicas": replicas}
        return {"TableAutoScalingDescription": told}
