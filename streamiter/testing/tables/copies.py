"""Copies: a value that an update takes from another place of its item is copied; moto would store the same object twice."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


@contextmanager
def values_copied() -> Iterator[None]:
    """In this block moto copies the value that `SET before = now` takes, so that a later change of one leaves the other.

    It is for the time of one call, under the engine's lock, that moto's own processor is another one.
    """
    from moto.dynamodb.parsing.validators import ExpressionAttributeResolvingProcessor as Processor

    taken = Processor.resolve_expression_path

    def copied(self: Any, node: Any) -> Any:
        return copy.deepcopy(taken(self, node))

    with patch.object(Processor, "resolve_expression_path", copied):
        yield
