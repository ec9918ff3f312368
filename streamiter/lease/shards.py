"""The shards: which of them need leases, which follow one that ended, and when to list them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streamiter.lease.lease import FIRST, HASH_KEYS, OPENED, START, Lease
from streamiter.lineage import EVERY_US, Discovery, Lineage, agreeing_us
from streamiter.shard import Shard, hinted_us

DAY_US = 86_400_000_000


class Shards:
    """The lineage as listings tell it, and what follows from it for leases.

    `ahead_us` is how far the wall clock is ahead of the worker's own: it stands for the service's until a listing tells that.
    A worker that is told of children before it ever listed writes their leases, too, and has to say when.
    """

    def __init__(
        self, start: str, retention_us: int = DAY_US, listing_us: int = EVERY_US, ahead_us: int | None = None
    ) -> None:
        self.lineage = Lineage()
        self.discovery = Discovery(every_us=listing_us)
        self._start = start
        self._retention_us = retention_us
        self._ticket = 0
        self._ahead_us = ahead_us  # how far the service's clock is ahead of ours
        self._now_us = 0

    # -- listings

    def begin_listing(self, now_us: int) -> None:
        """A listing is asked for."""
        self._ticket = self.discovery.begin(now_us)

    def heard(
        self, shards: Iterable[Shard], leases: Mapping[str, Lease], service_us: int, now_us: int
    ) -> tuple[list[str], list[str]]:
        """A complete listing: gives the shards that ended whose children are known now, and those forgotten."""
        self._now_us, self._ahead_us = now_us, service_us - now_us
        listed = list(shards)
        ids = {shard.id for shard in listed}
        news = [self.lineage.add(shard) for shard in listed]
        is_first = not leases

        def span_us(shard_id: str) -> int:
            return agreeing_us(hinted_us(shard_id), service_us, self._retention_us, is_first=is_first)

        doubtful = [shard for shard in self._unread(leases) if self._is_doubtful(shard, leases)]
        self.discovery.heard(self._ticket, ids, any(news), doubtful, now_us, agreeing_us=span_us)
        fruitful, childless = self.discovery.settle(
            self._ticket, lambda shard: bool(self.lineage.children(shard)), now_us
        )
        forgotten = self.discovery.forgotten(list(self.lineage), ids, now_us)
        for shard in forgotten:
            self.lineage.remove(shard)
        return [*fruitful, *childless], forgotten

    def ended(self, shard_id: str, children: Iterable[Shard], now_us: int) -> bool:
        """A shard was read to its end; whether that told of its children. Else they are looked for in listings."""
        self._now_us = now_us
        told = list(children)
        for child in told:
            self.lineage.add(child)
        if not told:
            self.discovery.ended(shard_id, now_us)
        return bool(told)

    def children(self, shard_id: str) -> list[str]:
        """The shards that follow, as far as is known."""
        return self.lineage.children(shard_id)

    # -- leases

    def wanted(self, leases: Mapping[str, Lease]) -> list[Lease]:
        """The leases that can be written now: of shards that were never read, and have none.

        A parent's lease must stand before a child's is written: a child whose parent has none counts as one whose parent was
        read, and is gone. A parent without a lease that is not listed either is dropped, once enough listings lacked it.
        """
        read = read_before(self.lineage, leases)
        first = _first(leases) or self._start
        progress = {FIRST: first} if self._ahead_us is None else {FIRST: first, OPENED: self._now_us + self._ahead_us}
        wanted = []
        for shard_id in self._unread(leases):
            parents = self.lineage[shard_id].parents
            known = tuple(parent for parent in parents if parent in leases or parent in read)
            if any(parent in self.lineage for parent in parents if parent not in known):
                continue  # it waits for that parent's lease
            if not self._is_doubtful(shard_id, leases) or self.discovery.is_confirmed(shard_id):
                wanted.append(
                    Lease(shard_id, checkpoint=first, parents=known, progress=progress | self._keys(shard_id))
                )
        return wanted

    def removable(self, leases: Mapping[str, Lease], forgotten: Iterable[str]) -> list[str]:
        """Leases of shards that the service lists no more: they are completed, and all their children were begun."""
        children: dict[str, list[Lease]] = {}
        for lease in leases.values():
            for parent in lease.parents:
                children.setdefault(parent, []).append(lease)
        return [
            key
            for key in forgotten
            if key in leases
            and leases[key].completed
            and all(child.fence > 0 or child.completed for child in children.get(key, ()))
        ]

    def _unread(self, leases: Mapping[str, Lease]) -> list[str]:
        read = read_before(self.lineage, leases)
        return [shard_id for shard_id in self.lineage if shard_id not in leases and shard_id not in read]

    def _keys(self, shard_id: str) -> dict[str, list[str]]:
        hash_keys = self.lineage[shard_id].hash_keys
        return {} if hash_keys is None else {HASH_KEYS: list(hash_keys)}

    def _is_doubtful(self, shard_id: str, leases: Mapping[str, Lease]) -> bool:
        """Whether one listing may lack what connects this shard: a parent, or all that lies between it and the leases."""
        parents = self.lineage[shard_id].parents
        read = read_before(self.lineage, leases)
        if any(parent not in self.lineage and parent not in leases and parent not in read for parent in parents):
            return True
        above = {*parents, *self.lineage.ancestors(shard_id)}
        return bool(leases) and not any(parent in leases or parent in read for parent in above)


def read_before(lineage: Lineage, leases: Mapping[str, Lease]) -> set[str]:
    """Shards that were read, and whose leases are gone: a lease that stands names them as parents, or they are above these."""
    named = {parent for lease in leases.values() for parent in lease.parents if parent not in leases}
    return named | {shard for shard in lineage.ancestors(*named) if shard not in leases} if named else named


def _first(leases: Mapping[str, Lease]) -> str | None:
    """Where the leases that stand began: those that are added begin alike, whatever this worker was told."""
    found = {str(lease.progress[FIRST]) for lease in leases.values() if FIRST in lease.progress}
    return START if START in found else min(found, default=None)
