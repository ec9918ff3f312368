"""Results: checks that the item which a request leaves is one that the service could hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamiter.testing.http.refusal import invalid
from streamiter.testing.truth.attributes import check_number
from streamiter.testing.truth.images import TypedImage, size_of

MOST_BYTES = 400 * 1024
NUMBER_DIGITS = 38


def check_result(image: TypedImage, operation: str) -> None:
    """Refuses an item that grew too large, and numbers that did."""
    if size_of(image) > MOST_BYTES:
        which = "Item size to update" if operation == "UpdateItem" else "Item size"
        raise invalid(f"{which} has exceeded the maximum allowed size")
    for number in _numbers(list(image.values())):
        check_number(number)


def _numbers(values: list[dict[str, Any]]) -> Iterator[str]:
    for value in values:
        [(kind, inner)] = value.items()
        if kind == "N":
            yield inner
        elif kind == "NS":
            yield from inner
        elif kind in ("L", "M"):
            yield from _numbers(list(inner.values()) if kind == "M" else inner)
