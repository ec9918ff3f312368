"""The operator: what a person does to leases while workers run, without two hands on one lease (law 9)."""

from __future__ import annotations

import re
from collections.abc import Callable

from streamiter.errors import Conflict, InvalidPosition
from streamiter.lease.lease import (
    ACCEPTED,
    AT_TIME,
    GAP,
    LANE,
    OPENED,
    ORDER,
    PROMISED,
    QUARANTINE,
    RELEASE,
    SOURCE,
    START,
    TIP,
    TOTAL,
    Lease,
    accepted_at,
)
from streamiter.lease.lease import (
    OPERATOR as OPERATOR,
)
from streamiter.store import Store, Table

_TRIES = 5  # a worker renews its lease meanwhile, now and then
_LONGEST_SHOWN = 60
_CHECKPOINT = re.compile(rf"{START}|\d{{1,99}}(/\d+)?|{AT_TIME}/\d+")


def release(store: Store, table: Table, key: str, *, by_force: bool) -> Lease:
    """Asks the owner to let a lease go; by force, it is taken from an owner that does not answer. A quarantine ends."""

    def asked(lease: Lease) -> Lease:
        if by_force:
            return lease.noting(**{PROMISED: None, QUARANTINE: None})._replace(owner=OPERATOR, fence=lease.fence + 1)
        return lease.noting(**{RELEASE: True, QUARANTINE: None})

    def freed(lease: Lease) -> Lease:
        return lease.noting(**{QUARANTINE: None}) if lease.owner is None else asked(lease)

    return _change(store, table, key, freed)


def reset(store: Store, table: Table, key: str, checkpoint: str, now_us: int) -> Lease:
    """Sets where a lease is read from. Its owner notices at its next renewal; a gap counts as accepted.

    `now_us` stands for the service's time: what it held by then is a gap again, if it is gone before somebody reads it.
    """
    if not _CHECKPOINT.fullmatch(checkpoint):
        shown = checkpoint if len(checkpoint) <= _LONGEST_SHOWN else f"{checkpoint[:_LONGEST_SHOWN]}…"
        raise InvalidPosition(
            f"{shown!r} is no checkpoint; there are {START}, a sequence number (or NUMBER/RECORDS), "
            f"and {AT_TIME}/MICROSECONDS since 1970"
        )
    if key == TOTAL and checkpoint[0].isdigit():
        raise InvalidPosition(
            f"{checkpoint!r} is the place of one shard, and the lease {TOTAL!r} is over all of them; there are {START} and "
            f"{AT_TIME}/MICROSECONDS since 1970"
        )
    return _change(store, table, key, lambda lease: _begun_at(lease, checkpoint, now_us))


def accept_gap(store: Store, table: Table, key: str, now_us: int) -> Lease:
    """Gives up what may be lost: the lease is read on from what the service still holds."""

    def accepted(lease: Lease) -> Lease:
        if GAP not in lease.progress:
            raise InvalidPosition(f"no gap stands at the lease {key!r}; `streamiter leases show` tells where it stands")
        if key != TOTAL:
            return _begun_at(lease, START, now_us)
        # The other shards go on where they are: its reader passes the gaps that it meets at this checkpoint.
        told = lease.noting(**{GAP: None, PROMISED: None, ACCEPTED: accepted_at(lease.checkpoint)})
        return told._replace(owner=OPERATOR, fence=lease.fence + 1)

    return _change(store, table, key, accepted)


def _begun_at(lease: Lease, checkpoint: str, now_us: int) -> Lease:
    # What was noted of the old place says nothing of the new one. Only behind a gap nothing was read before.
    gone = dict.fromkeys((GAP, OPENED, PROMISED, QUARANTINE, RELEASE, SOURCE, TIP))
    if GAP not in lease.progress:
        gone |= {
            ORDER: None,
            LANE: {name: told for name, told in lease.progress.get(LANE, {}).items() if name != "floor"} or None,
        }
    opened = {} if checkpoint[0].isdigit() else {OPENED: now_us}
    told = lease.noting(**gone | opened, **{ACCEPTED: True})
    return told._replace(owner=OPERATOR, fence=lease.fence + 1, checkpoint=checkpoint, completed=False)


def seed(store: Store, table: Table, leases: list[Lease]) -> None:
    """Writes leases into a table that has none: where others are, they would be read twice or not at all."""
    with store.alone(table):
        if standing := store.scan(table):
            raise InvalidPosition(
                f"there are {len(standing)} {table} already: name another stream or app, or stop its workers and delete them"
            )
        for lease in leases:
            store.write(table, lease.row, None)


def _change(store: Store, table: Table, key: str, change: Callable[[Lease], Lease]) -> Lease:
    with store.alone(table):
        return _changed(store, table, key, change)


def _changed(store: Store, table: Table, key: str, change: Callable[[Lease], Lease]) -> Lease:
    for _ in range(_TRIES):
        row = store.read(table, key)
        if row is None:
            raise InvalidPosition(f"there is no lease {key!r} among the {table}; `streamiter leases list` shows them")
        lease = Lease.of(row)
        wanted = change(lease)
        if wanted == lease:
            return lease
        try:
            return Lease.of(store.write(table, wanted.row, lease.version))
        except Conflict:
            continue
    raise InvalidPosition(f"the lease {key!r} changes faster than it can be written to; try again")
