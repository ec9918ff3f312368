"""Random worlds on a simulator: times that run backwards, children older than their parents, ancestors that are trimmed."""

from __future__ import annotations

import random

from streamiter.position import Place
from streamiter.record import order_key
from streamiter.shard import Rank
from streamiter.testing import Simulator
from tests.oracle import expected
from tests.stream.helpers import Shard


class RandomWorld:
    """A simulator's table, lived in by chance; what its readers are to see, by the oracle."""

    def __init__(self, sim: Simulator, seed: int) -> None:
        self._sim = sim
        self._chance = random.Random(seed)
        self._trimmed: set[tuple[str, str]] = set()
        sim.shape("A ~ B")

    def live(self, steps: int = 30) -> None:
        """Writes, rolls and splits."""
        for _ in range(steps):
            shards = self._sim.open_shards
            shard = self._chance.choice(shards)
            step = self._chance.random()
            if step < 0.1 and len(shards) < 5:
                self._sim.split(shard)
            elif step < 0.2:
                self._sim.roll(shard)
            else:
                # Clocks of shards disagree, but not by the ten minutes that an idle shard's start follows behind its tip.
                created = int(self._sim.clock.now()) - self._chance.choice([0, 0, 1, 3, 5, 40, 90])
                self._sim.put(shard, created=None if self._chance.random() < 0.1 else created)

    def trim(self) -> None:
        """The first records of the oldest shards are held no more."""
        for name in ("A", "B"):
            records = [record for record in self._sim.history if record.shard_id == self._sim.shard_id(name)]
            count = self._chance.randint(0, len(records))
            self._sim.trim(name, before=count)
            self._trimmed |= {(record.shard_id, record.sequence_number) for record in records[:count]}

    @property
    def keys(self) -> list[str]:
        """The order keys of all that was held when reading began, sorted."""
        shards: dict[str, Shard] = {}
        for record in self._sim.history:
            shard_id: str | None = record.shard_id
            while shard_id is not None and shard_id not in shards:
                parent = self._sim.shard(shard_id).parent_id
                shards[shard_id] = Shard(() if parent is None else (parent,))
                shard_id = parent
            if (record.shard_id, record.sequence_number) not in self._trimmed:
                shards[record.shard_id].records.append(record)
        found = expected(shards)
        return [order_key(one.order_us, Rank(*one.rank), Place(*one.place)) for one in found]
