"""The truth holds: whatever happens to a stream, a plain reader gets each shard's records, once, in the order written."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streamiter.testing import Simulator
from tests.testing.readers import iterator, list_rows, read_pages

puts = st.tuples(
    st.just("put"), st.integers(0, 50), st.sampled_from([..., None, 1.0, 2e9]), st.sampled_from([..., 5, 6])
)
steps = st.lists(puts | st.sampled_from([("split",), ("roll",), ("advance",)]), max_size=15)
scripts = st.lists(st.integers(0, 3), max_size=5)


def play(sim: Simulator, steps: list[tuple]) -> None:
    for what, *options in steps:
        if what == "put":
            open_shards = sim.open_shards
            choice, created, number = options
            sim.put(open_shards[choice % len(open_shards)], created=created, number=number)
        elif what == "split":
            sim.split(sim.open_shards[0])
        elif what == "roll":
            sim.roll()
        else:
            sim.clock.advance(1.3)


@settings(max_examples=20)
@given(steps, scripts, st.booleans(), st.integers(1, 4), st.sampled_from(["records", "empty"]))
def test_every_record_is_read_once_in_its_shard_s_order(steps, script, repeat, page_size, last_page):
    with Simulator("S0") as sim:
        sim.knobs.page_size, sim.knobs.last_page = page_size, last_page
        play(sim, steps)
        sim.disable()
        shards = [row["ShardId"] for row in list_rows(sim)]
        for shard in shards:
            sim.pages(shard, script, repeat=repeat and sum(script) > 0)
            written = [record.key["id"] for record in sim.history if record.shard_id == shard]
            pages = read_pages(sim, iterator(sim, shard), most=200)
            assert [key for page in pages for key in page] == written
            assert all(len(page) <= page_size for page in pages)


@settings(max_examples=20)
@given(steps, st.integers(0, 30))
def test_reading_after_any_held_number_gives_what_follows_its_first_record(steps, trimmed):
    with Simulator("S0") as sim:
        play(sim, [step for step in steps if step[0] not in ("split", "roll")])
        sim.trim("S0", before=trimmed)
        records = list(sim.history)
        numbers = [record.number for record in records]
        for record in records[trimmed:]:
            first = numbers.index(record.number)
            if first >= trimmed:
                after = iterator(sim, "S0", "AFTER_SEQUENCE_NUMBER", SequenceNumber=record.sequence_number)
                assert read_pages(sim, after, most=1) == [[later.key["id"] for later in records[first + 1 :]]]
