"""The notation of lineages: one language for docs, tests and messages."""

from __future__ import annotations

import pytest
from hypothesis import given

from streamiter.lineage import Lineage, notation
from streamiter.shard import Shard
from tests.drawn import families


def parents_in(text: str) -> dict[str, tuple[str, ...]]:
    return {shard.id: shard.parents for shard in notation.parse(text)}


def test_a_split_gives_a_parent_two_children():
    assert parents_in("S1 => {S12, S13}") == {"S1": (), "S12": ("S1",), "S13": ("S1",)}


def test_a_merge_gives_a_child_two_parents():
    assert parents_in("{S1, S2} => S3") == {"S1": (), "S2": (), "S3": ("S1", "S2")}


def test_rolls_are_written_in_a_row():
    assert parents_in("S0 => S1 => S2") == {"S0": (), "S1": ("S0",), "S2": ("S1",)}


def test_unrelated_shards_are_set_apart_by_a_tilde():
    assert parents_in("S1 ~ S2 ~ S3") == {"S1": (), "S2": (), "S3": ()}


def test_a_parent_in_parentheses_is_named_but_not_listed():
    assert parents_in("(S0) => S1") == {"S1": ("S0",)}
    assert parents_in("{(S0), S1} => S2") == {"S1": (), "S2": ("S0", "S1")}
    assert parents_in("(S0)") == {} and parents_in("S1 ~ (S0)") == {"S1": ()}


def test_statements_are_set_apart_by_semicolons_or_new_lines():
    wanted = parents_in("S1 => S2; S2 => S3")
    assert parents_in("S1 => S2\nS2 => S3\n") == wanted == {"S1": (), "S2": ("S1",), "S3": ("S2",)}


def test_a_child_named_twice_joins_its_parents():
    assert parents_in("S1 => S3; S2 => S3; S1 => S3") == {"S1": (), "S3": ("S1", "S2"), "S2": ()}


def test_nothing_describes_no_shards():
    assert notation.parse("") == notation.parse(" ;\n; ") == []


def test_ids_of_the_service_are_words():
    long_id = "shardId-00000001414562045508-2bac9cd2"
    assert parents_in(f"{long_id} => S1") == {long_id: (), "S1": (long_id,)}


@pytest.mark.parametrize(
    "text",
    [
        "S1 => {S12, S13}",
        "{S1, S2} => S3",
        "S1 ~ S2",
        "(S0) => S1",
        "S1 => S2; S2 => S3",
        "{(S0), S1} => S2; S2 => {S3, S4}; S9",
        "S",
        "",
    ],
)
def test_repr_prints_what_was_parsed(text: str):
    assert repr(Lineage.parse(text)) == text


@given(families())
def test_any_lineage_is_told_by_its_repr(rows):
    lineage = Lineage(Shard(shard_id, parents) for shard_id, parents in rows)
    assert Lineage.parse(repr(lineage)) == lineage


@pytest.mark.parametrize(
    "text, what",
    [
        ("S1 =>", "after 'S1', expected '=>' or '~' and a shard"),
        ("S1 S2", "after 'S1', expected '=>' or '~' and a shard, not 'S2'"),
        ("=> S1", "expected a shard id, not '=>'"),
        ("S1 => {S2", "a group is written {S1, S2}"),
        ("S1 => {S2 S3}", "a group is written {S1, S2}"),
        ("S1 => {}", "expected a shard id, not '}'"),
        ("(S1 => S2", "a shard that is not listed is written (S0)"),
        ("S1 = S2", "cannot read"),
    ],
)
def test_an_error_quotes_the_statement_and_says_what_was_expected(text: str, what: str):
    with pytest.raises(ValueError) as caught:
        notation.parse(f"S8 => S9; {text}")
    assert str(caught.value).startswith(repr(text)) and what in str(caught.value)
