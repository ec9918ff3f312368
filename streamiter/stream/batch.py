"""Batches: lists of records for bulk work, each with the token that goes on behind it."""

from __future__ import annotations

from typing import Any


class Batch(list[Any]):
    """Records in order, with the token after the last of them."""

    def __init__(self, records: list[Any], token: dict[str, Any]) -> None:
        super().__init__(records)
        self.token = token
