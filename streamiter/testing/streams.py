"""Streams as they really are: a table's shards over time, from enabling to the day after disabling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from streamiter.lineage import notation
from streamiter.testing.knobs import Knobs
from streamiter.testing.listing import Listing
from streamiter.testing.records import ViewType
from streamiter.testing.refusal import not_found
from streamiter.testing.shards import SimulatedShard

_SERVICE_PREFIX = "shardId-"

Status = Literal["ENABLING", "ENABLED", "DISABLING", "DISABLED"]


class SimulatedStream:
    """One stream of a table: its ARN, its status, its shards and how they are listed."""

    def __init__(
        self, arn: str, table_name: str, view: ViewType, created_us: int, ready_us: int, *, keep_ids: bool
    ) -> None:
        self.arn = arn
        self.label = arn.rpartition("/")[2]
        self.table_name = table_name
        self.view = view
        self.created_us = created_us
        self.shards: dict[str, SimulatedShard] = {}  # by id, in the order created
        self.listing = Listing()
        self._ready_us = ready_us
        self._disabled_us: int | None = None
        self._disabling_until_us = 0
        self._keep_ids = keep_ids
        self._names: dict[str, str] = {}  # ids by the names that the test gave

    def status(self, now_us: int) -> Status:
        """Where it stands in its life."""
        if self._disabled_us is not None:
            return "DISABLED" if now_us >= self._disabling_until_us else "DISABLING"
        return "ENABLED" if now_us >= self._ready_us else "ENABLING"

    def is_over(self, now_us: int, knobs: Knobs) -> bool:
        """Whether it was disabled so long ago that nobody knows it any more."""
        return self._disabled_us is not None and now_us - self._disabled_us >= knobs.retention * 1e6

    def disable(self, now_us: int, takes_us: int) -> None:
        """No more records: all shards close."""
        self._disabled_us = now_us
        self._disabling_until_us = now_us + takes_us
        for shard in self.shards.values():
            shard.close(now_us)

    @property
    def is_disabled(self) -> bool:
        return self._disabled_us is not None

    # -- shards

    def shard(self, name: str) -> SimulatedShard:
        """The shard that the test calls so, or that has this id."""
        try:
            return self.shards[self._names.get(name, name)]
        except KeyError:
            raise LookupError(f"there is no shard {name!r} in {self.arn}; sim.shape({name!r}) makes one") from None

    def shard_id(self, name: str, now_us: int = 0) -> str:
        """The id that a name stands for, whether there is such a shard (any more) or not."""
        if name not in self._names and name not in self.shards:
            is_given = self._keep_ids or name.startswith(_SERVICE_PREFIX)
            self._names[name] = name if is_given else service_id(now_us, len(self._names), name)
        return self._names.get(name, name)

    def grow(self, text: str, now_us: int, next_number: Callable[[], int]) -> list[str]:
        """Adds the shards of a notation. Parents close, also those that were there before."""
        planned = notation.parse(text)
        for shard in planned:
            if len(shard.parents) > 1:
                raise ValueError(f"{shard.id} would have the parents {', '.join(shard.parents)}; DynamoDB knows one")
        new = []
        for shard in planned:
            shard_id = self.shard_id(shard.id, now_us)
            parent_id = self.shard_id(shard.parents[0], now_us) if shard.parents else None
            if shard_id not in self.shards:
                new.append(self.add_shard(shard.id, parent_id, now_us, next_number()).name)
            elif parent_id not in (None, self.shards[shard_id].parent_id):
                raise ValueError(f"{shard.id} is there already; its parent cannot change")
        parents = {self.shard_id(parent) for shard in planned for parent in shard.parents}
        for parent_id in parents & self.shards.keys():
            self.shards[parent_id].close(now_us)
        return new

    def add_shard(self, name: str | None, parent_id: str | None, now_us: int, number: int) -> SimulatedShard:
        """A new, open shard; without a name it gets an id as the service gives them."""
        name = name or service_id(now_us, len(self._names))
        shard = SimulatedShard(name, self.shard_id(name, now_us), parent_id, number)
        if shard.id in self.shards:
            raise ValueError(f"there is a shard {name!r} already")
        self.shards[shard.id] = shard
        return shard

    def open_shards(self) -> list[SimulatedShard]:
        """Those that take records."""
        return [shard for shard in self.shards.values() if not shard.is_closed]

    def listed_in_order(self, order: str) -> list[SimulatedShard]:
        """All shards ever, in the order in which a listing goes through them."""
        shards = list(self.shards.values())
        if order == "id":
            shards.sort(key=lambda shard: shard.id)
        elif order == "newest_first":
            shards.reverse()
        return shards

    # -- as readers find it

    def readable(self, shard_id: str, now_us: int, knobs: Knobs) -> SimulatedShard:
        """The shard, for a reader; a refusal when it is not (or no longer) there."""
        shard = self.shards.get(shard_id)
        if shard is not None:
            shard.age(now_us, knobs.retention)
        if shard is None or shard.is_gone or self.status(now_us) == "ENABLING":
            raise not_found(f"Shard: {shard_id} in Stream: {self.arn} not found")
        return shard

    def age(self, now_us: int, knobs: Knobs) -> None:
        """What the day takes of all shards."""
        for shard in self.shards.values():
            shard.age(now_us, knobs.retention)


def service_id(now_us: int, count: int, name: str = "") -> str:
    """An id in the service's form, `shardId-<20 digits>-<hex>`; later ones sort later."""
    suffix = name.encode().hex()[:16] if name else f"{(count * 2654435761 + 0x9E3779B9) % (1 << 32):08x}"
    return f"{_SERVICE_PREFIX}{now_us // 1000 + count:020d}-{suffix}"
