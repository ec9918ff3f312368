"""The dealing: leases taken, asked for and handed over as the balance says."""

from __future__ import annotations

from streamiter.lease import balance
from streamiter.lease.hold import Hold, Stage
from streamiter.lease.holdings import Holdings
from streamiter.lease.ledger import Ledger
from streamiter.lease.members import Members
from streamiter.lease.survey import survey
from streamiter.lease.timers import Timer


class Dealing:
    """What this worker does for the balance, by what it sees of all leases and workers."""

    def __init__(self, ledger: Ledger, members: Members, holdings: Holdings) -> None:
        self._ledger = ledger
        self._members = members
        self._holdings = holdings

    def deal(self, now_us: int) -> None:
        """Takes what is ours to take, gives what others ask for, asks for what we lack."""
        if not self._can_deal:
            return
        found = survey(self._ledger, self._holdings, self._members, now_us)
        if found.again_us is not None:
            self._ledger.timers.set(Timer.STOOD_STILL, found.again_us)
        for key in balance.takes_of(found.view):
            self._holdings.take(key, now_us)
        if self._members.is_settled:
            self._move(found.view, now_us)

    def offer(self, hold: Hold, taker: str | None, now_us: int) -> None:
        """What hung in a lease that `taker` had asked for is done. If it lacks a lease still, this is the one.

        Where every batch takes longer than the grace, a lease can be handed over between two batches alone. So if the taker
        waits for another lease, which is not free yet, it gets this one instead, and we keep the other.
        """
        if taker is None or not self._can_deal or not self._members.is_settled:
            return
        if hold.pipeline.is_idle:
            for other in self._holdings.holds.values():
                if other.stage is Stage.DRAINING and other.promised == taker and not other.pipeline.is_idle:
                    other.keep()
                    self._holdings.drain(hold.key, taker, now_us)
                    self._holdings.go_on(other, now_us)
                    return
        view = survey(self._ledger, self._holdings, self._members, now_us).view
        if balance.gives_of([(hold.key, taker)], view):
            self._holdings.drain(hold.key, taker, now_us)

    @property
    def _can_deal(self) -> bool:
        return not self._holdings.is_leaving and self._members.is_known and self._ledger.is_whole

    def _move(self, view: balance.View, now_us: int) -> None:
        """Hand-overs: gives what others ask for, asks for what we lack."""
        holds = self._holdings.holds
        asked = [(key, taker) for key, taker in self._members.asks() if key in holds and holds[key].can_be_given]
        for key, taker in balance.gives_of(asked, view).items():
            self._holdings.drain(key, taker, now_us)
        self._members.tell(now_us, asks=balance.asks_of(view), stuck=self._holdings.stuck)
