"""Ten rows, and an app over them: what the tests of apps in virtual time begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamiter.app import App
from streamiter.testing import GivenRecords

ROWS = [{"id": f"row-{n}", "n": n} for n in range(10)]
SOURCE = GivenRecords()


@dataclass
class Row:
    id: str
    n: int


def make_app(**options: Any) -> App:
    return App("tried", store="memory:", **options)


def ids(records: Any) -> list[str]:
    return [record.key["id"] for record in records]
