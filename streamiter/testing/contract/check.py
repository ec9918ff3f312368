"""Checking: tries every rule of the contract on a fresh rig, and gives the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

from streamiter.testing.contract.rig import Rig
from streamiter.testing.contract.rule import Rule
from streamiter.testing.contract.rules import RULES

R = TypeVar("R")


class ContractBroken(AssertionError):
    """A source, or a store, does not do what its contract says; names the rule."""


@dataclass
class Report:
    """Which rules a source or a store keeps, and which could not be tried, with what its rig lacks for them."""

    kept: list[str] = field(default_factory=list)
    passed_over: dict[str, str] = field(default_factory=dict)


def check_source(make: Callable[[], AbstractContextManager[Rig]]) -> Report:
    """Tries every rule of sources on a rig of its own; raises ContractBroken at the first that is broken."""
    return check_all(RULES, make)


def check_all(rules: Iterable[Rule[R]], make: Callable[[], AbstractContextManager[R]]) -> Report:
    """Tries every rule on a rig of its own; raises ContractBroken at the first that is broken."""
    report = Report()
    for rule in rules:
        promise = " ".join((rule.check.__doc__ or "").split())
        with make() as rig:
            lacking = [name for name in rule.needs if getattr(rig, name) is None]
            if lacking:
                report.passed_over[promise] = f"the rig has no {' and no '.join(lacking)}"
                continue
            try:
                rule.check(rig)
            except Exception as error:
                raise ContractBroken(f"{promise} But: {type(error).__name__}: {error}") from error
        report.kept.append(promise)
    return report
