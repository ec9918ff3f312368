"""Tokens as they are saved: small however many lanes there are, and whatever is wrong with one is told by its place."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.errors import InvalidToken
from streamiter.token import VERSION, Token, TokenLane, load_token
from tests.worlds import DAY, NOW, SECOND, STREAM

TOKEN: dict[str, Any] = {
    "streamiter": 2,
    "stream": STREAM,
    "start": NOW,
    "clock": 42,
    "prefix": "shardId-",
    "times": [NOW, 1000],
    "high": [0, 0],
    "lanes": [
        ["12", [1, 2], [2], "100000000017", 0],
        ["13", [1, 2], [2], None, [0], -5000, -4000],
    ],
    "finished": [["9", 0, ["7"], 1000, 0, {"childless": True}]],
    "retention": 7 * DAY,
}


def changed(*path: str | int, to: object, of: dict[str, Any] = TOKEN) -> dict[str, Any]:
    token = copy.deepcopy(of)
    inner: Any = token
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return token


def refused(token: object) -> InvalidToken:
    with pytest.raises(InvalidToken) as caught:
        load_token(token)
    return caught.value


# -- what it says


def test_it_says_what_lanes_there_are():
    twelve, thirteen, nine = load_token(TOKEN).lanes
    assert twelve == TokenLane("shardId-12", ("shardId-9",), 1, "shardId-9", ("100000000017", 0), NOW)
    assert thirteen == TokenLane(
        "shardId-13",
        ("shardId-9",),
        1,
        "shardId-9",
        floor=NOW,
        unresolved=True,
        time=NOW - 5 * SECOND,
        opened=NOW - 4 * SECOND,
    )
    assert nine == TokenLane("shardId-9", ("shardId-7",), 0, floor=NOW, ended=NOW + SECOND, childless=True)


def test_the_rank_and_the_place_of_the_greatest_key_are_those_of_its_lane():
    assert load_token(TOKEN).high == (NOW, "shardId-9", 1, "shardId-12", "100000000017", 0)
    other = changed("high", to=[5, "8", ["17", 2], [3, "9"]])
    assert load_token(other).high == (NOW + 5000, "shardId-9", 3, "shardId-8", "17", 2)


def test_what_is_not_set_takes_no_room():
    token = Token(VERSION, STREAM, lanes=(TokenLane("S1", depth=0),))
    assert token.to_dict() == {"streamiter": 2, "stream": STREAM, "lanes": [["S1", 0, []]]}
    assert load_token(token.to_dict()) == token


names = st.sampled_from(["S1", "S2", "S12", "shardId-000000000000", "shardId-00000001700000000000-aaaaaaaa", "é"])
moments = st.sampled_from([NOW, NOW - 1, NOW + 17_000, NOW - 3 * SECOND, 0, 253_402_300_799_000_000])
places = st.tuples(st.sampled_from(["0", "007", "1" * 56, "9" * 99]), st.integers(0, 3))
maybe_moments = st.none() | moments


@st.composite
def tokens(draw: st.DrawFn) -> Token:
    lanes = []
    for shard in sorted(draw(st.lists(names, unique=True))):
        greatest, depth = draw(st.none() | names), draw(st.none() | st.integers(0, 3000))
        lanes.append(
            TokenLane(
                shard,
                tuple(name for name in draw(st.lists(names, unique=True, max_size=2)) if name != shard),
                depth,
                None if depth is None or greatest == shard else greatest,
                draw(st.none() | places),
                draw(maybe_moments),
                draw(st.booleans()),
                draw(maybe_moments),
                draw(maybe_moments),
                draw(st.none() | st.just("17")),
                draw(st.booleans()),
                draw(maybe_moments),
                draw(st.booleans()),
                draw(st.booleans()),
            )
        )
    high = draw(st.none() | st.tuples(moments, names, st.integers(0, 9), names, st.just("17"), st.integers(0, 2)))
    start, clock, retention = draw(maybe_moments), draw(st.integers(0, 9)), draw(st.none() | st.just(7 * DAY))
    return Token(VERSION, STREAM, start, tuple(lanes), clock, high, retention, draw(st.booleans()), draw(st.booleans()))


@given(tokens())
def test_any_token_goes_through_json_and_back(token: Token):
    told = token.to_dict()
    assert load_token(json.loads(json.dumps(told))) == token
    assert json.dumps(load_token(told).to_dict()) == json.dumps(told), "the same token is the same text"


# -- how large it is

STREAM_ID = "shardId-{:020d}-{:08x}"


def dynamodb_token(lanes: int, *, digits: int = 40) -> Token:
    """A reading of a table: so many open shards, all idle since a while, and of each the finished parent."""
    dice = random.Random(lanes)

    def shard(hours: float) -> str:
        made_ms = NOW // 1000 - round(dice.random() * hours * 3_600_000)
        return STREAM_ID.format(made_ms, dice.getrandbits(32))

    def seconds_ago(most: int) -> int:
        return NOW - dice.randrange(most) * SECOND

    rows = []
    for _ in range(lanes):
        grandparent, parent, child = shard(24), shard(8), shard(4)
        place = str(dice.randrange(10 ** (digits - 1), 10**digits)), 0
        rows.append(TokenLane(child, (parent,), 2190, None, place, seconds_ago(86400), time=seconds_ago(900)))
        ended_us = seconds_ago(14400)
        rows.append(TokenLane(parent, (grandparent,), 2189, floor=seconds_ago(86400), ended=ended_us))
    return _of(rows)


def kinesis_token(lanes: int) -> Token:
    """A reading of a stream that was merged down: of each open shard both parents, times to the millisecond."""
    dice = random.Random(lanes)
    rows = []
    for index in range(lanes):
        first, second, child = (f"shardId-{index * 3 + kind:012d}" for kind in range(3))
        for parent in (first, second):
            ended_us = NOW - dice.randrange(86_400_000) * 1000
            rows.append(TokenLane(parent, (), 0, floor=NOW - dice.randrange(86_400_000) * 1000, ended=ended_us))
        place = "4967" + str(dice.randrange(10**51, 10**52)), 0
        floor_us = NOW - dice.randrange(86_400_000) * 1000
        rows.append(
            TokenLane(child, (first, second), 1, None, place, floor_us, time=NOW - dice.randrange(900) * SECOND)
        )
    return _of(rows)


def _of(rows: list[TokenLane]) -> Token:
    newest = max((row for row in rows if row.place is not None), key=lambda row: row.floor or 0)
    assert newest.place is not None and newest.floor is not None and newest.depth is not None
    high = (newest.floor, newest.shard, newest.depth, newest.shard, *newest.place)
    lanes = tuple(sorted(rows, key=lambda row: row.shard))
    return Token(VERSION, STREAM, lanes=lanes, clock=10**9, high=high)


OF_ITSELF = 150  # what a token has but for its lanes and the stream's name


@pytest.mark.parametrize("lanes", [1, 10, 200, 1000, 5000])
@pytest.mark.parametrize("make", [dynamodb_token, kinesis_token])
def test_a_lane_takes_200_bytes_at_most_with_its_finished_parents(make: Any, lanes: int):
    token = make(lanes)
    text = json.dumps(token.to_dict())
    assert load_token(json.loads(text)) == token
    assert len(text.encode()) <= len(STREAM) + OF_ITSELF + 200 * lanes


@pytest.mark.parametrize("make", [dynamodb_token, kinesis_token])
def test_from_ten_lanes_on_that_holds_for_all_of_the_token(make: Any):
    for lanes in (20, 200, 2000):
        assert len(json.dumps(make(lanes).to_dict())) <= 200 * lanes, f"{lanes} lanes"


# -- what may be wrong with it


@pytest.mark.parametrize(
    "path, value, where",
    [
        (("stream",), "a\ud800", "$.stream"),
        (("prefix",), 7, "$.prefix"),
        (("prefix",), "S 1", "$.lanes[0][0]"),
        (("prefix",), "\udc00", "$.lanes[0][0]"),
        (("times",), [NOW], "$.times"),
        (("times", 0), 10**40, "$.times[0]"),
        (("times", 1), 0, "$.times[1]"),
        (("times", 1), 60, "$.times[1]"),
        (("high",), [0], "$.high"),
        (("high",), [0, 1], "$.high[2]"),
        (("high",), [0, "8", "17"], "$.high[3]"),
        (("high", 0), 10**30, "$.high[0]"),
        (("high", 1), 3, "$.high[1]"),
        (("high",), [0, 0, "17", [1, 9]], "$.high[3]"),
        (("lanes",), {}, "$.lanes"),
        (("lanes", 0), ["12"], "$.lanes[0]"),
        (("lanes", 0), {"shard": "12"}, "$.lanes[0]"),
        (("lanes", 0, 0), " ", "$.lanes[0][0]"),
        (("lanes", 0, 0), "\ud800", "$.lanes[0][0]"),
        (("lanes", 0, 0), "13", "$.lanes[1][0]"),
        (("lanes", 0, 1), -1, "$.lanes[0][1]"),
        (("lanes", 0, 1), [1, 3], "$.lanes[0][1]"),
        (("lanes", 0, 1), [1, "\n"], "$.lanes[0][1][1]"),
        (("lanes", 0, 1), "1", "$.lanes[0][1]"),
        (("lanes", 0, 2), [0], "$.lanes[0][2]"),
        (("lanes", 0, 2), [-1], "$.lanes[0][2]"),
        (("lanes", 0, 2), [1.5], "$.lanes[0][2][0]"),
        (("lanes", 0, 3), 17, "$.lanes[0][3]"),
        (("lanes", 0, 3), "", "$.lanes[0][3][0]"),
        (("lanes", 0, 3), "9" * 100, "$.lanes[0][3][0]"),
        (("lanes", 0, 3), ["17", -1], "$.lanes[0][3][1]"),
        (("lanes", 0, 4), 10**30, "$.lanes[0][4]"),
        (("lanes", 0, 4), [1, 2], "$.lanes[0][4]"),
        (("lanes", 1, 5), 10**30, "$.lanes[1][5]"),
        (("lanes", 1, 6), -(10**30), "$.lanes[1][6]"),
        (("lanes", 1), ["13", 0, [], None, None, None, None, {"place": "7"}], "$.lanes[1][-1].place"),
        (("lanes", 1), ["13", 0, [], None, None, None, None, {"at": "x"}], "$.lanes[1][-1].at"),
        (("lanes", 1), ["13", 0, [], None, None, None, None, {"at": 5}], "$.lanes[1][7].at"),
        (("lanes", 1), ["13", 0, [], None, None, None, None, {}, 1], "$.lanes[1]"),
        (("finished", 0, 3), None, "$.finished[0][3]"),
        (("finished", 0, 3), 10**30, "$.finished[0][3]"),
        (("finished", 0, 4), 10**30, "$.finished[0][4]"),
        (("finished", 0, 5), {"time": 10**30}, "$.finished[0][-1].time"),
        (("finished", 0, 5), {"childless": 1}, "$.finished[0][5].childless"),
        (("retention",), 0, "$.retention"),
        (("clock",), 10**18, "$.clock"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(path: tuple[str | int, ...], value: object, where: str):
    error = refused(changed(*path, to=value))
    assert error.where == where and where in str(error)
    assert "Expected" not in str(error) and "`array`" not in str(error), "these are msgspec's words"


def test_nothing_of_it_is_quoted_at_length():
    long = "x" * 10_000
    for token in (
        changed(long, to=1),
        changed("lanes", 0, 5, to={long: 1}, of=changed("lanes", 0, to=["12", 1, [2], None, 0, {}])),
        {"stream_arn": STREAM, "active": ["S"], "shards": [{"shard_id": "S", "iterator_type": long}]},
        changed("streamiter", to=10**5000),
        changed("streamiter", to=long),
    ):
        error = refused(token)
        assert "x" * 200 not in str(error) and "0" * 200 not in str(error) and len(str(error)) < 500


def test_what_a_terminal_would_obey_is_not_quoted():
    assert "\x1b" not in str(refused(changed("\x1b[31m", to=1)))


@pytest.mark.parametrize("name", ["\ud800", "x\udfff"])
def test_half_of_a_surrogate_pair_is_refused_wherever_it_stands(name: str):
    for path in (("stream",), ("lanes", 0, 0), ("lanes", 0, 2), ("finished", 0, 2), ("prefix",)):
        refused(changed(*path, to=[name] if path[-1] == 2 else name))
    refused(changed(name, to=1))
    refused({"streamiter": 1, "stream": STREAM, "lanes": [{"shard": name}]})
    refused({"streamiter": 1, "stream": name})
    refused({"stream_arn": name, "active": [], "shards": []})
