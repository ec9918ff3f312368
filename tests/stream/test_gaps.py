"""What the service no longer holds is never passed over in silence: RecordsExpired, until skip() or move_to (law 5)."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from streamiter import InvalidOption, RecordsExpired
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import (
    assert_came,
    drain,
    drain_over_gaps,
    identities,
    in_order,
    soon,
    take,
    until_raises,
    write,
)

At = Literal["GetShardIterator", "GetRecords"]
AT = pytest.mark.parametrize("at", ["GetShardIterator", "GetRecords"])


@pytest.fixture
def paused(sim: Simulator) -> Simulator:
    """Two shards, and a reader that will have stopped in the middle of S1 and T1."""
    sim.shape("S1 ~ T1")
    write(sim, "S1", "T1", rounds=6)
    return sim


def held(sim: Simulator, *shards: str):
    """What the service holds of these shards by now."""
    return [record for shard in shards for record in sim.shard(shard).records]


@AT
def test_a_pause_of_25_hours_is_a_gap_until_skip(paused: Simulator, open_stream: Open, at: At):
    paused.knobs.trimmed_at = at
    first = open_stream()
    came = take(first, paused.clock, 6)
    token = json.loads(json.dumps(first.token))
    first.close()
    paused.clock.advance(hours=25)
    write(paused, "S1", "T1")
    stream = open_stream(token)
    for _ in range(3):  # on every next
        _, error = until_raises(RecordsExpired, stream, paused.clock)
        assert error.shard_id == "S1"
        assert "S1" in str(error)
        assert "skip()" in str(error)
        assert "move_to('trim_horizon')" in str(error)
        last = [record for record in came if record.shard_id == "S1"][-1]
        assert str(last.number) in str(error.position)
    assert stream.token["clock"] == 6
    stream.skip()
    _, error = until_raises(RecordsExpired, stream, paused.clock)
    assert error.shard_id == "T1"
    stream.skip()
    rest = drain(stream, paused.clock)
    assert identities(rest) == identities(in_order(paused, held(paused, "S1", "T1")))
    assert stream.stats.gaps == 2


@AT
def test_other_lineages_lose_nothing(paused: Simulator, open_stream: Open, at: At):
    paused.knobs.trimmed_at = at
    first = open_stream()
    take(first, paused.clock, 6)
    token = first.token
    first.close()
    paused.trim("S1", before=5)
    write(paused, "T1", "S1")
    stream = open_stream(token)
    before, error = until_raises(RecordsExpired, stream, paused.clock)
    assert error.shard_id == "S1"
    stream.skip()
    after = drain(stream, paused.clock)
    came_t1 = [record.sequence_number for record in before + after if record.shard_id == "T1"]
    assert came_t1 == [record.sequence_number for record in held(paused, "T1")][3:]
    came_s1 = [record.sequence_number for record in before + after if record.shard_id == "S1"]
    assert came_s1 == [record.sequence_number for record in held(paused, "S1")]


@AT
def test_in_the_midst_of_reading(paused: Simulator, open_stream: Open, at: At):
    paused.knobs.trimmed_at = at
    paused.knobs.page_size = 2
    stream = open_stream(prefetch_bytes=500)
    came = take(stream, paused.clock, 4)
    paused.trim("S1", before=5)
    paused.clock.advance(minutes=20)
    before, error = until_raises(RecordsExpired, stream, paused.clock)
    assert error.shard_id == "S1"
    stream.skip()
    after = drain(stream, paused.clock)
    everything = identities(came + before + after)
    assert len(everything) == len(set(everything))
    lost = set(identities(paused.history)) - set(everything)
    assert {shard for shard, _ in lost} <= {"S1"}
    assert identities(paused.shard("S1").records)[0] in everything


def test_what_was_fetched_before_the_gap_comes_first(paused: Simulator, open_stream: Open):
    paused.knobs.page_size = 4
    stream = open_stream()
    take(stream, paused.clock, 1)
    waiting = stream.stats.waiting
    paused.trim("S1", before=6)
    paused.trim("T1", before=6)
    paused.fault("GetRecords", kind="trimmed", times=None)
    before, _ = until_raises(RecordsExpired, stream, paused.clock)
    assert len(before) >= min(waiting, 3)
    assert_came(before, in_order(paused)[1 : 1 + len(before)], clock=1)


def test_a_gap_stands_on_every_next_and_costs_no_calls_for_its_shard(paused: Simulator, open_stream: Open):
    first = open_stream()
    take(first, paused.clock, 6)
    paused.trim("S1")
    stream = open_stream(first.token)
    until_raises(RecordsExpired, stream, paused.clock)
    paused.calls.clear()
    for _ in range(20):
        until_raises(RecordsExpired, stream, paused.clock)
        paused.clock.advance(1)
    assert paused.calls.total(shard="S1") == 0


def test_other_lanes_keep_fetching_while_a_gap_stands(paused: Simulator, open_stream: Open):
    first = open_stream()
    take(first, paused.clock, 6)
    paused.trim("S1")
    stream = open_stream(first.token)
    until_raises(RecordsExpired, stream, paused.clock)
    write(paused, "T1")

    def all_of_t1_waits() -> bool:
        paused.clock.advance(0.1)
        with pytest.raises(RecordsExpired):
            next(stream)
        return stream.stats.waiting == 6

    soon(all_of_t1_waits)


def test_a_token_taken_at_a_gap_stands_at_it_again(paused: Simulator, open_stream: Open):
    first = open_stream()
    take(first, paused.clock, 6)
    paused.trim("S1")
    stream = open_stream(first.token)
    until_raises(RecordsExpired, stream, paused.clock)
    token = json.loads(json.dumps(stream.token))
    resumed = open_stream(token)
    _, error = until_raises(RecordsExpired, resumed, paused.clock)
    assert error.shard_id == "S1"


def test_a_token_taken_after_skip_has_passed_it(paused: Simulator, open_stream: Open):
    first = open_stream()
    take(first, paused.clock, 6)
    paused.trim("S1", before=5)
    stream = open_stream(first.token)
    before, _ = until_raises(RecordsExpired, stream, paused.clock)
    stream.skip()
    came = before + drain(open_stream(stream.token), paused.clock)
    assert [r.sequence_number for r in came if r.shard_id == "S1"] == [paused.shard("S1").records[0].sequence_number]
    assert len([r for r in came if r.shard_id == "T1"]) == 3


def test_move_to_leaves_a_gap(paused: Simulator, open_stream: Open):
    first = open_stream()
    take(first, paused.clock, 6)
    paused.trim("S1", before=5)
    stream = open_stream(first.token)
    until_raises(RecordsExpired, stream, paused.clock)
    stream.move_to("trim_horizon")
    assert identities(drain(stream, paused.clock)) == identities(in_order(paused, held(paused, "S1", "T1")))
    with pytest.raises(InvalidOption, match="nothing to skip"):
        stream.skip()


def test_on_gap_skip_accepts_all_and_counts_them(
    paused: Simulator, open_stream: Open, caplog: pytest.LogCaptureFixture
):
    first = open_stream()
    take(first, paused.clock, 6)
    paused.clock.advance(hours=25)
    write(paused, "S1", "T1")
    stream = open_stream(first.token, on_gap="skip")
    with caplog.at_level(logging.WARNING, logger="streamiter"):
        came = drain(stream, paused.clock)
    assert identities(came) == identities(in_order(paused, held(paused, "S1", "T1")))
    assert stream.stats.gaps == 2
    assert len([message for message in caplog.messages if "gap accepted" in message]) == 2


def test_skip_without_a_gap_says_what_it_is_for(paused: Simulator, open_stream: Open):
    stream = open_stream()
    with pytest.raises(InvalidOption, match=r"nothing to skip.*gap or the record that an error named"):
        stream.skip()
    take(stream, paused.clock, 2)
    with pytest.raises(InvalidOption, match="nothing to skip"):
        stream.skip()


def test_a_trim_of_what_was_returned_is_no_gap(paused: Simulator, open_stream: Open):
    """All up to the tip was read; only the last record is old by now."""
    first = open_stream()
    came = drain(first, paused.clock)
    paused.clock.advance(hours=10)
    came += drain(first, paused.clock)
    paused.clock.advance(hours=13.9)  # the records are older than a day, the tip is not
    token = first.token
    write(paused, "T1", "S1")
    stream = open_stream(token)
    came += drain(stream, paused.clock)
    assert sorted(identities(came)) == sorted(identities(paused.history))
    assert stream.stats.gaps == 0


def test_a_lane_not_yet_read_and_older_than_retention_is_a_gap(paused: Simulator, open_stream: Open):
    """TRIM_HORIZON would hide it (law 5)."""
    sim = paused
    sim.shape("U1")
    stream = open_stream()
    take(stream, sim.clock, 6)
    token = stream.token  # U1 was opened, and gave nothing
    sim.put("U1")
    sim.clock.advance(hours=26)
    sim.put("U1")
    gaps = set()
    resumed = open_stream(token)
    for _ in range(3):
        _, error = until_raises(RecordsExpired, resumed, sim.clock)
        gaps.add(error.shard_id)
        resumed.skip()
    assert gaps == {"S1", "T1", "U1"}


def test_a_start_at_the_horizon_never_is_a_gap(paused: Simulator, open_stream: Open):
    paused.clock.advance(hours=25)
    write(paused, "S1", "T1")
    stream = open_stream()
    assert identities(drain(stream, paused.clock)) == identities(in_order(paused, held(paused, "S1", "T1")))
    assert stream.stats.gaps == 0


def test_records_trimmed_between_opening_and_fetching_at_the_horizon_are_no_error(paused: Simulator, open_stream: Open):
    paused.fault("GetRecords", "S1", kind="trimmed", times=2)
    assert identities(drain(open_stream(), paused.clock)) == identities(in_order(paused))


def test_a_shard_that_is_gone_after_it_was_read_is_a_gap(paused: Simulator, open_stream: Open):
    first = open_stream()
    take(first, paused.clock, 6)
    paused.remove("S1", listed=True)
    stream = open_stream(first.token)
    before, error = until_raises(RecordsExpired, stream, paused.clock)
    assert error.shard_id == "S1"
    assert "removed the shard" in str(error)
    stream.skip()
    came = before + drain(stream, paused.clock)
    assert {record.shard_id for record in came} == {"T1"}
    assert len(came) == 3


# -- tokens whose shards are trimmed away


@pytest.fixture
def generations(sim: Simulator) -> Simulator:
    """S0 to S3, one after the other, five hours each, with T0 beside them."""
    sim.shape("S0 ~ T0")
    for generation in range(4):
        write(sim, f"S{generation}", "T0", rounds=6, every=3000)
        if generation < 3:
            sim.shape(f"S{generation} => S{generation + 1}")
    return sim


@pytest.mark.parametrize("listed", [True, False], ids=["listed still", "not listed"])
@pytest.mark.parametrize("gone", [["S0"], ["S0", "S1"]], ids=["S0", "S0 and S1"])
def test_a_token_whose_shard_is_trimmed_while_its_grandchildren_live(
    generations: Simulator, open_stream: Open, gone: list[str], listed: bool
):
    sim = generations
    first = open_stream()
    came = take(first, sim.clock, 4)
    token = first.token
    first.close()
    for shard in gone:
        sim.remove(shard, listed=listed)
    records, gaps = drain_over_gaps(open_stream(token), sim.clock)
    assert gaps[0].shard_id == "S0"
    assert {gap.shard_id for gap in gaps} <= set(gone)
    rest = [record for record in in_order(sim) if record.shard_id not in gone]
    assert identities(records) == [identity for identity in identities(rest) if identity not in identities(came)]


def test_a_day_later_the_grandchildren_are_read_after_the_gap(generations: Simulator, open_stream: Open):
    sim = generations
    first = open_stream()
    take(first, sim.clock, 4)
    token = first.token
    sim.clock.advance(hours=10)  # S0 is trimmed by now, and S1 nearly
    held_now = {shard: held(sim, shard) for shard in ("S0", "S1", "S2", "S3", "T0")}
    stream = open_stream(token, on_gap="skip")
    came = drain(stream, sim.clock)
    wanted = {identity for records in held_now.values() for identity in identities(records)}
    assert set(identities(came)) >= wanted
    assert stream.stats.gaps >= 1
    for shard in ("S1", "S2", "S3"):
        mine = [record.sequence_number for record in came if record.shard_id == shard]
        assert mine == sorted(mine, key=int)


def test_a_child_whose_first_records_were_trimmed_before_it_was_read_is_a_gap(sim: Simulator, open_stream: Open):
    """Its parent's end was seen by a reader a few hours behind: the child's records are older than that."""
    sim.shape("S1")
    write(sim, "S1")
    sim.roll("S1", "S2")
    write(sim, "S2")
    sim.clock.advance(hours=20)
    write(sim, "S2")
    sim.fault("GetRecords", "S2", kind="500", times=None)
    stream = open_stream(patience=10**6)
    assert len(drain(stream, sim.clock)) == 3
    token = stream.token
    sim.heal()
    sim.clock.advance(hours=5)
    stream = open_stream(token)
    came, gap = until_raises(RecordsExpired, stream, sim.clock)
    assert (came, gap.shard_id) == ([], "S2")
    stream.skip()
    assert identities(drain(stream, sim.clock)) == identities(sim.history[-3:])


def test_a_child_that_cannot_be_older_than_what_its_quiet_parent_gave_last_is_none(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    write(sim, "S1")
    stream = open_stream()
    assert len(drain(stream, sim.clock)) == 3
    for _ in range(30):
        sim.clock.advance(hours=1)
        drain(stream, sim.clock)
    sim.roll("S1", "S2")
    write(sim, "S2")
    assert len(drain(stream, sim.clock)) == 3
    sim.roll("S2", "S3")
    for _ in range(40):  # once an hour
        stream = open_stream(stream.token)
        sim.clock.advance(hours=1)
        drain(stream, sim.clock)
    assert stream.stats.gaps == 0


@pytest.fixture
def long_held(sim: Simulator) -> Simulator:
    """The service removes what is older than a day when it likes: its oldest shards hold more."""
    sim.knobs.retention = 30 * 3600
    sim.shape("S1")
    write(sim, "S1")
    sim.roll("S1", "S2")
    write(sim, "S2")
    sim.clock.advance(hours=25)
    return sim


def test_what_is_held_beyond_retention_is_no_gap(long_held: Simulator, open_stream: Open):
    assert identities(drain(open_stream(), long_held.clock)) == identities(long_held.history)


def test_nor_where_the_reader_is_killed_before_it_comes_to_the_child(long_held: Simulator, open_stream: Open):
    long_held.fault("GetRecords", "S2", kind="500", times=None)
    first = open_stream(patience=10**6)
    came = drain(first, long_held.clock)
    long_held.heal()
    assert identities(came + drain(open_stream(first.token), long_held.clock)) == identities(long_held.history)


def test_nor_below_a_shard_without_records_read_from_a_time_long_ago(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    sim.roll("S1", "S2")
    write(sim, "S2")
    long_ago = datetime.fromtimestamp(sim.clock.now(), UTC) - timedelta(days=3)
    assert identities(drain(open_stream(long_ago), sim.clock)) == identities(sim.history)
