"""The KCL store: leases as rows of the Kinesis Client Library's own table, so that fleets can replace each other.

A row of the KCL's (2.x and 3.x) is read as a lease of ours and the reverse. Ours beside theirs: `streamiterFence` and
`streamiterProgress`. Attributes that nobody here knows stay as they are, and so do rows that are no leases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from streamiter.errors import Conflict, InvalidStore
from streamiter.store.base import LEASES, Row, Store, Table, next_version
from streamiter.store.dynamodb import DynamoDBStore, DynamoDBTable, Item

_SHARD_END = "SHARD_END"
_AT_TIME = "AT_TIMESTAMP"
_LATEST = "LATEST"
_CHILDREN, _HASH_KEYS = "children", "hash_keys"  # in a lease's progress, as lease/lease.py has them
_PLACE = re.compile(r"(\d+)/(\d+)")  # a number, and how many records of it were read: user records of an aggregate
_STREAM = re.compile(r"\d+:[^:]+:\d+")  # how a lease of a multi-stream application names its stream


class KCLStore(DynamoDBTable):
    """Leases in the table of a KCL application; all other rows in a table beside it, TABLE-streamiter.

    A KCL table holds the leases of one application: one processor of ours. `stream` of a lease's Table is any name, or
    ACCOUNT:STREAM:EPOCH for the leases of one stream of a multi-stream application.
    """

    def __init__(self, table_name: str, *, starts_at_latest: bool = False, **options: Any) -> None:
        """`starts_at_latest`: a row of a shard that was not read yet says LATEST, as the KCL's own do, instead of the time."""
        super().__init__(table_name, **options)
        self._start = _LATEST if starts_at_latest else _AT_TIME
        self._beside = DynamoDBStore(f"{table_name}-streamiter", **options)
        self._scope: Table | None = None
        self._seen: dict[str, Row] = {}  # as each row was last: what a write changes follows from it

    def scan(self, table: Table) -> list[Row]:
        """All leases: a consistent scan of the KCL's table."""
        if (other := self._other(table)) is not None:
            return other.scan(table)
        prefix = _prefix(table)
        items = [item for item in self._pages() if _is_lease(item) and _is_of(item["leaseKey"]["S"], prefix)]
        return [self._row(item, prefix) for item in items]

    def read(self, table: Table, key: str) -> Row | None:
        """One lease."""
        if (other := self._other(table)) is not None:
            return other.read(table, key)
        item = self._get({"leaseKey": {"S": _prefix(table) + key}})
        return self._row(item, _prefix(table)) if item is not None and _is_lease(item) else None

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        """An UpdateItem with the KCL's own condition: leaseCounter is as it was."""
        if (other := self._other(table)) is not None:
            return other.write(table, row, expected)
        written = row._replace(version=next_version(expected))
        before = self._seen.get(_prefix(table) + row.key)
        known = before if before is not None and before.version == expected else None
        key = {"leaseKey": {"S": _prefix(table) + row.key}}
        standing = self._conditional("UpdateItem", Key=key, **_update(written, known, expected, self._start))
        if standing is not None:
            raise Conflict(row.key, expected, self._standing(table, row.key, standing))
        self._seen[_prefix(table) + row.key] = written
        return written

    def delete(self, table: Table, key: str, expected: int) -> None:
        """A DeleteItem with the same condition."""
        if (other := self._other(table)) is not None:
            other.delete(table, key, expected)
            return
        standing = self._conditional(
            "DeleteItem",
            Key={"leaseKey": {"S": _prefix(table) + key}},
            ConditionExpression="leaseCounter = :expected",
            ExpressionAttributeValues={":expected": {"N": str(expected)}},
        )
        if standing is not None:
            raise Conflict(key, expected, self._standing(table, key, standing))

    def tables(self, kind: str) -> list[Table]:
        """The application's leases, by the table's own name; of several streams, each one's."""
        if kind != LEASES:
            return self._beside.tables(kind)
        keys = [item["leaseKey"]["S"] for item in self._pages() if _is_lease(item)]
        return sorted({Table(kind, self._name, key.rpartition(":")[0]) for key in keys})

    def close(self) -> None:
        """Closes both tables' connections."""
        super().close()
        self._beside.close()

    def _other(self, table: Table) -> Store | None:
        """Where rows are kept that are no leases of this application."""
        if table.kind != LEASES:
            return self._beside
        scope = table._replace(stream="")
        self._scope = self._scope or scope
        if scope != self._scope:
            raise InvalidStore(
                f"{self!r} holds the leases of {self._scope.app}: a KCL table belongs to one application; "
                f"name another table for {table.app}"
            )
        return None

    def _standing(self, table: Table, key: str, item: Item) -> Row | None:
        return self._row(item, _prefix(table)) if item else self.read(table, key)

    def _row(self, item: Item, prefix: str) -> Row:
        row = _to_row(item, prefix)
        self._seen[prefix + row.key] = row
        return row

    def _schema(self) -> dict[str, Any]:
        return {
            "KeySchema": [{"AttributeName": "leaseKey", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "leaseKey", "AttributeType": "S"}],
        }


def _prefix(table: Table) -> str:
    return f"{table.stream}:" if _STREAM.fullmatch(table.stream) else ""


def _is_of(lease_key: str, prefix: str) -> bool:
    return lease_key.startswith(prefix) if prefix else ":" not in lease_key


def _is_lease(item: Mapping[str, Any]) -> bool:
    kind = item.get("entityType", {}).get("S", "LEASE")
    return kind == "LEASE" and "leaseCounter" in item and "checkpoint" in item


def _to_row(item: Mapping[str, Any], prefix: str) -> Row:
    checkpoint = item["checkpoint"]["S"]
    inside = int(item.get("checkpointSubSequenceNumber", {"N": "0"})["N"])
    progress: dict[str, Any] = json.loads(item.get("streamiterProgress", {"S": "{}"})["S"])
    children = sorted(item.get("childShardIds", {}).get("SS", ()))
    if children:
        progress[_CHILDREN] = children
    if "startingHashKey" in item and "endingHashKey" in item:
        progress[_HASH_KEYS] = [item["startingHashKey"]["S"], item["endingHashKey"]["S"]]
    fields = {
        "owner": item.get("leaseOwner", {}).get("S"),
        "checkpoint": f"{checkpoint}/{inside}" if inside and checkpoint.isdigit() else checkpoint,
        "completed": checkpoint == _SHARD_END,
        "fence": int(item.get("streamiterFence", {"N": "0"})["N"]),
        "parents": sorted(item.get("parentShardId", {}).get("SS", ())),
        "progress": progress,
    }
    start = str(progress.get("start", ""))
    if checkpoint in (_AT_TIME, _LATEST) and start.startswith(f"{_AT_TIME}/"):
        fields["checkpoint"] = start  # the KCL has no place for the time itself
    return Row(item["leaseKey"]["S"].removeprefix(prefix), fields, int(item["leaseCounter"]["N"]))


def _update(row: Row, before: Row | None, expected: int | None, start: str) -> dict[str, Any]:
    """The change as UpdateItem takes it; what it does not name stays. `start` is what a lease says that starts at a time."""
    fields = row.fields
    place = _PLACE.fullmatch(fields["checkpoint"])
    name = fields["checkpoint"].partition("/")[0]
    progress = dict(fields["progress"])
    children, hash_keys = progress.pop(_CHILDREN, ()), progress.pop(_HASH_KEYS, None)
    told: dict[str, Any] = {
        "leaseCounter": {"N": str(row.version)},
        "checkpoint": {"S": place[1] if place else start if name == _AT_TIME else name},
        "checkpointSubSequenceNumber": {"N": place[2] if place else "0"},
        "streamiterFence": {"N": str(fields["fence"])},
        "streamiterProgress": {"S": json.dumps(progress)},
        "leaseOwner": {"S": fields["owner"]} if fields["owner"] is not None else None,
        "parentShardId": {"SS": list(fields["parents"])} if fields["parents"] else None,
        "childShardIds": {"SS": list(children)} if children else None,
        "checkpointOwner": None,  # a hand-over between two workers of the KCL, which is none any more
    }
    if hash_keys:
        told["startingHashKey"], told["endingHashKey"] = ({"S": str(key)} for key in hash_keys)
    moved = before is None or before.fields["checkpoint"] != fields["checkpoint"]
    if expected is None or (before is not None and moved):
        told["ownerSwitchesSinceCheckpoint"] = {"N": "0"}
        told |= dict.fromkeys(("pendingCheckpoint", "pendingCheckpointSubSequenceNumber", "pendingCheckpointState"))
    set_ = [f"{name} = :{name}" for name, value in told.items() if value is not None]
    if not moved and before is not None and fields["owner"] not in (None, before.fields["owner"]):
        set_.append("ownerSwitchesSinceCheckpoint = if_not_exists(ownerSwitchesSinceCheckpoint, :zero) + :one")
        told |= {"zero": {"N": "0"}, "one": {"N": "1"}}
    gone = [name for name, value in told.items() if value is None]
    condition = "attribute_not_exists(leaseKey)"
    if expected is not None:
        condition = "leaseCounter = :expected"
        told["expected"] = {"N": str(expected)}
    return {
        "UpdateExpression": f"SET {', '.join(set_)}" + (f" REMOVE {', '.join(gone)}" if gone else ""),
        "ConditionExpression": condition,
        "ExpressionAttributeValues": {f":{name}": value for name, value in told.items() if value is not None},
    }
