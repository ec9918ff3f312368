"""Retry: records are handed over again in place, after pauses; their lease waits, or, by key, their key does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from streamiter.app.policies.base import Again, Failure, Policy, Verdict
from streamiter.app.policies.halt import Halt
from streamiter.errors import InvalidOption

LONGEST = 86_400.0  # a day: a lease that waits for longer is in quarantine, or its app is down
JITTER = 0.1  # pauses are up to so much longer: what failed together does not come back together


class Retry(Policy):
    """Tries again after each of these pauses, in seconds; when all failed, `then` decides."""

    def __init__(self, after: Sequence[float] = (1, 10, 60), then: Policy | None = None) -> None:
        pauses = tuple(after) if isinstance(after, Sequence) and not isinstance(after, str) else (after,)
        if not pauses or not all(isinstance(pause, int | float) and 0 <= pause <= LONGEST for pause in pauses):
            raise InvalidOption(
                f"Retry(after=) takes the pauses in seconds, each up to a day, such as [1, 10, 60], not {after!r}"
            )
        if then is not None and not isinstance(then, Policy):
            raise InvalidOption(f"Retry(then=) takes a policy, such as Halt() or Quarantine(), not {then!r}")
        self.after: tuple[float, ...] = pauses
        self.then: Policy = Halt() if then is None else then

    def __repr__(self) -> str:
        return f"Retry(after={list(self.after)}, then={self.then})"

    def decide(self, failure: Failure, chance: Random) -> Verdict:
        """Again, as long as there are pauses left."""
        if failure.tries > len(self.after):
            return self.then.decide(replace(failure, tries=failure.tries - len(self.after)), chance)
        pause = self.after[failure.tries - 1]
        return Again(pause + pause * JITTER * chance.random())
