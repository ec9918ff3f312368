"""Batches: lists of records for bulk work, each with the token after its last record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from streamiter.record import Record

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", bound=Record, default=Record)
else:
    from typing import TypeVar

    R = TypeVar("R")


class Batch(list[R]):
    """Records in order, a list, with the token after the last of them."""

    def __init__(self, records: Iterable[R], token: dict[str, Any]) -> None:
        super().__init__(records)
        self.token = token
