"""Between two tokens: which part of which shard it is."""

from __future__ import annotations

import msgspec

from streamiter.lineage import Lineage
from streamiter.position import After, Horizon, Place
from streamiter.spark.planning.between import doubtful_between, is_backwards, named_by, ranges_between
from streamiter.token import VERSION, Token, TokenLane
from tests.worlds import STREAM


def token(*lanes: TokenLane, fresh: bool = False) -> Token:
    return Token(VERSION, STREAM, lanes=lanes, fresh=fresh)


def lane(shard: str, *parents: str, place: int | None = None, **told) -> TokenLane:
    return TokenLane(shard, parents, depth=0, place=None if place is None else (str(place), 0), **told)


def deep(shard: str, depth: int, *parents: str, place: int | None = None, **told) -> TokenLane:
    return msgspec.structs.replace(lane(shard, *parents, place=place, **told), depth=depth)


def of(start: Token, end: Token, listed: str) -> dict[str, tuple]:
    lineage = named_by(start, end)
    rows = Lineage.parse(listed)
    for shard_id in rows:
        lineage.add(rows[shard_id])
    return {part.shard_id: (part.start, part.end) for part in ranges_between(start, end, lineage)}


def test_a_shard_that_was_passed_meanwhile_is_read_to_its_end_though_nothing_listed_connects_it():
    start, end = token(lane("S0", place=1)), token(lane("S2", "S1", place=7))
    assert of(start, end, "S0 => S1 => S2") == {
        "S0": (After(Place.of("1")), None),
        "S1": (Horizon(), None),
        "S2": (Horizon(), Place.of("7")),
    }
    without = of(start, end, "S0; (S1) => S2")
    assert without == {"S0": (After(Place.of("1")), None), "S2": (Horizon(), Place.of("7"))}


def test_a_shard_below_one_that_turned_up_late_is_unread_at_the_end():
    start, end = token(lane("S1", "S0")), token(lane("S0", place=3))
    assert of(start, end, "S0 => S1") == {"S0": (Horizon(), Place.of("3"))}


def test_a_shard_that_turned_up_late_above_another_is_read_though_it_is_done_at_the_end():
    start, end = token(lane("S1", place=1)), token(lane("S0", ended=9), lane("S1", "S0", place=5))
    assert of(start, end, "S0 => S1") == {"S0": (Horizon(), None), "S1": (After(Place.of("1")), Place.of("5"))}
    before = token(lane("S0", ended=9), lane("S1", "S0", place=1))
    assert of(before, end, "S0 => S1") == {"S1": (After(Place.of("1")), Place.of("5"))}


def test_a_shard_that_was_read_long_before_is_not_read_again_where_a_late_child_makes_the_end_name_it():
    """The depth of the start's lane counts the shard, so it was known, and read, before that lane was opened."""
    start = token(deep("S3", 2, "S1", place=1))
    end = token(deep("S0", 0, ended=9), deep("S2", 1, "S0", place=4), deep("S3", 2, "S1", place=5))
    assert of(start, end, "S0 => {S1, S2}; S1 => S3") == {
        "S2": (Horizon(), Place.of("4")),
        "S3": (After(Place.of("1")), Place.of("5")),
    }
    late = token(deep("S3", 1, "S1", place=1))
    assert of(late, end, "S0 => {S1, S2}; S1 => S3")["S0"] == (Horizon(), None)


def test_where_a_shard_has_two_parents_its_depth_does_not_tell_which_were_known():
    start = token(deep("S3", 1, "S1", "S2", place=1))
    end = token(deep("S2", 0, ended=9), deep("S3", 1, "S1", "S2", place=5), deep("S4", 1, "S2", place=2))
    assert of(start, end, "{S1, S2} => S3; S2 => S4")["S2"] == (Horizon(), None)


def test_a_shard_that_was_unread_is_as_old_as_the_end_of_its_parent():
    """Read again when that is longer ago than records are held, it may have lost some (law 5)."""
    start = token(lane("S0", ended=5_000_000), lane("T0", ended=7_000_000))
    end = token(lane("S1", "S0", "T0", place=7))
    assert of(start, end, "{S0, T0} => S1") == {"S1": (Horizon(7_000_000), Place.of("7"))}


def test_what_may_be_missing_is_in_doubt_and_nothing_else_is():
    start = token(lane("S1", "S0", place=1), lane("T1", "T0", place=1))

    def doubtful(end: Token, *, first: Token = start) -> set[str]:
        return doubtful_between(first, end, named_by(first, end))

    assert doubtful(token(lane("S1", "S0", place=9), lane("T1", "T0", place=2))) == set()
    assert doubtful(token(lane("S2", "S1", place=1), lane("T1", "T0", place=2))) == {"S1"}, "how high its parents went"
    assert doubtful(token(lane("S3", "S2", place=1), lane("T1", "T0", place=2))) == {"S3"}
    unresolved = token(lane("S1", "S0", place=1, unresolved=True))
    assert doubtful(token(lane("S1", "S0", place=2)), first=unresolved) == {"S1"}
    assert doubtful(token(*start.lanes, lane("U0"))) == {"U0"}, "it may be above what was read"
    assert doubtful(token(lane("U0")), first=token(fresh=True)) == set()


def test_tokens_the_wrong_way_round_are_seen():
    """Read as if they were not, they would give nothing without a word, or wait for the end of a shard that is open."""
    steps = [
        token(fresh=True),
        token(lane("S0", place=1), lane("T0")),
        token(lane("S0", place=2), lane("T0", place=1)),
        token(lane("S0", ended=5), lane("S1", "S0"), lane("S2", "S0"), lane("T0", place=1)),
        token(lane("S0", ended=5), lane("S1", "S0", place=7), lane("S2", "S0", place=4), lane("T0", place=3)),
        token(lane("S1", "S0", ended=7), lane("S2", "S0", place=5), lane("T0", place=3)),
        token(lane("S3", "S1", place=9), lane("S2", "S0", ended=9), lane("T0", place=10)),
    ]
    for first, start in enumerate(steps):
        for last, end in enumerate(steps):
            lineage = named_by(start, end)
            rows = Lineage.parse("S0 => {S1, S2}; S1 => S3; T0")
            for shard_id in rows:
                lineage.add(rows[shard_id])
            assert is_backwards(start, end, lineage) == (last < first), (first, last)


def test_a_shard_that_turns_up_above_what_was_read_is_not_the_wrong_way():
    late = token(lane("S0", place=3), lane("S1", "S0", place=2))
    for start in (token(lane("S1", "S0")), token(lane("S1", "S0", place=2))):
        assert not is_backwards(start, late, named_by(start, late))
