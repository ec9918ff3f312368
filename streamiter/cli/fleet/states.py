"""States: what a lease's row says of it, in a word."""

from __future__ import annotations

from streamiter.lease import Lease, operator
from streamiter.lease.lease import BUSY, GAP, QUARANTINE, RELEASE

STUCK_SECONDS = 30  # a processor that has had the same records for so long

DONE, QUARANTINED, GAP_STANDS, STUCK, FREE, LEAVING, HELD = (
    "done",
    "quarantine",
    "gap",
    "stuck",
    "free",
    "leaving",
    "held",
)
TROUBLES = (QUARANTINED, GAP_STANDS, STUCK)


def state_of(lease: Lease) -> str:
    """The state in a word. A state that needs an operator comes before the others."""
    progress = lease.progress
    if lease.completed:
        return DONE
    if QUARANTINE in progress:
        return QUARANTINED
    if GAP in progress:
        return GAP_STANDS
    if lease.owner is None:
        return FREE
    if progress.get(BUSY, 0) >= STUCK_SECONDS:
        return STUCK
    return LEAVING if progress.get(RELEASE) or lease.owner == operator.OPERATOR else HELD
