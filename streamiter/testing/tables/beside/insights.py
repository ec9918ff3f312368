"""Insights: CloudWatch Contributor Insights, as they are switched for tables and global indexes; nothing is counted by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.testing.http.refusal import not_found
from streamiter.testing.tables.table import StoredTable, Switched

Body = Mapping[str, Any]

_MOST_LISTED = 100
_MODE = "ACCESSED_AND_THROTTLED_KEYS"


class Insights:
    """The calls on them, by name; `named` gives the table of a request, or refuses; `tables` lists all."""

    def __init__(self, named: Callable[[Body], StoredTable], tables: Callable[[], list[StoredTable]]) -> None:
        self._named = named
        self._tables = tables
        self.calls: dict[str, Callable[[Body, int], dict[str, Any]]] = {
            "DescribeContributorInsights": self._describe,
            "UpdateContributorInsights": self._update,
            "ListContributorInsights": self._list,
        }

    def _describe(self, body: Body, now_us: int) -> dict[str, Any]:
        table, index = self._place(body)
        told = _named(table, index)
        switched = table.insights.get(index)
        if switched is None:
            return told | {"ContributorInsightsStatus": "DISABLED"}
        told |= {
            "ContributorInsightsStatus": "ENABLED" if switched.is_on else "DISABLED",
            "ContributorInsightsMode": switched.mode,
            "LastUpdateDateTime": switched.since_us / SECOND_US,
        }
        if switched.is_on:
            at = f"{table.name}{f'-{index}' if index else ''}-{switched.since_us // 1000}"
            kinds = ["PKC", "PKT"] + ["SKC", "SKT"] * (len(_keys(table, index)) > 1)
            if switched.mode != _MODE:
                kinds = [kind for kind in kinds if kind.endswith("T")]
            told["ContributorInsightsRuleList"] = [f"DynamoDBContributorInsights-{kind}-{at}" for kind in kinds]
        return told

    def _update(self, body: Body, now_us: int) -> dict[str, Any]:
        table, index = self._place(body)
        is_on = body["ContributorInsightsAction"] == "ENABLE"
        before = table.insights.get(index)
        mode = body.get("ContributorInsightsMode", _MODE if before is None else before.mode)
        table.insights[index] = Switched(is_on, mode, now_us)
        status = "ENABLING" if is_on else "DISABLING"
        return _named(table, index) | {"ContributorInsightsStatus": status, "ContributorInsightsMode": mode}

    def _list(self, body: Body, now_us: int) -> dict[str, Any]:
        tables = [self._named(body)] if "TableName" in body else self._tables()
        found = [
            _named(table, index)
            | {
                "ContributorInsightsStatus": "ENABLED" if switched.is_on else "DISABLED",
                "ContributorInsightsMode": switched.mode,
            }
            for table in tables
            for index, switched in table.insights.items()
        ]
        start = int(body["NextToken"]) if body.get("NextToken", "").isdecimal() else 0
        end = start + (body.get("MaxResults") or _MOST_LISTED)
        more = {"NextToken": str(end)} if end < len(found) else {}
        return {"ContributorInsightsSummaries": found[start:end]} | more

    def _place(self, body: Body) -> tuple[StoredTable, str]:
        table, index = self._named(body), body.get("IndexName", "")
        if index and not (index in table.schema.indexes and table.schema.indexes[index].is_global):
            raise not_found(f"Index: {index} not found")
        return table, index


def _keys(table: StoredTable, index: str) -> tuple[str, ...]:
    return table.schema.indexes[index].keys if index else table.schema.keys


def _named(table: StoredTable, index: str) -> dict[str, Any]:
    return {"TableName": table.name} | ({"IndexName": index} if index else {})
