"""Halt: the app stops; the default, for nothing is passed over that nobody has looked at."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from streamiter.app.policies.base import Failure, Policy, StopApp, Verdict


@dataclass(frozen=True, slots=True)
class Halt(Policy):
    """The app ends with an error that names lease and place; on its next start the records come again."""

    def decide(self, failure: Failure, chance: Random) -> Verdict:
        """Stops."""
        return StopApp()
