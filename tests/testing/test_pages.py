"""Pages: where records are cut, and what runs of empty pages come before them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing import Simulator
from streamiter.testing.trouble.pages import PageScript
from tests.testing.readers import get, iterator, read_pages, refused


@pytest.fixture
def sim():
    with Simulator("S0") as simulator:
        for key in "abcdef":
            simulator.put("S0", key=key)
        yield simulator


def pages(sim: Simulator, most: int = 20, **options: int) -> list[str]:
    """The pages of S0, each as one word."""
    return ["".join(page) for page in read_pages(sim, iterator(sim, "S0"), most, **options)]


def test_a_page_has_a_thousand_records_at_most():
    with Simulator("S0 => S1") as sim:
        for _ in range(2500):
            sim.put("S0")
        assert [len(page) for page in read_pages(sim, iterator(sim, "S0"))] == [1000, 1000, 500]
        assert [len(page) for page in read_pages(sim, iterator(sim, "S0"), Limit=999)] == [999, 999, 502]


def test_a_page_has_a_megabyte_at_most_but_one_record_at_least():
    with Simulator("S0 => S1") as sim:
        for size in (300, 300, 300, 300, 1200, 10):
            sim.put("S0", new={"id": "x", "blob": "x" * size * 1024})
        assert [len(page) for page in read_pages(sim, iterator(sim, "S0"))] == [3, 1, 1, 1]


@pytest.mark.parametrize("limit", [0, -5, 1001])
def test_limits_out_of_range_are_refused(sim, limit):
    with refused("ValidationException", match="'limit'"):
        get(sim, iterator(sim, "S0"), Limit=limit)


def test_pages_may_be_smaller_than_asked_for(sim):
    sim.knobs.page_size = 4
    assert pages(sim, most=3) == ["abcd", "ef", ""]
    assert pages(sim, most=3, Limit=3) == ["abc", "def", ""]


def test_an_open_shard_goes_on_for_ever(sim):
    assert pages(sim, most=4) == ["abcdef", "", "", ""]


@pytest.mark.parametrize("knob", [True, False])
def test_a_closed_shard_ends_with_records_or_with_an_empty_page(sim, knob):
    sim.close_shard("S0")
    assert pages(sim) == ["abcdef"]
    if knob:
        sim.knobs.last_page = "empty"
    else:
        sim.shard("S0").last_page = "empty"
    assert pages(sim) == ["abcdef", ""]
    assert pages(sim, Limit=3) == ["abc", "def", ""]


def test_a_shard_that_closes_behind_its_reader_ends_with_an_empty_page(sim):
    following = get(sim, iterator(sim, "S0"))["NextShardIterator"]
    sim.close_shard("S0")
    assert read_pages(sim, following) == [[]]


def test_an_empty_closed_shard_has_one_empty_page():
    with Simulator("S0 => S1") as sim:
        assert read_pages(sim, iterator(sim, "S0")) == [[]]


def test_a_script_cuts_the_pages(sim):
    sim.pages("S0", [0, 0, 3, 0, 1])
    assert pages(sim, most=8) == ["", "", "abc", "", "d", "ef", "", ""]
    assert pages(sim, most=8, Limit=2) == ["", "", "ab", "c", "", "d", "ef", ""]
    sim.close_shard("S0")
    assert pages(sim) == ["", "", "abc", "", "d", "ef"]


def test_a_script_may_repeat(sim):
    sim.pages("S0", [0, 2, 0], repeat=True)
    sim.close_shard("S0")
    assert pages(sim) == ["", "ab", "", "", "cd", "", "", "ef", "", ""]


def test_empty_pages_at_the_end_come_before_the_end(sim):
    sim.pages("S0", [6, 0, 0])
    sim.close_shard("S0")
    assert pages(sim) == ["abcdef", "", ""]


def test_runs_of_empty_pages_come_before_records(sim):
    sim.empty_pages("S0", 2, 0, 0, 1)
    assert pages(sim, most=6) == ["", "", "abc", "", "def", ""]
    sim.shard("S0").empty_pages = [0, 1]
    assert pages(sim, most=3) == ["a", "", "bcdef"]


def test_who_starts_in_the_middle_sees_the_rest_of_the_script(sim):
    sim.pages("S0", [1, 0, 3, 0, 2])
    number = sim.history[1].sequence_number
    after = iterator(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=number)
    assert read_pages(sim, after, most=4) == [["c", "d"], [], ["e", "f"], []]


def test_a_script_may_be_longer_than_what_is_written_yet(sim):
    sim.pages("S0", [4, 4, 0, 2])
    following = get(sim, get(sim, iterator(sim, "S0"))["NextShardIterator"])["NextShardIterator"]
    for key in "ghij":
        sim.put("S0", key=key)
    assert read_pages(sim, following, most=4) == [["g", "h"], [], ["i", "j"], []]


@pytest.mark.parametrize("script,repeat", [([-1], False), ([0], True), ([], True)])
def test_scripts_that_make_no_sense_are_mistakes_of_the_test(script, repeat):
    with pytest.raises(ValueError):
        PageScript(script, repeat=repeat)
    with pytest.raises(ValueError):
        PageScript.with_empties([-1])


@given(st.lists(st.integers(0, 3), max_size=8), st.booleans(), st.integers(0, 20))
def test_a_script_comes_out_as_written(script, repeat, records):
    pages = PageScript(script, repeat=repeat and sum(script) > 0)
    written = script * 21 if repeat and sum(script) else script
    seen: list[int] = []
    place = 0
    while place < records and (cut := pages.next_cut(place)) is not None:
        seen += [0] * pages.empties_before(place) + [cut - place]
        place = cut
    assert written[: len(seen)] == seen
    assert place >= records or not any(written[len(seen) :])
