"""The rig: a source, and how to make things happen behind it; the author of a source writes one, of what the backend can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamiter.source.base import Source

if TYPE_CHECKING:
    from streamiter.testing.simulator import Simulator


@dataclass
class Rig:
    """A backend with an empty stream. What it cannot do is None: the checks that need it are passed over, and say so."""

    source: Source
    shape: Callable[[str], object]  # makes shards, by the notation of lineages: "S0 => {S1, S2}"; S0 closes
    put: Callable[[str, str], object]  # writes one record, the next of this shard, with this key
    key_of: Callable[[Any], str]  # the key of a record that the source gave
    shard_id: Callable[[str], str] = str  # the id by which the source knows the shard that the notation names
    advance: Callable[[float], object] | None = None  # so many seconds pass
    expire: Callable[[], object] | None = None  # the iterators that were handed out die
    trim: Callable[[str], object] | None = None  # all records of a shard so far are gone
    remove: Callable[[str], object] | None = None  # the shard is gone, though it may still be listed
    throttle: Callable[[], object] | None = None  # the next call is told that it is one too many
    fail: Callable[[], object] | None = None  # the next call meets a fault that passes
    end: Callable[[], object] | None = None  # the stream is disabled
    put_packed: Callable[[str, list[str]], object] | None = (
        None  # writes one record that holds one for each of these keys
    )
    splits: bool | None = True  # None: shards have no parents and never end, so `shape` is given "S0 ~ S1" alone
    ages: bool | None = True  # None: records are not gone by their age
    merges: bool | None = None  # True: `shape` makes shards with two parents, too
    horizon_moves: bool = False  # an iterator at a shard's horizon goes on with it, and is not told what was trimmed


@contextmanager
def simulated_rig(make: Callable[[Simulator], Source]) -> Iterator[Rig]:
    """A rig over the simulator, for sources that speak the DynamoDB Streams protocol: `make(sim)` gives the source."""
    from streamiter.testing.simulator import Simulator

    with Simulator() as sim:
        source = make(sim)
        yield Rig(
            source,
            sim.shape,
            lambda shard, key: sim.put(shard, key=key),
            lambda record: str(record.key["id"]),
            sim.shard_id,
            advance=sim.clock.advance,
            expire=lambda: sim.clock.advance(minutes=15),
            trim=sim.trim,
            remove=lambda shard: sim.remove(shard, listed=True),
            throttle=lambda: sim.fault(kind="throttle"),
            fail=lambda: sim.fault(kind="500"),
            end=sim.disable,
        )
        source.close()


@contextmanager
def kinesis_rig(make: Callable[[Simulator], Source]) -> Iterator[Rig]:
    """A rig over the simulator's stream "orders", for sources that speak the Kinesis protocol: `make(sim)` gives the source."""
    from streamiter.testing.simulator import Simulator

    with Simulator(table=None) as sim:
        stream = sim.create_stream("orders")
        source = make(sim)
        yield Rig(
            source,
            stream.shape,
            lambda shard, key: stream.put(shard, key, key=key),
            lambda record: str(record.partition_key),
            stream.shard_id,
            advance=sim.clock.advance,
            expire=lambda: sim.clock.advance(minutes=5),
            trim=stream.trim,
            remove=lambda shard: stream.remove(shard, listed=True),
            throttle=lambda: sim.fault(kind="throttle"),
            fail=lambda: sim.fault(kind="500"),
            put_packed=lambda shard, keys: stream.put_packed(shard, [(key, key.encode()) for key in keys]),
            merges=True,
            horizon_moves=True,
        )
        source.close()
