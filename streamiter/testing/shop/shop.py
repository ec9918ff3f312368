"""The shop: the table of orders as `streamiter simulate --orders` serves it: two hours of history, then on in real time."""

from __future__ import annotations

import threading
from random import Random

from streamiter.testing import ManualClock, Simulator
from streamiter.testing.shop.orders import Orders

HISTORY_SECONDS = 7200
HISTORY_RATE = 1 / 12  # changes a second
OPEN_SHARDS = 4  # more are not made: a person is to read them
LIFE_SECONDS = 1500  # about how long a shard lives before it rolls over or splits


class Shop:
    """Writes orders on a simulator whose clock began HISTORY_SECONDS ago."""

    def __init__(self, sim: Simulator, clock: ManualClock, seed: int = 1) -> None:
        self._sim = sim
        self._clock = clock
        self._random = Random(seed)
        self._orders = Orders(sim, seed)
        self._shards = 0
        self._closing = threading.Event()

    def write_history(self) -> None:
        """Everything that happened before the first look; the clock then stands at the present."""
        with self._sim.at_once():
            self._orders.begin(self._new_shard(), self._new_shard())
            self.live(HISTORY_SECONDS, HISTORY_RATE)

    def live(self, seconds: float, rate: float) -> None:
        """So many seconds, with so many changes a second; the clock is turned."""
        end = self._clock.now() + seconds
        while self._clock.now() + (pause := self._random.expovariate(rate)) < end:
            self._clock.advance(pause)
            self._happen(pause)
        self._clock.advance(max(0.0, end - self._clock.now()))

    def keep_writing(self, rate: float) -> None:
        """Goes on at so many changes a second, until `close`."""
        while not self._closing.wait(pause := self._random.expovariate(rate)):
            with self._sim.at_once():
                self._happen(pause)

    def close(self) -> None:
        """Ends `keep_writing`."""
        self._closing.set()

    def _happen(self, seconds: float) -> None:
        """A change; now and then a shard goes before it."""
        self._orders.one()
        open_shards = self._orders.shards
        if self._random.random() < seconds * len(open_shards) / LIFE_SECONDS:
            shard = self._random.choice(open_shards)
            children = 1 if len(open_shards) >= OPEN_SHARDS or self._random.random() < 0.4 else 2
            self._orders.split(shard, *(self._new_shard() for _ in range(children)))

    def _new_shard(self) -> str:
        self._shards += 1
        return f"S{self._shards}"
