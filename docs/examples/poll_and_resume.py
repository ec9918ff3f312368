"""Count the orders of each customer, a minute's changes at a time, exactly once: a function for Lambda, or for cron.

    python poll_and_resume.py orders totals

Each batch becomes one transaction in DynamoDB: it adds to the customers' totals and saves the token. Each order counts
once, even if the function dies at any point, or if two of them run at once.

The table `totals` has the key `name` (a string). Its row "#token" is where the next run continues.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import boto3
from botocore.exceptions import ClientError

from streamiter import Stream

BATCH = 90  # a transaction takes up to 100 rows: these, and the token
SPARE_MILLISECONDS = 10_000


def handler(_event: object, context: Any) -> dict[str, int]:
    """What Lambda calls: read the changes since the last run, as far as the time allows."""
    orders, totals = os.environ["ORDERS"], os.environ["TOTALS"]
    tables = boto3.client("dynamodb")
    done = 0
    token = load_token(tables, totals)
    with Stream(f"dynamodb://{orders}", token or "trim_horizon") as stream:
        for batch in stream.batches(BATCH, until="caught_up"):
            clock = token["clock"] if token else 0
            if not save(tables, totals, count(batch), batch.token, clock):
                break  # another run was faster: it has counted these, and the next run continues after it
            token = batch.token
            done += len(batch)
            if context.get_remaining_time_in_millis() < SPARE_MILLISECONDS:
                break
    return {"changes": done}


def count(batch: Iterable[Any]) -> Counter[str]:
    """How many orders each customer gained or lost."""
    found: Counter[str] = Counter()
    for record in batch:
        if record.event_name == "INSERT":
            found[record.new["customer"]] += 1
        elif record.event_name == "REMOVE":
            found[record.old["customer"]] -= 1
    return found


def load_token(tables: Any, totals: str) -> dict[str, Any] | None:
    found = tables.get_item(TableName=totals, Key={"name": {"S": "#token"}}, ConsistentRead=True)
    return json.loads(found["Item"]["token"]["S"]) if "Item" in found else None


def save(tables: Any, totals: str, found: Counter[str], token: dict[str, Any], clock: int) -> bool:
    """Write the totals and the token in one transaction, unless another run has moved the token."""
    writes: list[dict[str, Any]] = [
        {
            "Update": {
                "TableName": totals,
                "Key": {"name": {"S": customer}},
                "UpdateExpression": "ADD orders :gained",
                "ExpressionAttributeValues": {":gained": {"N": str(gained)}},
            }
        }
        for customer, gained in found.items()
    ]
    row = {"name": {"S": "#token"}, "token": {"S": json.dumps(token)}, "clock": {"N": str(token["clock"])}}
    writes.append(
        {
            "Put": {
                "TableName": totals,
                "Item": row,
                "ConditionExpression": "attribute_not_exists(clock) OR clock = :clock",
                "ExpressionAttributeValues": {":clock": {"N": str(clock)}},
            }
        }
    )
    try:
        tables.transact_write_items(TransactItems=writes)
    except ClientError as error:
        reasons = {reason["Code"] for reason in error.response.get("CancellationReasons", [])} - {"None"}
        if reasons and reasons <= {"ConditionalCheckFailed", "TransactionConflict"}:
            return False
        raise
    return True


class Minute:
    """The time that a run has when cron starts it."""

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


if __name__ == "__main__":
    os.environ["ORDERS"], os.environ["TOTALS"] = sys.argv[1:]
    print(handler({}, Minute()))
