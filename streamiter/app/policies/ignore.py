"""Ignore: what fails is logged and counted, and passed over."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from streamiter.app.policies.base import Failure, Pass, Policy, Verdict


@dataclass(frozen=True, slots=True)
class Ignore(Policy):
    """Records on which the processor failed count as processed: they are lost to it."""

    def decide(self, failure: Failure, chance: Random) -> Verdict:
        """Passes them over."""
        return Pass()
