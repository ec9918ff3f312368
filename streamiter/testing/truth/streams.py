"""Streams as they really are: a table's shards over time, from enabling to the day after disabling."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from streamiter.lineage import notation
from streamiter.testing.http.refusal import not_found
from streamiter.testing.trouble.listing import Listing
from streamiter.testing.truth.life import Life
from streamiter.testing.truth.records import ViewType, WrittenRecord
from streamiter.testing.truth.rendering import rendered
from streamiter.testing.truth.shards import WHOLE, Held, SimulatedShard

if TYPE_CHECKING:
    from streamiter.testing.trouble.knobs import Knobs
    from streamiter.testing.truth.simulated_table import SimulatedTable

_SERVICE_PREFIX = "shardId-"

NextNumber = Callable[[], int]


class StreamShard(SimulatedShard):
    """A shard of a table's stream: its records are made into JSON many at a time."""

    def rendered(self, records: list[Held]) -> list[bytes]:
        return rendered(cast("list[WrittenRecord]", records))


class SimulatedStream:
    """One stream of a table: its ARN, its life, its shards and how they are listed."""

    def __init__(
        self,
        arn: str,
        table: SimulatedTable,
        view: ViewType,
        life: Life,
        *,
        keep_ids: bool,
        shards_itself: bool = False,
    ) -> None:
        self.arn = arn
        self.label = arn.rpartition("/")[2]
        self.table = table
        self.view = view
        self.life = life
        self.shards_itself = shards_itself  # it rolls and splits as time and load go on
        self.shards: dict[str, SimulatedShard] = {}  # by id, in the order created
        self.listing = Listing()
        self._keep_ids = keep_ids
        self._names: dict[str, str] = {}  # ids by the names that the test gave
        self._children: dict[str, list[SimulatedShard]] = {}  # by their parent's id
        self._open: list[SimulatedShard] = []

    def disable(self, now_us: int, takes_us: int) -> None:
        """No more records: all shards close."""
        self.life.end(now_us, takes_us)
        for shard in self.shards.values():
            shard.close(now_us)

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

    def grow(self, text: str, now_us: int, next_number: NextNumber) -> list[str]:
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
        shard = StreamShard(name, self.shard_id(name, now_us), parent_id, number, now_us)
        if shard.id in self.shards:
            raise ValueError(f"there is a shard {name!r} already")
        self.shards[shard.id] = shard
        self._open.append(shard)
        if parent_id is not None and parent_id in self.shards:
            siblings = self._children.setdefault(parent_id, [])
            siblings.append(shard)
            for place, sibling in enumerate(siblings):
                sibling.share = self.shards[parent_id].share.part(place, len(siblings))
        return shard

    def succeed(
        self, parent: SimulatedShard, children: Sequence[str | None], now_us: int, next_number: NextNumber
    ) -> list[str]:
        """A shard closes, and its children open; those without a name get an id."""
        parent.close(now_us)
        return [self.add_shard(name, parent.id, now_us, next_number()).name for name in children]

    @property
    def oldest_open_us(self) -> int | None:
        """When the oldest of the shards that take records was opened."""
        return min((shard.opened_us for shard in self.open_shards()), default=None)

    def roll_older(self, horizon_us: int, now_us: int, next_number: NextNumber) -> None:
        """Each shard that was opened by then closes, and one child follows."""
        for shard in self.open_shards():
            if shard.opened_us <= horizon_us:
                self.succeed(shard, [None], now_us, next_number)

    def bear_load(self, shard: SimulatedShard, now_us: int, split_rate: float | None, next_number: NextNumber) -> None:
        """A record was written; the shard splits when it is one too many within the second."""
        if split_rate is not None and self.shards_itself and shard.load(now_us) > split_rate:
            self.succeed(shard, [None, None], now_us, next_number)

    def shard_of(self, number: int) -> SimulatedShard:
        """The open shard that a hashed key belongs to: a child has a part of its parent's keys, so that a key stays
        within its lineage, whatever rolls and splits come."""
        opened = self.open_shards()
        if len(opened) == 1:
            return opened[0]
        by_root: dict[str, list[SimulatedShard]] = {}
        for shard in opened:
            by_root.setdefault(shard.share.root, []).append(shard)
        if not by_root:
            raise LookupError(f"no shard of {self.arn} is open; sim.shape('S0') opens one")
        number, place = divmod(number, len(by_root))
        family = list(by_root.values())[place]
        within = number % WHOLE
        owner = next((shard for shard in family if shard.share.low <= within < shard.share.high), None)
        return owner or family[within % len(family)]

    def open_shards(self) -> list[SimulatedShard]:
        """Those that take records."""
        self._open = [shard for shard in self._open if not shard.is_closed]
        return list(self._open)

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
        if shard is None or shard.is_gone or self.life.status(now_us) == "ENABLING":
            raise not_found("Shard does not exist")
        return shard

    def age(self, now_us: int, knobs: Knobs) -> None:
        """Removes from all shards what a day has made too old."""
        for shard in self.shards.values():
            shard.age(now_us, knobs.retention)


def service_id(now_us: int, count: int, name: str = "") -> str:
    """An id in the service's form, `shardId-<20 digits>-<hex>`; later ones sort later."""
    suffix = zlib.crc32(name.encode()) if name else (count * 2654435761 + 0x9E3779B9) % (1 << 32)
    return f"{_SERVICE_PREFIX}{now_us // 1000 + count:020d}-{suffix:08x}"
