"""Agreement: how many listings, over how long, must say the same of a shard in doubt before they are believed; pure.

Listings that are asked for in one moment lag alike: three of them are no better than one. So those that agree have to lie
apart in time. How far, the shard's id may hint at; no hint changes what is read, nor its order, but how long it is waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.clock import SECOND_US

AGREEING = 3  # listings in a row that must say the same
UNTOLD_US = SECOND_US  # over how long, where nothing tells how old the shard is
YOUNG_US = 10 * SECOND_US  # ... where its parents must still be listed, as far as its id can be trusted
ABSENT_LISTINGS = 10  # listings that must lack a shard in doubt before the service itself is asked for it, ...
ABSENT_US = 30 * SECOND_US  # ... over at least this long
FIRST_PAUSE_US = SECOND_US // 4
LONGEST_PAUSE_US = 5 * SECOND_US


def agreeing_us(hinted_us: int | None, service_us: int, retention_us: int, *, is_first: bool) -> int:
    """Over how long listings must agree that nothing connects a shard, made when its id hints (None: it does not).

    A parent takes records until its children are made, and is listed as long as the service holds these. So an id older
    than retention says that its parents were trimmed: no listing can show them, and there is nothing to wait for. One that is
    younger says that a listing which lacks them lags. `is_first`: nothing was read before. After a resume the shard may also
    be above what was read, connected by one that the listing lacks: of that its age says nothing.
    """
    if hinted_us is None:
        return UNTOLD_US
    if service_us - hinted_us <= retention_us:
        return YOUNG_US
    return 0 if is_first else UNTOLD_US


@dataclass(slots=True)
class Agreement:
    """Listings in a row that say the same of something in doubt. Once they are enough, it is settled."""

    span_us: int
    since_us: int = 0  # when the first of them was complete
    listings: int = 0
    absent: int = 0  # listings in a row that say nothing of it
    is_settled: bool = False

    def agree(self, begun_us: int, done_us: int) -> None:
        """One more says the same: it began and was complete at these moments."""
        if self.listings == 0:
            self.since_us, self.absent = done_us, 0
        self.listings += 1
        self.is_settled |= self.listings >= AGREEING and begun_us - self.since_us >= self.span_us

    def lack(self, begun_us: int, done_us: int) -> None:
        """A listing does not show the shard: what earlier listings said of it counts no more."""
        if self.absent == 0:
            self.since_us, self.listings = done_us, 0
        self.absent += 1
        self.is_settled |= self.absent >= ABSENT_LISTINGS and begun_us - self.since_us >= ABSENT_US

    def due_us(self, done_us: int) -> int:
        """When the next listing is wanted, if the last one was complete at this moment."""
        if self.listings == 0:
            return done_us + min(FIRST_PAUSE_US << min(self.absent, 8), LONGEST_PAUSE_US)
        # Soon at first, because most rows that lag turn up a moment later; and few listings in all.
        return min(
            done_us + (FIRST_PAUSE_US << (2 * min(self.listings - 1, 8))), max(done_us, self.since_us + self.span_us)
        )
