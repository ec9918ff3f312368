"""Order keys: (order time, rank, place) as text that sorts as records come out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamiter.position import Place
from streamiter.record import Record, order_key
from streamiter.shard import Rank, sortable

words = st.text(st.characters(min_codepoint=0x21, exclude_categories=["Cs"]), min_size=1, max_size=4)
ranks = st.builds(Rank, words, st.integers(0, 2000), words)
places = st.builds(Place, st.integers(0, 10**40), st.integers(0, 2000), st.just(0))
keys = st.tuples(st.integers(0, 10**19), ranks, places)


@given(keys, keys)
def test_order_keys_sort_as_what_they_stand_for(one, other):
    assert (order_key(*one) < order_key(*other)) == (one < other)
    assert (order_key(*one) == order_key(*other)) == (one == other)


@given(keys, keys)
def test_and_so_do_their_bytes(one, other):
    assert (order_key(*one).encode() < order_key(*other).encode()) == (one < other)


@given(st.integers(0, 10**50), st.integers(0, 10**50))
def test_numbers_sort_as_text(one: int, other: int):
    assert (sortable(one) < sortable(other)) == (one < other)


def test_an_order_key_can_be_read():
    record = Record("S12", "100000000017", 1_700_000_000_000_000)
    record.order_us, record.rank = 1_700_000_000_000_000, Rank("S9", 1, "S12")
    assert record.order_key == "00001700000000000000 S9 011 S12 12100000000017 010"
    record.set_place(Place(100000000018, 3))
    assert record.order_key == "00001700000000000000 S9 011 S12 12100000000018 013"
