"""Where a token stands in each shard: what commands and Spark are told is what a reading that begins there does (law 8)."""

from __future__ import annotations

import pytest

from streamiter.lineage import Lineage
from streamiter.reading.book import IS_READ, Stage
from streamiter.reading.resume import standing
from streamiter.shard import Shard
from streamiter.token import Token
from tests.reading.test_reading import world
from tests.reading.test_resume import go_on
from tests.reading.test_resume_bloop import bloop
from tests.worlds import Drive, World, truths

SPLITS = world(
    "S0 => S1 => {S2, S3}; S9 => S8",
    S0=truths(9),
    S1=truths(8),
    S2=truths(7, 5),
    S3=truths(6, 4),
    S9=truths(9, 3),
    S8=truths(2),
    open=("S2", "S3", "S8"),
)


def agrees(drive: Drive, token: Token) -> dict[str, str]:
    """What is told of each shard, once it is seen to be what the book holds after its first listing."""
    drive.begin()
    drive.deliver(0)
    book = drive.reading.book
    assert book.discovery.is_whole
    told = standing(token, book.lineage)
    for shard_id in book.lineage:
        assert told.is_read(shard_id) == (book.stage(shard_id) in IS_READ), shard_id
        is_named = shard_id in told.lanes or shard_id in told.finished
        assert is_named == any(shard_id == lane.shard for lane in token.lanes)
        if shard_id in told.lanes:
            assert book.stage(shard_id) in (Stage.WAITING, Stage.LANE)
    return {
        shard_id: "lane" if shard_id in told.lanes else "read" if told.is_read(shard_id) else "unread"
        for shard_id in book.lineage
    }


@pytest.mark.parametrize("cut", range(10))
def test_it_is_what_a_reading_that_begins_there_does(cut: int):
    drive = Drive(SPLITS)
    drive.read(cut)
    resumed = go_on(drive)
    told = agrees(resumed, resumed.reading.book.token)
    assert cut == 0 or {"lane", "read"} & set(told.values())


@pytest.mark.parametrize(
    "shards,active,everything,wanted",
    [
        (
            {"S1": "- after_sequence 100"},
            ("S1",),
            world("S1 => S2 => S3", S1=truths(9, 8), S2=truths(7), S3=truths(6), open=("S3",)),
            {"S1": "lane", "S2": "unread", "S3": "unread"},
        ),
        (
            {"S1": "- after_sequence 100"},
            ("S1",),
            world("S1 ~ S2 ~ S4", S1=truths(9, 8), S2=truths(7), S4=truths(5), open=("S4",)),
            {"S1": "lane", "S2": "read", "S4": "unread"},
        ),
    ],
    ids=["below its lanes", "beside its lanes"],
)
def test_so_it_is_for_bloops_where_closed_shards_that_nothing_connects_were_read(
    shards: dict[str, str], active: tuple[str, ...], everything: World, wanted: dict[str, str]
):
    token = bloop(*active, **shards)
    lineage = Lineage(Shard(at.id, at.parents, at.closed_us is not None) for at in everything.shards.values())
    told = standing(token, lineage)
    found = {
        shard_id: "lane" if shard_id in told.lanes else "read" if told.is_read(shard_id) else "unread"
        for shard_id in lineage
    }
    assert found == wanted


def test_what_is_below_the_named_ones_is_told_too():
    token = Token(1, "arn", lanes=bloop("S1", S1="- after_sequence 100").lanes)
    told = standing(token, Lineage.parse("S0 => S1 => {S2, S3}; S9 => S8"))
    assert told.passed == {"S0"} and told.below == {"S2", "S3"}
