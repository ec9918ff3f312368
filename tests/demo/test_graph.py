from __future__ import annotations

from streamiter import Lineage
from streamiter.demo.graph import Graph, tree


def text(line):
    return "".join(span.text for span in line).rstrip()


def test_a_record_is_a_dot_in_its_own_column():
    graph = Graph(4)
    graph.open(["S1", "S2"])
    assert text(graph.head(["S1", "S2"])) == "S1 S2"
    assert text(graph.node("S2")) == "│  ●"
    assert text(graph.node("S1", "○")) == "○  │"


def test_a_split_forks_and_a_roll_goes_straight_on():
    graph = Graph(4)
    graph.open(["S1", "S2"])
    assert graph.grow("S1", ["S3"]) is None
    assert text(graph.head(["S3"])) == "S3 │"
    fork = graph.grow("S3", ["S4", "S5"])
    assert fork is not None
    assert text(fork) == "├──│──╮"
    assert text(graph.head(["S4", "S5"])) == "S4 │  S5"
    assert "S3" not in graph
    assert "S5" in graph


def test_a_fork_may_have_more_than_two_ends():
    graph = Graph(4)
    graph.open(["S1"])
    fork = graph.grow("S1", ["S2", "S3", "S4"])
    assert fork is not None
    assert text(fork) == "├──┬──╮"


def test_all_lines_are_as_wide():
    graph = Graph(4)
    graph.open(["S1", "S2"])
    lines = [graph.node("S1"), graph.head(["S1"]), graph.grow("S2", ["S3", "S4"]) or [], graph.node("S4")]
    assert {sum(len(span.text) for span in line) for line in lines} == {12}


def test_pieces_know_their_shard():
    graph = Graph(2)
    graph.open(["S1", "S2"])
    assert [span.shard for span in graph.node("S1") if span.text.strip()] == ["S1", "S2"]


def test_the_tree_of_a_lineage():
    lineage = Lineage.parse("S1 => S5; S2 => {S3, S4, S9}; S3 => {S6, S7}")
    assert [text(row) for row in tree(lineage)] == [
        "S1 ─── S5",
        "S2 ─┬─ S3 ─┬─ S6",
        "    │      ╰─ S7",
        "    ├─ S4",
        "    ╰─ S9",
    ]
