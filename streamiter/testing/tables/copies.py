"""Copies: what an update takes from another place of its item is a value of its own; moto would put the same one in twice."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def values_copied() -> Iterator[None]:
    """While it lasts, moto copies what `SET before = now` takes from `now`, so that a change of the one leaves the other.

    It is for the time of one call, under the engine's lock, that moto's own processor is another one.
    """
    from moto.dynamodb.parsing.validators import ExpressionAttributeResolvingProcessor as Processor

    taken = Processor.resolve_expression_path

    def copied(self: Any, node: Any) -> Any:
        return copy.deepcopy(taken(self, node))

    Processor.resolve_expression_path = copied  # type: ignore[method-assign]
    try:
        yield
    finally:
        Processor.resolve_expression_path = taken  # type: ignore[method-assign]
