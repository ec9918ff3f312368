"""The made-up source: shards that split, merge, end and are listed late; every record known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from streamiter.shard import Shard
from tests.fleet.agenda import SECOND, Agenda

LAG = SECOND // 2  # within this, listings show what is new


@dataclass
class TrueShard:
    id: str
    parents: tuple[str, ...]
    made_at: int
    listed_from: int
    listed_until: int | None = None
    closed: bool = False
    records: list[int] = field(default_factory=list)  # the group of each; a record's place is its number, from 1
    readers: list[Callable[[], None]] = field(default_factory=list)

    @property
    def end(self) -> int:
        return len(self.records)


class Source:
    """All shards, and what listings and pages show of them."""

    def __init__(self, agenda: Agenda, chance: Random, *, tells_children: bool) -> None:
        self.agenda = agenda
        self.chance = chance
        self.tells_children = tells_children
        self.shards: dict[str, TrueShard] = {}
        self.is_calm = False
        self._groups = chance.choice((1, 3, 20))
        self._lacking_since: dict[tuple[str, str], int] = {}  # by caller and shard

    def make(self, parents: tuple[str, ...] = (), *, lag: int | None = None) -> str:
        number = len(self.shards)
        shard_id = (
            f"s{number:02}" if number > 99 or self.chance.random() < 0.7 else f"r{99 - number:02}"
        )  # ids are no order of age
        lag = self.chance.randrange(LAG) if lag is None else lag
        self.shards[shard_id] = TrueShard(shard_id, parents, self.agenda.now, self.agenda.now + lag)
        return shard_id

    def open_shards(self) -> list[TrueShard]:
        return [shard for shard in self.shards.values() if not shard.closed]

    def append(self, shard: TrueShard, count: int) -> None:
        shard.records += [self.chance.randrange(self._groups) for _ in range(count)]
        self._wake(shard)

    def split(self, shard: TrueShard) -> None:
        self._close(shard)
        for _ in range(2):
            self.make((shard.id,))

    def roll(self, shard: TrueShard) -> None:
        self._close(shard)
        self.make((shard.id,))

    def merge(self, one: TrueShard, other: TrueShard) -> None:
        self._close(one)
        self._close(other)
        self.make((one.id, other.id))

    def trim(self, shard: TrueShard) -> None:
        """The service lists it no more."""
        shard.listed_until = self.agenda.now

    def children(self, shard_id: str) -> list[TrueShard]:
        return [shard for shard in self.shards.values() if shard_id in shard.parents]

    def listing(self, caller: str) -> list[Shard]:
        """What a listing shows at this moment: some of it late, and some of it now and then not at all."""
        now = self.agenda.now
        shown = [shard for shard in self.shards.values() if shard.listed_from <= now and shard.listed_until is None]
        return [
            Shard(shard.id, shard.parents, shard.closed)
            for shard in shown
            if self.is_calm or not self._flickers(caller, shard.id, now)
        ]

    def _flickers(self, caller: str, shard_id: str, now: int) -> bool:
        # Listings may lack a row, but not all of those that a worker makes over half a second and more: then they would
        # agree, and docs/ordering.md says what that costs.
        window, phase = divmod(now, 2 * SECOND)
        lacks = phase < SECOND // 2 and Random(f"{shard_id} {window}").random() < 0.1
        if lacks and now - self._lacking_since.setdefault((caller, shard_id), now) < SECOND // 2:
            return True
        self._lacking_since.pop((caller, shard_id), None)
        return False

    def page(self, shard_id: str, after: int, limit: int) -> tuple[list[int], bool]:
        """Places that follow, and whether the shard ends behind them."""
        shard = self.shards[shard_id]
        places = list(range(after + 1, min(shard.end, after + limit) + 1))
        return places, shard.closed and after + len(places) >= shard.end

    def await_news(self, shard_id: str, call: Callable[[], None]) -> None:
        self.shards[shard_id].readers.append(call)

    def _close(self, shard: TrueShard) -> None:
        shard.closed = True
        self._wake(shard)

    def _wake(self, shard: TrueShard) -> None:
        readers, shard.readers = shard.readers, []
        for call in readers:
            self.agenda.after(0, call)
