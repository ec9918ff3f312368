"""Discovery: when the shards are to be listed again, and when what the listings say may be relied on.

A listing lags: it lacks children of a shard that has ended, one of two siblings, or any row at all. So a shard that ended
waits for a listing *begun after its end*; a shard that nothing connects to what is known is confirmed by several listings,
apart in time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from streamiter.clock import SECOND_US
from streamiter.lineage.agreement import AGREEING, UNTOLD_US, Agreement

CHILDLESS_LISTINGS = 10  # listings without a child before a shard that ended stops holding its place, ...
CHILDLESS_US = 30 * SECOND_US  # ... over at least this long (law 7)
EVERY_US = 60 * SECOND_US  # listings go on, at least so often (law 7)
NEWS_PAUSE_US = SECOND_US  # how soon to look again after news; four times as long with each listing that brings none
EMPTY_EVERY_US = SECOND_US  # a stream without shards is being enabled, or its listing lags
GATHER_US = SECOND_US  # while other shards are being caught up, ends are gathered so long: one listing serves them all
HELD_GATHER_US = SECOND_US // 10  # ... but no longer than this where records already wait for the listing
FIRST_PAUSE_US = SECOND_US // 4
LONGEST_PAUSE_US = 5 * SECOND_US
FORGET_LISTINGS = 10  # listings that must lack a row before it counts as gone, ...
FORGET_US = 600 * SECOND_US  # ... over at least this long


@dataclass(slots=True)
class _Wait:
    """A shard that ended, waiting for its children to be listed."""

    ticket: int  # the newest listing that had begun when it ended: only later ones count
    since_us: int
    gone: bool  # removed by the service: its children, if any, were listed long ago
    listings: int = 0

    def is_over(self, now_us: int) -> bool:
        if self.gone:
            return self.listings >= AGREEING and now_us - self.since_us >= UNTOLD_US
        return self.listings >= CHILDLESS_LISTINGS and now_us - self.since_us >= CHILDLESS_US


@dataclass(slots=True)
class _Absence:
    since_us: int
    listings: int = 0


class Discovery:
    """Counts listings; pure: it is told when one begins and what it showed, and says when the next is due."""

    def __init__(self, known: Iterable[str] = (), *, every_us: int = EVERY_US) -> None:
        self._every_us = every_us
        self.is_whole = False  # whether what was listed since the (re)start may be relied on
        self.listings = 0  # complete ones
        self._expected = frozenset(known)  # shards that a token names: a listing without them is doubtful
        self.begun = 0  # the ticket of the newest listing that began
        self._heard = 0  # the ticket of the newest listing that was complete
        self._is_listing = False
        self._is_requested = False  # whether the caller asked for one
        self._begun_us = 0
        self._done_us: int | None = None
        self._empties: Agreement | None = None  # while listings are empty
        self._quiet = 0  # listings in a row that told nothing new
        self._waits: dict[str, _Wait] = {}
        self._doubts: dict[
            str, Agreement
        ] = {}  # shards that nothing connects, and shards of the token that are not listed
        self._absences: dict[str, _Absence] = {}

    # -- events in

    def begin(self, now_us: int) -> int:
        """A listing begins: gives its ticket, to be handed in with what it shows."""
        self.begun += 1
        self._begun_us = now_us
        self._is_listing = True
        self._is_requested = False
        return self.begun

    def request(self) -> None:
        """The caller asks what the service holds at this moment: the next listing is due at once."""
        self._is_requested = True

    def fail(self) -> None:
        """The listing that began was not completed: it is due again at once, for the same reasons."""
        self._is_listing = False
        self._is_requested = True

    def ended(self, shard_id: str, now_us: int, *, gone: bool = False) -> None:
        """A shard was read to its end: from now on its children are looked for."""
        self._waits.pop(shard_id, None)  # the shards wait in the order in which they ended
        self._waits[shard_id] = _Wait(self.begun, now_us, gone)

    def found(self, shard_id: str) -> bool:
        """The shard's last page named its children, so it needs no listing. Returns whether it waited for one."""
        return self._waits.pop(shard_id, None) is not None

    def heard(
        self,
        ticket: int,
        listed: Collection[str],
        news: bool,
        doubtful: Collection[str],
        now_us: int,
        *,
        agreeing_us: Callable[[str], int],
    ) -> None:
        """A complete listing: the ids it showed, whether it told anything new, and which shards nothing connects.

        `agreeing_us` says over how long listings must agree on such a shard, and on one of the token's that is not listed.
        """
        self._is_listing = False
        self._done_us = now_us
        self._heard = ticket
        self._quiet = 0 if news else self._quiet + 1
        if not self._is_believed(listed, now_us):
            return  # An empty list is one of the ways in which listings lag.
        self.listings += 1
        lacking = self._expected.difference(listed)
        doubts = {shard_id: self._doubt(shard_id, agreeing_us(shard_id)) for shard_id in (*doubtful, *lacking)}
        for shard_id, doubt in doubts.items():
            # A shard that only its parent's last page named is no orphan because this listing lacks it.
            say = doubt.agree if shard_id in listed or shard_id in lacking else doubt.lack
            say(self._begun_us, now_us)
        self._doubts = doubts
        self.is_whole = self.is_whole or all(doubt.is_settled for doubt in doubts.values())
        for wait in self._waits.values():
            wait.listings += ticket > wait.ticket

    def _is_believed(self, listed: Collection[str], now_us: int) -> bool:
        """Whether this listing shows shards, or enough empty listings came in a row."""
        if listed:
            self._empties = None
            return True
        self._empties = self._empties or Agreement(UNTOLD_US)
        self._empties.agree(self._begun_us, now_us)
        return self._empties.is_settled

    def _doubt(self, shard_id: str, span_us: int) -> Agreement:
        doubt = self._doubts.get(shard_id) or Agreement(span_us)
        doubt.span_us = span_us  # a shard grows older
        return doubt

    def settle(self, ticket: int, has_child: Callable[[str], bool], now_us: int) -> tuple[list[str], list[str]]:
        """The shards that stop waiting after this listing: those with children, and those found childless."""
        fruitful = [shard for shard, wait in self._waits.items() if ticket > wait.ticket and has_child(shard)]
        for shard_id in fruitful:
            del self._waits[shard_id]
        childless = [shard for shard, wait in self._waits.items() if wait.is_over(now_us)]
        for shard_id in childless:
            del self._waits[shard_id]
        return fruitful, childless

    def forgotten(self, known: Iterable[str], listed: Collection[str], now_us: int) -> list[str]:
        """The known shards that listings have lacked for so long that the service must have removed them."""
        absences = {shard: self._absences.get(shard) or _Absence(now_us) for shard in known if shard not in listed}
        for absence in absences.values():
            absence.listings += 1
        self._absences = absences
        return [
            shard
            for shard, absence in absences.items()
            if absence.listings >= FORGET_LISTINGS and now_us - absence.since_us >= FORGET_US
        ]

    # -- questions

    def is_confirmed(self, shard_id: str) -> bool:
        """Whether enough listings in a row, over long enough, showed this shard without anything that connects it."""
        return shard_id in self._doubts and self._doubts[shard_id].is_settled

    def is_waiting(self, shard_id: str) -> bool:
        """Whether this shard ended and its children are still looked for."""
        return shard_id in self._waits

    def has_heard_since(self, ticket: int) -> bool:
        """Whether a listing that began after this one was completed."""
        return self._heard > ticket

    @property
    def is_searching(self) -> bool:
        """Whether the children of any shard are looked for."""
        return bool(self._waits)

    def due_us(self, gather_us: Callable[[], int] = lambda: 0) -> int | None:
        """When to list next; None while a listing is under way. `gather_us` says how long to let more shards end before.

        It is asked only where a shard ended that no listing was begun for: it may have a thousand lanes to look at.
        """
        if self._is_listing:
            return None
        done_us = self._done_us
        if done_us is None:
            return -(1 << 62)
        if self._empties is not None and not self._empties.is_settled:
            # An empty listing that is not believed yet says nothing about the shards that wait for one.
            return self._empties.due_us(done_us)
        # After news more may follow soon: a sibling, a row that this listing lacked.
        dues = [done_us + min(NEWS_PAUSE_US << (2 * min(self._quiet, 8)), self._every_us)]
        if self._is_requested:
            dues.append(done_us)
        dues += [doubt.due_us(done_us) for doubt in self._doubts.values() if not doubt.is_settled]
        if self._empties is not None:
            dues.append(done_us + EMPTY_EVERY_US)
        if self._waits:
            # The shard that ended last: each listing counts for all before it.
            fewest = next(reversed(self._waits.values()))
            dues.append(done_us + (_pause_us(fewest.listings) or gather_us()))
        return min(dues)


def _pause_us(listings: int) -> int:
    """How long to wait before the next listing, after so many that showed no child."""
    return 0 if listings == 0 else min(FIRST_PAUSE_US << (listings - 1), LONGEST_PAUSE_US)
