"""The ledger: all that one worker knows of leases, by its own clock; and what it wants done."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from streamiter.clock import SECOND_US
from streamiter.lease.lease import OPERATOR, Lease
from streamiter.lease.pace import Pace
from streamiter.lease.timers import Timers
from streamiter.lease.watch import Watch
from streamiter.lease.wishes import DeleteLease, Wish, WriteLease


class Ledger:
    """The rows as they were last told, since when they stand still, the timers, and the wishes that wait to be taken."""

    def __init__(self, me: str, pace: Pace, wall_us: int | None = None) -> None:
        self.me = me
        self.pace = pace
        self._wall_us = wall_us  # how far the wall clock is from ours; nothing is decided by it
        self.timers = Timers()
        self.leases: dict[str, Lease] = {}
        self.wishes: list[Wish] = []
        self.looked_us: int | None = None  # when all leases were seen last
        self._watch = Watch()
        self._told_us: dict[str, int] = {}  # when each row was last told
        self._scanned: frozenset[str] = frozenset()  # what the scan before the last one showed
        self._last_scanned: frozenset[str] = frozenset()
        self._tickets = 0

    # -- what is told

    def see_all(self, leases: Iterable[Lease], begun_us: int, now_us: int) -> None:
        """A scan that began then shows these. What was told of a row since then is newer."""
        shown = {lease.key: lease for lease in leases}
        for key in [key for key, told_us in self._told_us.items() if key not in shown and told_us <= begun_us]:
            self.forget(key)
        for key, lease in shown.items():
            known = self.leases.get(key)
            if known is None or self._told_us[key] <= begun_us or lease.version > known.version:
                self.see(lease, now_us)
        self._scanned, self._last_scanned = self._last_scanned, frozenset(shown)
        self.looked_us = now_us

    def see(self, lease: Lease, now_us: int) -> None:
        """An answer shows this row as it stands."""
        self.leases[lease.key] = lease
        self._told_us[lease.key] = now_us
        self._watch.see(lease.key, lease.version, now_us)

    def forget(self, key: str) -> None:
        """The row is gone."""
        self.leases.pop(key, None)
        self._told_us.pop(key, None)
        self._watch.keep(self.leases)

    # -- questions

    @property
    def is_whole(self) -> bool:
        """Whether all leases were seen at least once."""
        return self.looked_us is not None

    def is_fresh(self, now_us: int) -> bool:
        """Whether all leases were seen lately: what was seen before this process stood still says nothing of now."""
        return self.looked_us is not None and now_us - self.looked_us <= 2 * self.pace.look_us

    def stood_still_us(self, key: str, now_us: int) -> int:
        """For how long a lease's row has stood still, by this worker's clock."""
        return self._watch.still_us(key, now_us)

    def is_expired(self, lease: Lease, now_us: int) -> bool:
        """Whether a lease of another worker may be taken: it stood still for a failover (law 9)."""
        return self.stood_still_us(lease.key, now_us) >= self.pace.failover_us

    def owned(self, key: str, now_us: int) -> Lease | None:
        """A lease as it was last told, if a worker has it, and did not let it stand still for a failover."""
        lease = self.leases.get(key)
        if lease is None or lease.owner in (None, OPERATOR) or self.is_expired(lease, now_us):
            return None
        return lease

    def is_ready(self, lease: Lease) -> bool:
        """Whether the lease may be read: each parent is completed, or was, and its lease is gone by now (law 10).

        A scan goes page by page: it may show a child that was written after the page of its parent was read. So a parent
        counts as gone only where an earlier scan showed the child already; the parent was written before it.
        """
        for parent in lease.parents:
            above = self.leases.get(parent)
            if above is None and lease.key not in self._scanned:
                return False
            if above is not None and not above.completed:
                return False
        return True

    def wall_seconds(self, now_us: int) -> int | None:
        """The wall clock's time, for people who read the rows."""
        return None if self._wall_us is None else (now_us + self._wall_us) // SECOND_US

    # -- wishes

    def ticket(self) -> int:
        """A number of its own for each write, by which its answer is known."""
        self._tickets += 1
        return self._tickets

    def wish_write(self, lease: Lease, expected: int | None) -> WriteLease:
        """Wants a lease written."""
        wish = WriteLease(self.ticket(), lease, expected)
        self.wishes.append(wish)
        return wish

    def wish_removal(self, keys: Collection[str]) -> None:
        """Wants leases removed; where another worker changed one meanwhile, it stays."""
        for key in keys:
            self.wishes.append(DeleteLease(key, self.leases[key].version))
