"""The survey: what each lease is to this worker at this moment; from it the balance is worked out."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from streamiter.lease.balance import View
from streamiter.lease.holdings import Holdings
from streamiter.lease.lease import PROMISED, Lease
from streamiter.lease.ledger import Ledger
from streamiter.lease.members import Members
from streamiter.lease.pace import Pace


class Situation(Enum):
    """What a lease is to this worker."""

    DONE = auto()  # completed
    OURS = auto()  # in our hands, on its way into them or out of them
    THEIRS = auto()  # another worker's, who may deliver; or of one of our name that was here before us
    FREE = auto()  # released, and its parents are done
    EXPIRED = auto()  # another worker's, that stood still for a failover
    BLOCKED = auto()  # a parent is not done
    SHUNNED = auto()  # an operator asked us to let it go


class Survey(NamedTuple):
    """The balance's view, and when it is to be worked out anew, since a lease that was left alone is anyone's then."""

    view: View
    again_us: int | None


def situation_of(lease: Lease, ledger: Ledger, holdings: Holdings, now_us: int) -> Situation:
    """What one lease is to us."""
    if lease.key in holdings.holds:
        return Situation.OURS
    if lease.completed:
        return Situation.DONE
    if lease.owner is not None:
        return Situation.EXPIRED if ledger.is_expired(lease, now_us) else Situation.THEIRS
    if not ledger.is_ready(lease):
        return Situation.BLOCKED
    return Situation.SHUNNED if holdings.shunned_us.get(lease.key, now_us) > now_us else Situation.FREE


def survey(ledger: Ledger, holdings: Holdings, members: Members, now_us: int) -> Survey:
    """Looks at all leases."""
    sorted_in: dict[Situation, list[Lease]] = {situation: [] for situation in Situation}
    for lease in ledger.leases.values():
        sorted_in[situation_of(lease, ledger, holdings, now_us)].append(lease)
    theirs, ours = sorted_in[Situation.THEIRS], sorted_in[Situation.OURS]
    overdue = _overdue(sorted_in, ledger, now_us)
    for lease in sorted_in[Situation.EXPIRED]:
        members.doubt(lease.owner)
    for key in overdue:
        members.doubt(ledger.leases[key].progress.get(PROMISED))
    alive = members.alive
    keepers = {lease.key: lease.owner if lease.owner != ledger.me else None for lease in theirs} | {
        lease.key: holdings.holds[lease.key].keeper(ledger.me) for lease in ours
    }
    held = {key: keeper for key, keeper in keepers.items() if keeper is not None and keeper in alive}
    free = {lease.key: lease.progress.get(PROMISED) for lease in sorted_in[Situation.FREE]}
    for key, worker in list(free.items()):
        if worker in members.present and worker not in alive and key not in overdue:
            keepers[key] = free.pop(key)  # it is handed over to one that we do not know yet
    moving = len(keepers) - len(held) + len(sorted_in[Situation.SHUNNED])
    free |= {lease.key: None for lease in sorted_in[Situation.EXPIRED]}
    view = View(ledger.me, alive, held, free, moving, members.stuck(), overdue)
    return Survey(view, min(_moments(sorted_in, ledger, now_us), default=None))


def _patience(pace: Pace) -> dict[Situation, int]:
    """How long a lease must stand still until it is anyone's."""
    return {
        Situation.FREE: pace.overdue_us,
        Situation.THEIRS: pace.failover_us,
        Situation.EXPIRED: pace.failover_us + pace.overdue_us,
    }


def _moments(sorted_in: dict[Situation, list[Lease]], ledger: Ledger, now_us: int) -> Iterator[int]:
    for situation, patience_us in _patience(ledger.pace).items():
        for lease in sorted_in[situation]:
            left_us = patience_us - ledger.stood_still_us(lease.key, now_us)
            if left_us > 0:
                yield now_us + left_us


def _overdue(sorted_in: dict[Situation, list[Lease]], ledger: Ledger, now_us: int) -> list[str]:
    """Leases to be taken that the worker they were meant for left lying."""
    patience = _patience(ledger.pace)
    return [
        lease.key
        for situation in (Situation.FREE, Situation.EXPIRED)
        for lease in sorted_in[situation]
        if ledger.stood_still_us(lease.key, now_us) >= patience[situation]
    ]
