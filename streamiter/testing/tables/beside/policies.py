"""Policies: those of tables and of their streams, by three calls; nobody is refused for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.tables.table import StoredTable

Body = Mapping[str, Any]

MOST_BYTES = 20 * 1024
_NONE_YET = "NO_POLICY"


class Policies:
    """The calls on policies, by name; `find` gives the table of a name, or None."""

    def __init__(self, find: Callable[[str], StoredTable | None]) -> None:
        self._find = find
        self._revision = 0
        self.calls: dict[str, Callable[[Body, int], dict[str, Any]]] = {
            "PutResourcePolicy": self._put,
            "GetResourcePolicy": self._get,
            "DeleteResourcePolicy": self._delete,
        }

    def put(self, table: StoredTable, arn: str, policy: str, now_us: int) -> str:
        """Keeps a policy, and gives its revision, which stays while the policy stays the same."""
        check_policy(policy)
        known = table.policies.get(arn)
        if known is not None and known[0] == policy:
            return known[1]
        self._revision = max(self._revision + 1, now_us // 1000)
        table.policies[arn] = (policy, str(self._revision))
        return table.policies[arn][1]

    def _put(self, body: Body, now_us: int) -> dict[str, Any]:
        arn = body["ResourceArn"]
        table = self._table(arn)
        check_policy(body["Policy"])
        _check_revision(table, arn, body.get("ExpectedRevisionId"))
        return {"RevisionId": self.put(table, arn, body["Policy"], now_us)}

    def _get(self, body: Body, now_us: int) -> dict[str, Any]:
        arn = body["ResourceArn"]
        known = self._table(arn).policies.get(arn)
        if known is None:
            raise _no_policy(arn)
        return {"Policy": known[0], "RevisionId": known[1]}

    def _delete(self, body: Body, now_us: int) -> dict[str, Any]:
        arn = body["ResourceArn"]
        table = self._table(arn)
        _check_revision(table, arn, body.get("ExpectedRevisionId"))
        known = table.policies.pop(arn, None)
        return {} if known is None else {"RevisionId": known[1]}

    def _table(self, arn: str) -> StoredTable:
        if not arn.startswith("arn:") or ":table/" not in arn:
            raise invalid(f"Invalid ResourceArn: {arn}")
        name, _, stream = arn.rpartition(":table/")[2].partition("/stream/")
        table = self._find(name)
        if table is None or (stream and arn not in (one.arn for one in table.truth.streams)):
            raise Refusal("ResourceNotFoundException", f"Requested resource not found: ResourceArn: {arn} not found")
        return table


def check_policy(policy: str) -> None:
    """Refuses what is no policy document."""
    if len(policy.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Refusal("LimitExceededException", f"Resource-based policy size exceeds the limit of {MOST_BYTES} bytes")
    try:
        document = msgspec.json.decode(policy)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        document = None
    if not isinstance(document, dict) or not document.get("Statement"):
        raise invalid("Invalid policy document: it is to be JSON with a Statement")


def _check_revision(table: StoredTable, arn: str, expected: str | None) -> None:
    known = table.policies.get(arn)
    if expected is not None and expected != (_NONE_YET if known is None else known[1]):
        raise _no_policy(arn)


def _no_policy(arn: str) -> Refusal:
    return Refusal("PolicyNotFoundException", f"Resource-based policy not found for the provided ResourceArn: {arn}")
