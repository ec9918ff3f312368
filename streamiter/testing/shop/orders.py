"""Orders: the workload, a shop's table whose orders are placed, paid, packed, shipped and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any
from zlib import crc32

from streamiter.testing import Simulator, WrittenRecord

TABLE = "orders"
STEPS = {"placed": "paid", "paid": "packed", "packed": "shipped"}
PRICES = {"tea": "4.90", "rice": "2.35", "olives": "6.20", "bread": "3.80", "honey": "8.75", "figs": "5.10"}
CUSTOMERS = ("ann", "ben", "chloe", "dev", "emre", "fay")
MALLORY = "\x1b[2Jmallory"  # clears the screen of a terminal that prints it as it is
RING = 1024  # every order has a place on it, by its id; every open shard owns a part of it
FIRST_ORDERS = 3  # so many are placed before anything else happens


class Orders:
    """Writes changes on a simulator's table. An order's changes go to the shard that owns it, as in DynamoDB."""

    def __init__(self, sim: Simulator, seed: int) -> None:
        self._sim = sim
        self._random = Random(seed)
        self._rows: dict[str, dict[str, Any]] = {}  # the table
        self._used: set[str] = set()
        self._parts: dict[str, range] = {}

    def begin(self, *shards: str) -> None:
        """The table's first shards share the ring."""
        self._sim.shape(" ~ ".join(shards))
        size = RING // len(shards)
        self._parts = {shard: range(number * size, (number + 1) * size) for number, shard in enumerate(shards)}

    def split(self, shard: str, *children: str) -> None:
        """A shard closes; its children share its part."""
        self._sim.split(shard, *children)
        part = self._parts.pop(shard)
        size = len(part) // len(children)
        for number, child in enumerate(children):
            self._parts[child] = part[number * size : (number + 1) * size]

    def writing(self, count: int) -> Iterator[WrittenRecord]:
        """So many changes, one at a time: one at least in each open shard, if they are that many; then time passes."""
        shards = sorted(self._parts)
        self._random.shuffle(shards)
        shards += self._random.choices(shards, k=max(0, count - len(shards)))
        for shard in shards[:count]:
            yield self._change(shard)
            self._sim.clock.advance(self._random.choice((0, 1, 1, 2)))

    def one(self) -> WrittenRecord:
        """One change, in any open shard."""
        return self._change(self._random.choice(sorted(self._parts)))

    @property
    def shards(self) -> list[str]:
        """The open shards."""
        return sorted(self._parts)

    def write(self, count: int) -> None:
        """Makes so many changes; no caller looks in between."""
        for _ in self.writing(count):
            pass

    # -- one change

    def _change(self, shard: str) -> WrittenRecord:
        mine = [order for order in self._rows if _place(order) in self._parts[shard]]
        if not mine or len(self._used) < FIRST_ORDERS or self._random.random() < 0.3:
            return self._insert(shard)
        order = self._random.choice(mine)
        row = self._rows[order]
        if row["status"] == "shipped" or (row["status"] == "placed" and self._random.random() < 0.2):
            return self._remove(shard, order)
        return self._modify(shard, order)

    def _insert(self, shard: str) -> WrittenRecord:
        order = self._new_id(shard)
        item = self._random.choice(list(PRICES))
        count = self._random.randint(1, 4)
        # The third order is mallory's, whatever the seed: everybody is to see that it does no harm.
        customer = MALLORY if len(self._used) == FIRST_ORDERS else self._random.choice(CUSTOMERS)
        row = {"id": order, "customer": customer, "item": item, "count": count, "total": count * Decimal(PRICES[item])}
        self._rows[order] = {**row, "status": "placed"}
        return self._sim.put(shard, key=order, new=self._rows[order])

    def _modify(self, shard: str, order: str) -> WrittenRecord:
        old = self._rows[order]
        if old["status"] == "placed" and self._random.random() < 0.3:
            count = old["count"] + 1
            new = old | {"count": count, "total": count * Decimal(PRICES[old["item"]])}
        else:
            new = old | {"status": STEPS[old["status"]]}
        self._rows[order] = new
        return self._sim.put(shard, key=order, event="MODIFY", new=new, old=old)

    def _remove(self, shard: str, order: str) -> WrittenRecord:
        old = self._rows.pop(order)
        # What was shipped goes by its time to live: the service deletes it, and says so.
        return self._sim.put(shard, key=order, event="REMOVE", old=old, user_identity=old["status"] == "shipped")

    def _new_id(self, shard: str) -> str:
        while True:
            order = f"A{self._random.randint(1000, 9999)}"
            if order not in self._used and _place(order) in self._parts[shard]:
                self._used.add(order)
                return order


def _place(order: str) -> int:
    return crc32(order.encode()) % RING
