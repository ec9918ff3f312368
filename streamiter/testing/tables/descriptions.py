"""Descriptions: the engine's description of a table, completed by the fields of its stream."""

from __future__ import annotations

from typing import Any

from streamiter.clock import SECOND_US
from streamiter.testing.truth.simulated_table import SimulatedTable

Body = dict[str, Any]


def described(description: Body, table: SimulatedTable, status: str = "ACTIVE") -> Body:
    """The engine's description of a table, with its streams, its ARN and its age.

    `status` is what the answer to a change says: the change begins, though here it is done at once.
    """
    empty = {name for name in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes") if not description.get(name, ())}
    told = {name: value for name, value in description.items() if name not in empty}
    told["CreationDateTime"] = table.created_us / SECOND_US
    told["TableArn"] = table.arn
    told["TableId"] = table.id
    told["TableStatus"] = status
    if table.streams:
        told |= {"LatestStreamArn": table.latest.arn, "LatestStreamLabel": table.latest.label}
    if table.has_stream:
        told["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.latest.view}
    return told


def bare_description(table: SimulatedTable) -> Body:
    """That of a table made by hand, which the engine does not know."""
    return {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in table.key_names],
        "ItemCount": 0,
        "KeySchema": table.key_schema,
        "TableArn": table.arn,
        "TableName": table.name,
        "TableSizeBytes": 0,
    }
