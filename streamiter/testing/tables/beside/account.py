"""The account: its limits and endpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Body = Mapping[str, Any]

_LIMITS = {
    "AccountMaxReadCapacityUnits": 80000,
    "AccountMaxWriteCapacityUnits": 80000,
    "TableMaxReadCapacityUnits": 40000,
    "TableMaxWriteCapacityUnits": 40000,
}


class Account:
    """Calls by name; `region` is that of the client."""

    def __init__(self, region: Callable[[], str]) -> None:
        self._region = region
        self.calls: dict[str, Callable[[Body, int], dict[str, Any]]] = {
            "DescribeLimits": lambda _body, _now_us: dict(_LIMITS),
            "DescribeEndpoints": self._endpoints,
        }

    def _endpoints(self, body: Body, now_us: int) -> dict[str, Any]:
        return {"Endpoints": [{"Address": f"dynamodb.{self._region()}.amazonaws.com", "CachePeriodInMinutes": 1440}]}
