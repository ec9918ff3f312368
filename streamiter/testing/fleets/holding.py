"""The holding: one stretch of a lease in one worker's hands, and what became of its records."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Holding:
    """One stretch of a lease in one worker's hands, as the true rows tell. Places are counted from 1."""

    owner: str
    fence: int
    begins_behind: int
    low: int  # all up to here is done
    given_up: int = 0  # the first so many are held no more, and need not come
    is_fresh: bool = False  # it was never read from, or an operator said that it is read from the horizon again
    done: set[int] = field(default_factory=set)
    out: set[int] = field(default_factory=set)  # with the function

    def finish(self, place: int) -> None:
        """One is done."""
        self.done.add(place)
        self.out.discard(place)
        while self.low + 1 in self.done:
            self.low += 1
