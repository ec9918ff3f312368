"""Hostile answers: what a service says, changed on its way to the reader."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

Change = Callable[[bytes], bytes]


def tamper(client: Any, change: Change, *, service: str = "dynamodb-streams", seals: bool = False) -> Any:
    """A boto3 client that finds GetRecords' answers so changed. `seals`: the checksum is made anew; else there is none."""

    def on_its_way(response_dict: dict[str, Any], **_: Any) -> None:
        if response_dict["status_code"] >= 300:
            return
        body = response_dict["body"] = change(response_dict["body"])
        headers = {name: value for name, value in response_dict["headers"].items() if name.lower() != "x-amz-crc32"}
        if seals:
            headers["x-amz-crc32"] = str(zlib.crc32(body))
        response_dict["headers"] = headers

    client.meta.events.register_first(f"before-parse.{service}.GetRecords", on_its_way)
    return client


def replacing(old: bytes, new: bytes) -> Change:
    """Replaces a text wherever it stands."""
    return lambda body: body.replace(old, new)
