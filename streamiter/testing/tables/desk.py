"""The desk of DynamoDB's tables: its JSON to the table API and back."""

from __future__ import annotations

from streamiter.testing.http import forms, protocol
from streamiter.testing.http.orders import Order
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.http.shapes import unserved
from streamiter.testing.tables.api import TableApi


class TablesDesk:
    """A desk: see orders.Desk."""

    content_type = protocol.CONTENT_TYPE
    is_spared = False

    def __init__(self, tables: TableApi) -> None:
        self._tables = tables

    def read(self, operation: str, body: bytes, signed_region: str | None) -> Order:
        if not self._tables.knows(operation):
            raise unserved("dynamodb", operation)
        asked = forms.read("dynamodb", operation, body)
        name = asked.get("TableName")
        return Order(
            lambda now_us: self._tables.answer(operation, asked, now_us, signed_region),
            details={"table": name and name.rpartition(":table/")[2], "limit": asked.get("Limit")},
        )

    def write_refusal(self, refusal: Refusal) -> bytes:
        return protocol.write_refusal(refusal)
