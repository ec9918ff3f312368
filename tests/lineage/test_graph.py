"""The lineage: which shard may be read when, and where it stands when order times tie."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.lineage import Lineage
from streamiter.shard import Rank, Shard
from tests.drawn import families


def ranked(lineage: Lineage) -> list[str]:
    return sorted(lineage, key=lineage.rank)


def test_children_wait_for_their_parent():
    lineage = Lineage.parse("S1 => {S12, S13}")
    assert lineage.is_ready("S1") and not lineage.is_ready("S12")
    assert lineage.is_ready("S12", ended={"S1"}) and lineage.is_ready("S13", ended={"S1"})


def test_a_child_of_two_parents_waits_for_both():
    lineage = Lineage.parse("{S1, S2} => S3")
    assert not lineage.is_ready("S3", ended={"S1"}) and not lineage.is_ready("S3", ended={"S2"})
    assert lineage.is_ready("S3", ended={"S1", "S2"})


def test_a_parent_that_is_not_listed_holds_nothing_up():
    lineage = Lineage.parse("{(S0), S1} => S2")
    assert lineage.is_ready("S2", ended={"S1"}) and not lineage.is_whole("S2")
    lineage.add(Shard("S0"))
    assert not lineage.is_ready("S2", ended={"S1"}) and lineage.is_whole("S2")


def test_it_knows_the_shards_that_were_listed_and_not_those_that_are_only_named():
    lineage = Lineage.parse("(S0) => S1")
    assert "S1" in lineage and "S0" not in lineage


def test_rows_only_add():
    lineage = Lineage.parse("S1 => S2")
    assert not lineage.add(Shard("S2", ("S1",)))
    assert lineage.add(Shard("S2", ("S1",), closed=True))
    assert not lineage.add(Shard("S2"))  # A row that tells less takes nothing back.
    assert lineage["S2"] == Shard("S2", ("S1",), closed=True)
    assert lineage.add(Shard("S2", ("S0",))) and lineage["S2"].parents == ("S1", "S0")


def test_hash_keys_that_are_told_later_are_kept_and_are_no_news_of_the_lineage():
    lineage = Lineage([Shard("S1"), Shard("S2", ("S1",))])
    assert not lineage.add(Shard("S1", hash_keys=("0", "9")))
    assert lineage["S1"].hash_keys == ("0", "9")
    assert lineage.add(Shard("S1", closed=True))
    assert lineage["S1"] == Shard("S1", closed=True)
    assert lineage["S1"].hash_keys == ("0", "9")


def test_a_shard_is_never_its_own_ancestor():
    lineage = Lineage([Shard("S1", ("S1",)), Shard("S2", ("S4",)), Shard("S3", ("S2",)), Shard("S4", ("S3",))])
    assert lineage["S1"].parents == ()
    assert lineage["S4"].parents == ()  # the link that would close the circle
    assert lineage.ancestors("S3") == {"S2", "S4"}
    assert lineage.rank("S3") == Rank("S4", 2, "S3")


def test_the_rank_is_the_shard_id():
    assert ranked(Lineage.parse("S3 ~ S1 ~ S2")) == ["S1", "S2", "S3"]


def test_but_no_shard_ranks_before_its_ancestors():
    lineage = Lineage.parse("S9 => {S1, S2}; S1 => S0; S95")
    assert ranked(lineage) == ["S9", "S1", "S2", "S0", "S95"]
    assert lineage.rank("S0") == Rank("S9", 2, "S0")


def test_a_child_of_two_parents_ranks_after_both():
    lineage = Lineage.parse("S1 => S4 => S5; {S3, S5} => S2")
    assert lineage.rank("S2") == Rank("S5", 3, "S2")


def test_a_fixed_rank_stays_when_ancestors_turn_up_or_go():
    lineage = Lineage.parse("(S9) => S1 => S2")
    lineage.fix_rank("S1", Rank("S1", 0, "S1"))
    lineage.add(Shard("S9"))
    assert lineage.rank("S1") == Rank("S1", 0, "S1") and lineage.rank("S2") == Rank("S2", 1, "S2")


def test_a_removed_shard_counts_as_absent():
    lineage = Lineage.parse("S9 => {S1, S2}; S1 => S3")
    lineage.remove("S9")
    assert "S9" not in lineage and lineage.roots() == ["S1", "S2"]
    assert lineage.rank("S3") == Rank("S3", 1, "S3")
    assert lineage["S1"].parents == ("S9",) and not lineage.is_whole("S1")
    lineage.remove("S3")
    assert lineage.leaves() == ["S1", "S2"]


def test_relatives():
    lineage = Lineage.parse("S0 => {S1, S2}; {S2, S3} => S4; (S8) => S9")
    assert lineage.ancestors("S4") == {"S0", "S2", "S3"} and lineage.descendants("S0") == {"S1", "S2", "S4"}
    assert lineage.ancestors("S1", "S9") == {"S0"} and lineage.descendants("S8") == {"S9"}
    assert lineage.roots() == ["S0", "S3", "S9"] and lineage.leaves() == ["S1", "S4", "S9"]
    assert lineage.parents("S9") == [] and lineage.children("S8") == ["S9"]
    assert lineage.ancestors("S77") == lineage.descendants("S77") == set()


def test_lineages_are_equal_when_their_shards_are():
    assert Lineage.parse("S1 => S2") == Lineage.parse("S1\nS1 => S2") != Lineage.parse("S1 ~ S2")
    assert Lineage() != "" and len(Lineage.parse("S1 ~ S2")) == 2


@pytest.mark.parametrize("name", ["", " ", "S 1", "S1\n", "\x00"])
def test_a_shard_id_is_a_word(name: str):
    with pytest.raises(ValueError, match="a word without blanks"):
        Shard(name)


def test_a_long_lineage_is_no_deep_recursion():
    count = 3000
    shards = [Shard(f"S{index:05d}", (f"S{index - 1:05d}",) if index else ()) for index in range(count)]
    lineage = Lineage(shards)
    assert lineage.rank(shards[-1].id).depth == count - 1
    assert len(lineage.ancestors(shards[-1].id)) == count - 1


@given(families(), st.randoms(use_true_random=False))
def test_in_whatever_order_the_rows_come_ranks_follow_the_lineage(rows, random):
    shards = [Shard(shard_id, parents) for shard_id, parents in rows]
    lineage = Lineage(shards)
    shuffled = list(shards)
    random.shuffle(shuffled)
    other = Lineage(shuffled)
    for shard in shards:
        assert lineage.rank(shard.id) == other.rank(shard.id)
        assert all(lineage.rank(above) < lineage.rank(shard.id) for above in lineage.ancestors(shard.id))
        assert lineage.rank(shard.id).greatest == max({shard.id} | lineage.ancestors(shard.id))
    keys = sorted(lineage, key=lambda shard_id: lineage.rank(shard_id).text)
    assert keys == ranked(lineage)  # as text, too


def test_a_rank_follows_the_ancestors_that_are_listed_later():
    lineage = Lineage.parse("(S5) => S1")
    assert lineage.rank("S1") == Rank("S1", 0, "S1")
    lineage.add(Shard("S5"))
    assert lineage.rank("S1") == Rank("S5", 1, "S1")


def test_a_sibling_stays_when_one_is_forgotten():
    lineage = Lineage.parse("S0 => {S1, S2}")
    lineage.remove("S1")
    assert lineage.children("S0") == ["S2"] and lineage.leaves() == ["S2"]
    lineage.remove("S2")
    assert lineage.children("S0") == [] and lineage.leaves() == ["S0"]


def test_a_shard_that_is_forgotten_leaves_no_rank_behind():
    lineage = Lineage.parse("S5 => S1")
    assert lineage.rank("S1") == Rank("S5", 1, "S1")
    lineage.remove("S5")
    assert lineage.rank("S1") == Rank("S1", 0, "S1")
    lineage.fix_rank("S1", Rank("S9", 3, "S1"))
    lineage.remove("S1")
    lineage.add(Shard("S1"))
    assert lineage.rank("S1") == Rank("S1", 0, "S1")
