"""The leases of a processor are a Stream's token, and a token seeds leases (law 17)."""

from __future__ import annotations

import json

import pytest

from streamiter import DynamoDBStreams, InvalidPosition, InvalidToken, Stream
from streamiter.lease import Lease, operator
from streamiter.lease.tokens import from_token, to_token, total_lease
from streamiter.store import Table
from streamiter.store.memory import MemoryStore
from streamiter.testing import Simulator

NOW = 1_750_000_000_000_000


def stream_on(sim: Simulator, position="trim_horizon") -> Stream:
    return Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), position, clock=sim.clock)


def keys(stream: Stream) -> list[str]:
    return [record.key["id"] for batch in stream.batches(100, until="caught_up") for record in batch]


def test_a_token_becomes_leases_and_these_a_token_that_goes_on_there():
    with Simulator("S0 => {S1, S2}") as sim:
        for shard in ("S0", "S1", "S2"):
            for number in range(4):
                sim.put(shard, key=f"{shard}-{number}")
                sim.clock.advance(1)
        with stream_on(sim) as stream:
            read = [next(stream.follow()).key["id"] for _ in range(7)]
            token = stream.token
        name, leases = from_token(json.loads(json.dumps(token)))
        assert name == sim.stream_arn
        assert {lease.key: lease.completed for lease in leases} == {"S0": True, "S1": False, "S2": False}
        back = to_token(name, leases, NOW)
        with stream_on(sim, json.loads(json.dumps(back))) as stream:
            rest = keys(stream)
        assert sorted(read + rest) == sorted(f"{shard}-{number}" for shard in ("S0", "S1", "S2") for number in range(4))


def test_leases_of_a_fleet_are_a_token():
    with Simulator("S0 => {S1, S2}") as sim:
        for shard in ("S0", "S1", "S2"):
            for number in range(4):
                sim.put(shard, key=f"{shard}-{number}")
        second = [record.sequence_number for record in sim.history if record.shard_id == "S1"][1]
        leases = [
            Lease("S0", 9, checkpoint="SHARD_END", completed=True, progress={"children": ["S1", "S2"]}),
            Lease("S1", 5, "w1", second, fence=1, parents=("S0",)),
            Lease("S2", 2, "w2", parents=("S0",)),
        ]
        with stream_on(sim, to_token(sim.stream_arn, leases, NOW)) as stream:
            assert sorted(keys(stream)) == ["S1-2", "S1-3", "S2-0", "S2-1", "S2-2", "S2-3"]


def test_a_time_to_start_at_and_a_count_of_records_go_both_ways():
    leases = [
        Lease("S1", checkpoint="AT_TIMESTAMP/1700000000000000", progress={"start": "AT_TIMESTAMP/1700000000000000"}),
        Lease("S2", checkpoint="17/3", progress={"start": "AT_TIMESTAMP/1700000000000000"}),
    ]
    _, back = from_token(to_token("arn:x", leases, NOW))
    assert {lease.key: lease.checkpoint for lease in back} == {lease.key: lease.checkpoint for lease in leases}
    assert all(lease.progress["start"] == "AT_TIMESTAMP/1700000000000000" for lease in back)


def test_what_is_finished_and_has_begun_children_is_left_out():
    def done(key: str, *parents: str, children: tuple[str, ...]) -> Lease:
        return Lease(key, 1, None, "SHARD_END", True, 1, parents, {"children": list(children)})

    leases = [done("S0", children=("S1",)), done("S1", "S0", children=("S2",)), Lease("S2", parents=("S1",))]
    _, back = from_token(to_token("arn:x", leases, NOW))
    assert {lease.key for lease in back} == {"S1", "S2"}


def test_a_total_lease_holds_a_token_as_it_is():
    with Simulator("S0") as sim:
        sim.put("S0", key="a")
        with stream_on(sim) as stream:
            keys(stream)
            token = stream.token
        name, lease = total_lease(token)
        assert (name, lease.key) == (sim.stream_arn, "total")
        assert to_token(name, [lease], NOW) == token
    with pytest.raises(InvalidToken, match="nothing was read yet"):
        to_token(name, [Lease("total")], NOW)


def test_bloops_token_is_resolved_by_a_stream_first():
    active = {"shard_id": "S1", "parent": None, "iterator_type": "latest", "sequence_number": None}
    with pytest.raises(InvalidToken, match="Bloop"):
        from_token({"stream_arn": "arn:x", "active": ["S1"], "shards": [active]})


def test_leases_are_not_seeded_over_others():
    store, table = MemoryStore(), Table("leases", "shop", "orders")
    operator.seed(store, table, [Lease("S1", checkpoint="17")])
    with pytest.raises(InvalidPosition, match="there are 1 leases of shop, orders already"):
        operator.seed(store, table, [Lease("S2")])
    with pytest.raises(InvalidPosition, match="is no checkpoint"):
        operator.reset(store, table, "S1", "LATEST", 0)
    with pytest.raises(InvalidPosition, match="there is no lease 'S9'"):
        operator.release(store, table, "S9", by_force=True)


def test_a_shard_that_was_quiet_for_longer_than_records_are_held_is_no_gap_for_who_goes_on():
    with Simulator("S0") as sim:
        record = sim.put("S0", key="a")
        sim.clock.advance(30 * 3600)
        now_us = int(sim.clock.now() * 1e6)
        lease = Lease("S0", 5, None, record.sequence_number, fence=1, progress={"tip": now_us - 60_000_000})
        token = to_token(sim.stream_arn, [lease], now_us)
        with stream_on(sim, token) as stream:
            assert keys(stream) == []


def test_a_stream_at_its_tip_hands_over_that_nothing_is_behind_its_last_record():
    with Simulator("S0") as sim:
        record = sim.put("S0", key="a")
        sim.clock.advance(3600)
        with stream_on(sim) as stream:
            assert keys(stream) == ["a"]
            assert keys(stream) == []
            _, (lease,) = from_token(stream.token)
        now_us = int(sim.clock.now() * 1e6)
        assert lease.checkpoint == record.sequence_number
        assert now_us - 3_600_000_000 < lease.progress["tip"] <= now_us


def test_since_when_a_start_stands_goes_both_ways():
    """By that, what is trimmed before somebody reads it is a gap; and what was at its tip lately is none."""
    for progress, opened in (({"opened": 5}, 5), ({"opened": 5, "tip": 9}, 9), ({}, None)):
        token = to_token("arn:x", [Lease("S0", progress=progress)], NOW)
        _, (lease,) = from_token(token)
        assert lease.progress.get("opened") == opened
