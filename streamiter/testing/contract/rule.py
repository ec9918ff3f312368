"""A rule: a check of a source, whose first words are the promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from streamiter.testing.contract.rig import Rig


class Rule(NamedTuple):
    """A check, and what a rig needs to have for it."""

    check: Callable[[Rig], None]
    needs: tuple[str, ...]


def rule(*needs: str) -> Callable[[Callable[[Rig], None]], Rule]:
    """`@rule("trim")` makes a check a rule for rigs that can trim."""
    return lambda check: Rule(check, needs)
