"""The account: its limits and endpoints, and point-in-time recovery as it is set, of which nothing can be restored here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.tables.table import Backups, StoredTable

Body = Mapping[str, Any]

_DAY_US = 86400 * SECOND_US
_LIMITS = {
    "AccountMaxReadCapacityUnits": 80000,
    "AccountMaxWriteCapacityUnits": 80000,
    "TableMaxReadCapacityUnits": 40000,
    "TableMaxWriteCapacityUnits": 40000,
}


class Account:
    """Calls by name; `find` gives the table of a name, or None."""

    def __init__(self, find: Callable[[str], StoredTable | None], region: Callable[[], str]) -> None:
        self._find = find
        self._region = region
        self.calls: dict[str, Callable[[Body, int], dict[str, Any]]] = {
            "DescribeLimits": lambda _body, _now_us: dict(_LIMITS),
            "DescribeEndpoints": self._endpoints,
            "DescribeContinuousBackups": lambda body, now_us: _told(self._table(body), now_us),
            "UpdateContinuousBackups": self._update_backups,
        }

    def _endpoints(self, body: Body, now_us: int) -> dict[str, Any]:
        return {"Endpoints": [{"Address": f"dynamodb.{self._region()}.amazonaws.com", "CachePeriodInMinutes": 1440}]}

    def _update_backups(self, body: Body, now_us: int) -> dict[str, Any]:
        table = self._table(body)
        asked = body["PointInTimeRecoverySpecification"]
        before, is_on = table.backups, asked["PointInTimeRecoveryEnabled"]
        since_us = before.since_us if before.is_on and is_on else now_us
        table.backups = Backups(is_on, asked.get("RecoveryPeriodInDays", before.days), since_us)
        return _told(table, now_us)

    def _table(self, body: Body) -> StoredTable:
        table = self._find(body["TableName"])
        if table is None:
            raise Refusal("TableNotFoundException", f"Table not found: {body['TableName']}")
        return table


def _told(table: StoredTable, now_us: int) -> dict[str, Any]:
    backups = table.backups
    recovery: dict[str, Any] = {"PointInTimeRecoveryStatus": "ENABLED" if backups.is_on else "DISABLED"}
    if backups.is_on:
        earliest_us = max(backups.since_us, now_us - backups.days * _DAY_US)
        recovery |= {
            "RecoveryPeriodInDays": backups.days,
            "EarliestRestorableDateTime": earliest_us / SECOND_US,
            "LatestRestorableDateTime": max(earliest_us, now_us - 300 * SECOND_US) / SECOND_US,
        }
    told = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery}
    return {"ContinuousBackupsDescription": told}
