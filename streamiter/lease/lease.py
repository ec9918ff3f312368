"""Leases and workers as values: what their rows in a store say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from zlib import crc32

from streamiter.store.base import Row

START = "TRIM_HORIZON"  # the checkpoint of a lease that was never read
END = "SHARD_END"  # ... and of one whose shard was read to its end
TOTAL = "total"  # the key of the one lease of order="total"

# No worker has this name. A lease that it owns is never renewed: workers wait a failover before they take it, and by then who
# held it before has stopped, at the latest because its own clock said so.
OPERATOR = "operator"
AT_TIME = "AT_TIMESTAMP"  # and a slash and microseconds since 1970: of one that starts at a time

# What `progress` may say. All else in it belongs to others, and is kept.
FIRST = "start"  # the checkpoint that the lease began with; its children begin alike
# An operator said where it is read from: what may be lost before is given up. Of the total order: at which checkpoint it is.
ACCEPTED = "accepted"
GAP = "gap"  # why records behind the checkpoint may be lost: nothing is delivered until that is accepted
PROMISED = "for"  # the worker that asked for it: the others leave it alone for a while
TIP = "tip"  # behind the checkpoint there was nothing more at this moment of the service's clock
RANK = "rank"  # the greatest id and the depth of its shard's rank: where its records stand when order times tie
FLOOR = "floor"  # the last order time of its parents: below it no record of it sorts
ORDER = "order"  # the order time of the last record before the checkpoint
SOURCE = "source"  # whose place the checkpoint is, where the numbers of a stream that is made anew begin anew
LANE = "lane"  # what the token that the lease was made from says of its shard, beyond its place
HASH_KEYS = "hash_keys"  # the first and the last hash key of its shard's records, where the service says
OPENED = "opened"  # the service's time when the lease was written: what the horizon of its shard was then is its start
QUARANTINE = "quarantine"  # why nothing of it is delivered, since a record failed: until an operator releases it
RELEASE = "release"  # an operator asks its owner to let it go
SINCE = "since"  # when it was taken last, by the taker's wall clock: for people, not for decisions
CHILDREN = "children"  # the shards that follow, once it is completed
ACKED = "acked"  # how many records its owners processed, all together, when the row was written
RATE = "rate"  # ... how many a minute lately
LAG = "lag"  # ... how many seconds ago the first one was created that is not processed; 0: there is none
BUSY = "busy"  # ... for how many seconds the processor has had the same records, where that is long

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Lease(NamedTuple):
    """The right to read one shard, and the place that reading has come to. `fence` rises with each change of hands."""

    key: str
    version: int = 0
    owner: str | None = None
    checkpoint: str = START
    completed: bool = False
    fence: int = 0
    parents: tuple[str, ...] = ()
    progress: Mapping[str, Any] = NOTHING

    @classmethod
    def of(cls, row: Row) -> Lease:
        """The lease that a row describes."""
        told = row.fields
        return cls(
            row.key,
            row.version,
            told["owner"],
            told["checkpoint"],
            told["completed"],
            told["fence"],
            tuple(told["parents"]),
            told["progress"],
        )

    @property
    def row(self) -> Row:
        """The row that describes this lease."""
        fields = {
            "owner": self.owner,
            "checkpoint": self.checkpoint,
            "completed": self.completed,
            "fence": self.fence,
            "parents": list(self.parents),
            "progress": dict(self.progress),
        }
        return Row(self.key, fields, self.version)

    def noting(self, **told: Any) -> Lease:
        """The lease with this in its progress; None takes a name out."""
        progress = {name: value for name, value in {**self.progress, **told}.items() if value is not None}
        return self._replace(progress=progress)

    def at_rest(self, **told: Any) -> Lease:
        """The lease with this in its progress, and without what its owner told of its work: nobody is at work on it."""
        return self.noting(**dict.fromkeys((RATE, LAG, BUSY)), **told)

    def says_same(self, other: Lease) -> bool:
        """Whether another row says the same, whatever its version: so a write of our own is recognised."""
        return self._replace(version=0, progress=dict(self.progress)) == other._replace(
            version=0, progress=dict(other.progress)
        )


def accepted_at(checkpoint: str) -> int:
    """What ACCEPTED says of a gap of the total order. It says nothing of a later checkpoint, where another gap may be met."""
    return crc32(checkpoint.encode()) | 1 << 32


class Worker(NamedTuple):
    """A worker's row: that its beat changes shows that the worker is alive.

    The version alone would not: of a row that was removed and written anew, it is 1 again.
    """

    id: str
    version: int = 0
    asks: tuple[str, ...] = ()  # leases that it asks their owners for
    leaving: bool = False  # it is stopping: it takes nothing any more
    stuck: tuple[str, ...] = ()  # leases of its own that it cannot hand over, for a record hangs in its processor
    beat: int = 0  # its own clock at each write; the others only see that it changes

    @classmethod
    def of(cls, row: Row) -> Worker:
        """The worker that a row describes."""
        told = row.fields
        return cls(
            row.key,
            row.version,
            tuple(told.get("asks", ())),
            bool(told.get("leaving", False)),
            tuple(told.get("stuck", ())),
            int(told.get("beat", 0)),
        )

    @property
    def row(self) -> Row:
        """The row that describes this worker."""
        fields = {"asks": list(self.asks), "leaving": self.leaving, "stuck": list(self.stuck), "beat": self.beat}
        return Row(self.id, fields, self.version)
