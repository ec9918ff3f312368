"""A rule: a check of a rig, whose first words are the promise; sources and stores have rules of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

R = TypeVar("R")


class Rule(NamedTuple, Generic[R]):
    """A check, and what a rig needs to have for it."""

    check: Callable[[R], None]
    needs: tuple[str, ...]


def rule(*needs: str) -> Callable[[Callable[[R], None]], Rule[R]]:
    """`@rule("trim")` makes a check a rule for rigs that can trim."""
    return lambda check: Rule(check, needs)
