"""Changes: what DynamoDB writes to a Kinesis stream for each change of a row."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec

from streamiter.testing.images import Image, size_of, typed_image
from streamiter.testing.records import EventName


def change_payload(
    key: Image,
    new: Image | None = None,
    old: Image | None = None,
    *,
    event: EventName = "INSERT",
    created_us: int,
    event_id: str | int,
    table: str = "users",
    precision: Literal["MICROSECOND", "MILLISECOND", None] = "MICROSECOND",
    user_identity: dict[str, str] | None = None,
) -> bytes:
    """The payload of one change. An `event_id` that is a number becomes an id of the service's form."""
    images = {"Keys": typed_image(key)}
    if new is not None:
        images["NewImage"] = typed_image(new)
    if old is not None:
        images["OldImage"] = typed_image(old)
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": created_us if precision == "MICROSECOND" else created_us // 1000,
        **images,
        "SizeBytes": sum(map(size_of, images.values())),
    }
    if precision is not None:
        change["ApproximateCreationDateTimePrecision"] = precision
    return msgspec.json.encode(
        {
            "awsRegion": "us-east-1",
            "eventID": str(UUID(int=event_id)) if isinstance(event_id, int) else event_id,
            "eventName": event,
            "userIdentity": user_identity,
            "recordFormat": "application/json",
            "tableName": table,
            "dynamodb": change,
            "eventSource": "aws:dynamodb",
        }
    )
