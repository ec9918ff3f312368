"""Parts: how many partitions share the shards, and which of its shards a task reads side by side."""

from __future__ import annotations

import pickle

import pytest

from streamiter.lineage import Lineage
from streamiter.position import Horizon
from streamiter.spark.planning.parts import AT_ONCE, Partition, Rows, ShardRange, partitions, shares


def ranges(notation: str) -> list[ShardRange]:
    lineage = Lineage.parse(notation)
    return [
        ShardRange(shard_id, lineage.rank(shard_id), Horizon(), seek=tuple(sorted(lineage.ancestors(shard_id))))
        for shard_id in sorted(lineage, key=lineage.rank)
    ]


def planned(notation: str, *, most: int | None = None, slots: int | None = None, families: bool = False):
    return partitions("stream", ranges(notation), [], most=most, slots=slots, most_bytes=100, families=families)


def told(chains) -> list[list[str]]:
    return [[part.shard_id for part in chain] for chain in chains]


EIGHT = " ~ ".join(f"S{number}" for number in range(8))


def test_as_many_partitions_as_the_session_has_slots():
    assert [len(planned(EIGHT, slots=slots)) for slots in (1, 2, 3, 8, 100)] == [1, 2, 3, 8, 8]
    assert [len(found.parts) for found in planned(EIGHT, slots=3)] == [3, 3, 2]


def test_where_the_slots_are_not_known_each_shard_has_a_partition():
    assert [len(found.parts) for found in planned(EIGHT)] == [1] * 8


def test_what_the_user_says_counts_whatever_the_slots_are():
    assert [len(planned(EIGHT, most=most, slots=2)) for most in (1, 3, 100)] == [1, 3, 8]


@pytest.mark.parametrize("slots", range(1, 6))
def test_no_task_has_more_shards_than_it_reads_at_once_and_no_slot_is_idle(slots):
    for count in range(1, 200):
        found = shares(count, None, slots)
        assert found <= count
        assert -(-count // found) <= AT_ONCE
        assert found == count or found % slots == 0


def test_a_task_reads_a_shard_beside_its_ancestors():
    [found] = planned("S0 => S1 => S2; T0", slots=1)
    assert sorted(told(found.chains)) == [["S0"], ["S1"], ["S2"], ["T0"]]


def test_where_shards_cannot_be_opened_at_a_time_a_task_reads_a_shard_after_its_ancestors():
    [found] = pickle.loads(pickle.dumps(planned("S0 => S1 => S2; T0", slots=1, families=True)))
    assert sorted(told(found.chains)) == [["S0", "S1", "S2"], ["T0"]]
    assert sorted(told(one.chains)[0] for one in planned("S0 => S1 => S2; T0", slots=2, families=True)) == [
        ["S0", "S1", "S2"],
        ["T0"],
    ]


def test_rows_of_the_planner_come_in_partitions_of_their_own_up_to_a_size():
    rows = [Rows(b"x" * 60), Rows(b"x" * 40), Rows(b"x")]
    found = partitions("stream", ranges("S0"), rows, most=None, slots=1, most_bytes=100, families=False)
    assert [[type(part) for part in one.parts] for one in found] == [[ShardRange], [Rows, Rows], [Rows]]
    assert repr(found[1]) == "Partition(60 bytes, 40 bytes)"
    assert "xxx" not in repr(found[1].chains), "images stay out of messages and logs"
    assert Partition("stream", ()).chains == []
