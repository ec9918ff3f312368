"""Quarantine: the lease of a record that cannot be processed stops; all others go on."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from streamiter.app.policies.base import Failure, Isolate, Policy, Verdict


@dataclass(frozen=True, slots=True)
class Quarantine(Policy):
    """That lease alone stops, and its row says why, until somebody runs `streamiter leases release`."""

    def decide(self, failure: Failure, chance: Random) -> Verdict:
        """Sets the lease apart."""
        return Isolate()
