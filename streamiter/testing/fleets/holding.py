"""The holding: one worker's time with a lease, and what it did with the lease's records."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Holding:
    """One stretch of a lease in one worker's hands, as the true rows tell. Places are counted from 1."""

    owner: str
    fence: int
    begins_behind: int
    low: int  # all up to here is done
    given_up: int = 0  # how many of the first records are no longer held, and need not come
    is_fresh: bool = False  # it was never read from, or an operator said that it is read from the horizon again
    done: set[int] = field(default_factory=set)
    out: set[int] = field(default_factory=set)  # with the function
    failed: set[int] = field(default_factory=set)
    went_on_us: int = 0  # when a record was delivered that lies behind all that are done

    def is_hole(self, places: list[int]) -> bool:
        """Whether these lie before another one that is done."""
        return max(places) < max(self.done, default=0)

    def begin(self, places: list[int], now_us: int | None) -> None:
        """These are with the function. `now_us`: they lie behind all that are done."""
        self.out.update(places)
        self.failed.difference_update(places)
        self.went_on_us = self.went_on_us if now_us is None else now_us

    def fail(self, places: set[int]) -> None:
        """The function failed on these."""
        self.out -= places
        self.failed |= places

    def done_behind(self, place: int, since_us: int) -> list[int]:
        """The records behind a checkpoint that are done and come again, though the worker had time to checkpoint them."""
        if self.failed or self.out or self.went_on_us <= since_us:
            return []
        return sorted(done for done in self.done if done > max(place, self.given_up))

    def finish(self, place: int) -> None:
        """One is done."""
        self.done.add(place)
        self.out.discard(place)
        while self.low + 1 in self.done:
            self.low += 1
