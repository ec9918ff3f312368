"""Changes: what DynamoDB writes to a Kinesis stream for each change of a row."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec

from streamiter.testing.truth.images import Image, TypedImage, size_of, typed_image
from streamiter.testing.truth.records import EventName

Precision = Literal["MICROSECOND", "MILLISECOND", None]


def change_payload(
    key: Image,
    new: Image | None = None,
    old: Image | None = None,
    *,
    event: EventName = "INSERT",
    created_us: int,
    event_id: str | int,
    table: str = "users",
    precision: Precision = "MICROSECOND",
    user_identity: dict[str, str] | None = None,
) -> bytes:
    """The payload of one change. An `event_id` that is a number becomes an id of the service's form."""
    images = {"Keys": typed_image(key)}
    if new is not None:
        images["NewImage"] = typed_image(new)
    if old is not None:
        images["OldImage"] = typed_image(old)
    return typed_change_payload(
        images,
        event=event,
        created_us=created_us,
        event_id=event_id,
        table=table,
        precision=precision,
        user_identity=user_identity,
    )


def typed_change_payload(
    images: dict[str, TypedImage],
    *,
    event: EventName,
    created_us: int,
    event_id: str | int,
    table: str,
    region: str = "us-east-1",
    precision: Precision,
    user_identity: dict[str, str] | None,
) -> bytes:
    """The same of images that are typed already: Keys, NewImage and OldImage, as far as there are such."""
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": created_us if precision == "MICROSECOND" else created_us // 1000,
        **images,
        "SizeBytes": sum(map(size_of, images.values())),
    }
    if precision is not None:
        change["ApproximateCreationDateTimePrecision"] = precision
    return msgspec.json.encode(
        {
            "awsRegion": region,
            "eventID": str(UUID(int=event_id)) if isinstance(event_id, int) else event_id,
            "eventName": event,
            "userIdentity": user_identity,
            "recordFormat": "application/json",
            "tableName": table,
            "dynamodb": change,
            "eventSource": "aws:dynamodb",
        }
    )
