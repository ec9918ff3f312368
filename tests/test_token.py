"""Tokens: versioned, and clear about what is wrong with them; here those of version 1 and Bloop's, which load as ever."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.errors import InvalidPosition, InvalidToken
from streamiter.position import After, AtNumber, AtTime, Horizon
from streamiter.shard import Rank, Shard
from streamiter.token import VERSION, Token, TokenLane, high_key, load_token
from tests.reading.hand import Hand
from tests.worlds import NOW, SECOND, STREAM

TOKEN: dict[str, Any] = {
    "streamiter": 1,
    "stream": STREAM,
    "start": NOW,
    "clock": 42,
    "high": [NOW, "S9", 1, "S12", "100000000017", 0],
    "lanes": [
        {"shard": "S12", "parents": ["S9"], "depth": 1, "greatest": "S9", "place": ["100000000017", 0], "floor": NOW},
        {"shard": "S13", "parents": ["S9"], "depth": 1, "greatest": "S9", "floor": NOW, "opened": NOW, "time": NOW},
        {"shard": "S9", "depth": 0, "floor": NOW, "ended": NOW, "childless": True},
    ],
}
BLOOP: dict[str, Any] = {
    "stream_arn": STREAM,
    "active": ["S2", "S3", "S4", "S5"],
    "shards": [
        {"shard_id": "S1"},
        {"shard_id": "S2", "parent": "S1", "iterator_type": "after_sequence", "sequence_number": "17"},
        {"shard_id": "S3", "parent": "S1", "iterator_type": "at_sequence", "sequence_number": "18"},
        {"shard_id": "S4", "iterator_type": "trim_horizon"},
        {"shard_id": "S5", "iterator_type": "latest"},
        {"shard_id": "S6", "parent": "S4"},
    ],
}


def refused(token: object) -> InvalidToken:
    with pytest.raises(InvalidToken) as caught:
        load_token(token)
    return caught.value


def changed(*path: str | int, to: object, of: dict[str, Any] = TOKEN) -> dict[str, Any]:
    token = copy.deepcopy(of)
    inner: Any = token
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return token


# -- our own


def test_a_token_goes_through_json_and_back():
    token = load_token(json.loads(json.dumps(TOKEN)))
    assert json.loads(json.dumps(token.to_dict())) == token.to_dict()
    assert load_token(json.loads(json.dumps(token.to_dict()))) == token


def test_any_mapping_will_do():
    assert load_token(MappingProxyType(TOKEN)) == load_token(TOKEN)


def test_what_is_not_set_takes_no_room():
    assert Token(VERSION, STREAM).to_dict() == {"streamiter": 2, "stream": STREAM}


def test_a_lane_goes_on_after_its_place_else_at_its_time_else_at_its_horizon():
    first, second, third = load_token(TOKEN).lanes
    assert isinstance(first.position, After) and first.position.place[:2] == (100000000017, 0)
    assert second.position == AtTime(NOW, NOW)
    assert TokenLane("S1", opened=NOW).position == Horizon(NOW)
    assert first.rank == Rank("S9", 1, "S12") and third.rank == Rank("S9", 0, "S9") and TokenLane("S1").rank is None


def test_the_greatest_key_is_compared_as_the_merge_compares_it():
    high = high_key(load_token(TOKEN))
    assert high is not None and (high[0], high[1], high[2][:2]) == (NOW, Rank("S9", 1, "S12"), (100000000017, 0))
    assert high_key(Token(VERSION, STREAM)) is None


def test_leading_zeros_are_kept():
    token = load_token(changed("lanes", 0, "place", to=["000017", 2]))
    position = token.lanes[0].position
    assert isinstance(position, After) and position.place.text == "000017" and position.place[:2] == (17, 2)


def test_a_token_from_the_future_says_so():
    error = refused(changed("streamiter", to=3))
    assert error.where == "$.streamiter" and "newer streamiter (version 3, this one reads up to 2)" in str(error)
    assert "upgrade" in str(error)


@pytest.mark.parametrize("version", [0, -1, "1", True, None, 1.5, [1]])
def test_a_version_is_a_number_from_1_up(version: object):
    assert refused(changed("streamiter", to=version)).where == "$.streamiter"


@pytest.mark.parametrize("token", ["{}", b"{}", [TOKEN], None, 7, Token(VERSION, STREAM)])
def test_what_is_no_dict_is_no_token(token: object):
    error = refused(token)
    assert type(token).__name__ in str(error) and "json.loads" in str(error) and isinstance(error, InvalidPosition)


@pytest.mark.parametrize("token", [{}, {"stream": STREAM}, {"version": 1}])
def test_a_dict_of_neither_kind_is_no_token(token: object):
    assert "'streamiter'" in str(refused(token)) and "'stream_arn'" in str(refused(token))


@pytest.mark.parametrize(
    "path, value, where",
    [
        (("stream",), 7, "$.stream"),
        (("start",), "yesterday", "$.start"),
        (("clock",), "42", "$.clock"),
        (("clock",), -1, "$.clock"),
        (("fresh",), 1, "$.fresh"),
        (("lanes",), {}, "$.lanes"),
        (("lanes",), [[]], "$.lanes[0]"),
        (("lanes", 0, "shard"), 7, "$.lanes[0].shard"),
        (("lanes", 0, "shard"), "", "$.lanes[0].shard"),
        (("lanes", 1, "shard"), "S 13", "$.lanes[1].shard"),
        (("lanes", 1, "shard"), "S12", "$.lanes[1].shard"),
        (("lanes", 0, "parents"), "S9", "$.lanes[0].parents"),
        (("lanes", 0, "parents"), ["S12"], "$.lanes[0].parents"),
        (("lanes", 0, "parents"), ["S\n9"], "$.lanes[0].parents"),
        (("lanes", 0, "depth"), -1, "$.lanes[0].depth"),
        (("lanes", 0, "depth"), "1", "$.lanes[0].depth"),
        (("lanes", 0, "greatest"), 9, "$.lanes[0].greatest"),
        (("lanes", 0, "greatest"), "", "$.lanes[0].greatest"),
        (("lanes", 0, "place"), "17", "$.lanes[0].place"),
        (("lanes", 0, "place"), ["17"], "$.lanes[0].place"),
        (("lanes", 0, "place"), [17, 0], "$.lanes[0].place[0]"),
        (("lanes", 0, "place"), ["", 0], "$.lanes[0].place[0]"),
        (("lanes", 0, "place"), ["-17", 0], "$.lanes[0].place[0]"),
        (("lanes", 0, "place"), ["1.7", 0], "$.lanes[0].place[0]"),
        (("lanes", 0, "place"), ["\u0661\u0667", 0], "$.lanes[0].place[0]"),
        (("lanes", 0, "place"), ["9" * 5000, 0], "$.lanes[0].place[0]"),
        (("lanes", 0, "place"), ["17", -1], "$.lanes[0].place[1]"),
        (("lanes", 0, "place"), ["17", 0.5], "$.lanes[0].place[1]"),
        (("lanes", 0, "floor"), "now", "$.lanes[0].floor"),
        (("lanes", 0, "floor"), True, "$.lanes[0].floor"),
        (("lanes", 0, "at"), "x", "$.lanes[0].at"),
        (("lanes", 1, "opened"), "now", "$.lanes[1].opened"),
        (("lanes", 1, "time"), 1.5, "$.lanes[1].time"),
        (("lanes", 2, "ended"), False, "$.lanes[2].ended"),
        (("lanes", 2, "childless"), "yes", "$.lanes[2].childless"),
        (("high",), [NOW], "$.high"),
        (("high", 0), "now", "$.high[0]"),
        (("high", 1), "", "$.high[1]"),
        (("high", 2), -1, "$.high[2]"),
        (("high", 3), "S 12", "$.high[3]"),
        (("high", 4), "x", "$.high[4]"),
        (("high", 5), -1, "$.high[5]"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(path: tuple[str | int, ...], value: object, where: str):
    error = refused(changed(*path, to=value))
    assert error.where == where and where in str(error)


@pytest.mark.parametrize("path", [("streem",), ("lanes", 0, "iterator")])
def test_a_field_nobody_knows_is_named(path: tuple[str | int, ...]):
    assert str(path[-1]) in str(refused(changed(*path, to=1)))


def test_a_missing_field_is_named():
    assert "`stream`" in str(refused({"streamiter": 1}))
    assert "`shard`" in str(refused({"streamiter": 1, "stream": STREAM, "lanes": [{}]}))


@pytest.mark.parametrize(
    "path, value, says",
    [
        (("stream",), 7, "a text belongs there, not a whole number (at $.stream)"),
        (("start",), 1.5, "a whole number or nothing belongs there, not a number with a fraction (at $.start)"),
        (("fresh",), None, "true or false belongs there, not nothing (at $.fresh)"),
        (("lanes",), {}, "an array belongs there, not an object (at $.lanes)"),
        (("lanes", 0), 7, "an object belongs there, not a whole number (at $.lanes[0])"),
        (("lanes", 0, "place"), ["17"], "an array of 2 belongs there, this one has 1 (at $.lanes[0].place)"),
        (("lanes", 0, "iterator"), 1, "no token has a `iterator` there (at $.lanes[0])"),
        (("lanes", 0), {}, "`shard` is missing (at $.lanes[0])"),
        (("lanes", 0), {"shard": "S", 7: 7}, "a text belongs there (at $.lanes[0])"),
    ],
)
def test_an_error_is_in_our_words_and_says_what_to_do(path: tuple[str | int, ...], value: object, says: str):
    assert str(refused(changed(*path, to=value))) == (
        f"this token cannot be used: {says}; it is not as it was saved: take a copy that is whole, or start anew at "
        "'trim_horizon', 'latest' or a time"
    )


@pytest.mark.parametrize("path", [("start",), ("high", 0), ("lanes", 0, "floor"), ("lanes", 1, "opened")])
@pytest.mark.parametrize("time_us", [10**40, -(10**40), 253_402_300_800_000_000])
def test_a_time_that_no_calendar_has_is_refused(path: tuple[str | int, ...], time_us: int):
    assert "a time counts microseconds" in str(refused(changed(*path, to=time_us)))


def test_an_error_quotes_nothing_of_the_token():
    assert "secret" not in str(refused(changed("lanes", 0, "place", to=["secret", 0])))


def leaves(value: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from leaves(inner, *path, step)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([10**40, 0.5, "", "17", "S9", "S 9", NOW, "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["shard", "x"]), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from([TOKEN, BLOOP]), st.data())
def test_a_damaged_token_is_refused_or_can_be_read(whole: dict[str, Any], data: st.DataObject):
    path = data.draw(st.sampled_from(sorted(leaves(whole), key=str)))
    damaged = changed(*path, to=data.draw(values), of=whole)
    try:
        token = load_token(damaged)
    except InvalidToken as error:
        assert error.where.startswith("$")
        return
    reading = Hand(token)
    rows = [Shard("S1"), Shard("S2", ("S1",)), Shard("S9"), Shard("S12", ("S9",)), Shard("S13", ("S9",)), Shard("S4")]
    for now_us in (0, 1, SECOND):
        reading.tell(rows, NOW, now_us)
    for shard_id in reading.due(SECOND):
        reading.opening(shard_id)
    assert load_token(json.loads(json.dumps(reading.token().to_dict()))) == reading.token()


# -- Bloop's


def test_a_token_of_bloops_names_the_shards_that_it_was_reading():
    token = load_token(BLOOP)
    assert token.stream == STREAM and token.closed_are_read and not token.fresh
    second, third, fourth, fifth = token.lanes
    assert isinstance(second.position, After) and second.position.place[:2] == (17, 0) and second.parents == ("S1",)
    assert third.position == AtNumber("18")
    assert fourth.position == Horizon() and not fourth.latest
    assert fifth.latest


@pytest.mark.parametrize(
    "path, value, where",
    [
        (("active",), ["S7"], "$.active[0]"),
        (("active",), None, "$.active"),
        (("active",), [7], "$.active[0]"),
        (("shards",), {}, "$.shards"),
        (("shards", 1, "shard_id"), 2, "$.shards[1].shard_id"),
        (("shards", 1, "parent"), "S2", "$.shards[1]"),
        (("shards", 1, "parent"), "S 1", "$.shards[1]"),
        (("shards", 1, "iterator_type"), "at_time", "$.shards[1].iterator_type"),
        (("shards", 1, "sequence_number"), None, "$.shards[1].sequence_number"),
        (("shards", 1, "sequence_number"), "x", "$.shards[1].sequence_number"),
        (("stream_arn",), None, "$.stream_arn"),
    ],
)
def test_a_damaged_token_of_bloops_says_where(path: tuple[str | int, ...], value: object, where: str):
    assert refused(changed(*path, to=value, of=BLOOP)).where == where


def test_a_token_of_bloops_without_shards_reads_what_is_open():
    token = load_token({"stream_arn": STREAM, "active": [], "shards": []})
    reading = Hand(token)
    for now_us in (0, 1, SECOND):
        reading.tell([Shard("S1", closed=True), Shard("S2")], NOW, now_us)
    assert reading.due(SECOND) == ["S2"]
