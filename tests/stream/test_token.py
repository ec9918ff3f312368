"""`stream.token`: a small JSON-friendly dict, after the last record returned (law 8)."""

from __future__ import annotations

import json

import pytest

from streamiter import InvalidToken
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_came, drain, identities, in_order, take, until_raises, write


@pytest.fixture
def written(sim: Simulator) -> Simulator:
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0", rounds=2)
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "T0", "S2", rounds=2)
    return sim


def test_a_token_goes_through_json_and_back(written: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, written.clock, 5)
    token = json.loads(json.dumps(stream.token))
    assert token == stream.token
    assert open_stream(token).token == token


def test_a_token_after_each_record_gives_the_rest(written: Simulator, open_stream: Open):
    wanted = in_order(written)
    for came in range(len(wanted) + 1):
        first = open_stream()
        take(first, written.clock, came)
        assert_came(drain(open_stream(first.token), written.clock), wanted[came:], clock=came)


def test_a_token_is_after_what_was_returned_not_after_what_was_fetched(written: Simulator, open_stream: Open):
    stream = open_stream()
    came = take(stream, written.clock, 3)
    assert stream.stats.waiting > 0
    rest = drain(open_stream(stream.token), written.clock)
    assert identities(came + rest) == identities(in_order(written))


def test_nothing_but_returned_records_changes_a_token_at_work(written: Simulator, open_stream: Open):
    written.knobs.page_size = 1
    stream = open_stream()
    came = 0
    for _ in range(300):
        before = stream.token.get("clock", 0)
        record = next(stream)
        after = stream.token.get("clock", 0)
        assert after == before + (record is not None)
        came += record is not None
        if record is None:
            written.clock.advance(0.25)
    assert came == len(written.history)


def test_a_token_holds_no_iterator_credentials_or_content(written: Simulator, open_stream: Open):
    written.put("T0", key={"id": "secret-key"}, new={"id": "secret-key", "v": "secret-image"})
    stream = open_stream()
    drain(stream, written.clock)
    text = json.dumps(stream.token)
    assert "secret" not in text
    assert "simulator" not in text  # the access key, and the host
    assert "|" not in text  # iterators hold one


def test_a_token_is_bounded_by_open_lanes(sim: Simulator, open_stream: Open):
    sim.shape("S0")
    stream = open_stream()
    sizes = []
    for _ in range(12):
        write(sim, *sim.open_shards, rounds=2)
        sim.roll()
        drain(stream, sim.clock, quiet=40)
        sizes.append(len(json.dumps(stream.token)))
    assert max(sizes[4:]) <= sizes[3] + 150


def test_the_clock_goes_on_in_tokens(written: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, written.clock, 5)
    resumed = open_stream(stream.token)
    assert [record.clock for record in take(resumed, written.clock, 2)] == [6, 7]


def test_a_token_of_a_new_stream_is_its_start(written: Simulator, open_stream: Open):
    token = open_stream().token
    assert_came(drain(open_stream(token), written.clock), in_order(written))


def test_a_token_resumed_at_once_and_taken_again_loses_nothing(written: Simulator, open_stream: Open):
    came, token = [], open_stream().token
    for _ in range(len(written.history)):
        stream = open_stream(token)
        came += take(stream, written.clock, 1)
        token = stream.token
        stream.close()
    assert_came(came, in_order(written))


def test_the_callers_own_changes_to_a_token_do_not_reach_the_stream(written: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, written.clock, 5)
    kept = json.dumps(stream.token)
    stream.token["lanes"].clear()
    stream.token["clock"] = 99
    assert json.dumps(stream.token) == kept


def test_a_token_survives_a_fault(written: Simulator, open_stream: Open):
    written.knobs.page_size = 2
    stream = open_stream(patience=3)
    take(stream, written.clock, 2)
    written.fault("GetRecords", kind="500", times=None)
    before, _ = until_raises(Exception, stream, written.clock)
    token = stream.token
    written.heal()
    came = 2 + len(before)
    assert_came(drain(open_stream(token), written.clock), in_order(written)[came:], clock=came)


# -- tokens that cannot be used


@pytest.mark.parametrize(
    "broken, says",
    [
        ({}, "neither 'streamiter'.*nor 'stream_arn'"),
        ({"streamiter": 99, "stream": "x"}, "newer streamiter.*upgrade"),
        ({"streamiter": "1", "stream": "x"}, "version is not a number"),
        ({"streamiter": 1}, "stream"),
        ({"streamiter": 1, "stream": "x", "lanes": 7}, r"array.*\$\.lanes"),
        ({"streamiter": 1, "stream": "x", "lanes": [{"shard": "a b"}]}, r"\$\.lanes\[0\]\.shard"),
        ({"streamiter": 1, "stream": "x", "lanes": [{"shard": "a"}, {"shard": "a"}]}, "two lanes.*same shard"),
        ({"streamiter": 1, "stream": "x", "lanes": [{"shard": "a", "place": ["x", 0]}]}, "digits"),
        ({"streamiter": 1, "stream": "x", "surprise": 1}, "surprise"),
    ],
)
def test_a_damaged_token_says_what_is_wrong_and_where(written: Simulator, open_stream: Open, broken, says):
    with pytest.raises(InvalidToken, match=f"(?s)cannot be used.*{says}"):
        open_stream(broken)
    stream = open_stream()
    before = stream.token
    with pytest.raises(InvalidToken, match=f"(?s)cannot be used.*{says}"):
        stream.move_to(broken)
    assert stream.token == before


def test_a_token_that_is_still_text_is_read(written: Simulator, open_stream: Open):
    text = json.dumps(open_stream().token)
    assert open_stream(text).token == json.loads(text)
    with pytest.raises(InvalidToken, match=r"looks like a token, but is no JSON.*json.dumps\(stream.token\)"):
        open_stream(text[:-1])


def test_a_token_of_another_stream_is_refused(written: Simulator, open_stream: Open):
    other = written.create_table("orders", "S1")
    token = open_stream(table=other).token
    with pytest.raises(InvalidToken, match=r"another stream.*table/orders/.*table/users/"):
        open_stream(token)


# -- Bloop's own tokens


def bloop(sim: Simulator, *shards: dict, active: list[str]) -> dict:
    return {"stream_arn": sim.stream_arn, "active": active, "shards": list(shards)}


def test_bloops_token_after_a_record_loads(written: Simulator, open_stream: Open):
    seen = [record for record in written.history if record.shard_id == "S1"][1]
    token = bloop(
        written,
        {"shard_id": "S0"},
        {"shard_id": "S1", "parent": "S0", "iterator_type": "after_sequence", "sequence_number": seen.sequence_number},
        {"shard_id": "S2", "parent": "S0", "iterator_type": "trim_horizon"},
        active=["S1", "S2"],
    )
    records = drain(open_stream(json.loads(json.dumps(token))), written.clock)
    came = identities(records)
    assert came == sorted(came, key=came.index)
    assert [n for s, n in came if s == "S1"] == [
        record.sequence_number for record in written.history if record.shard_id == "S1" and record.number > seen.number
    ]
    assert [n for s, n in came if s == "S2"] == [r.sequence_number for r in written.history if r.shard_id == "S2"]
    assert not [n for s, n in came if s == "S0"]


def test_bloops_token_at_a_record_gives_that_record_again(written: Simulator, open_stream: Open):
    seen = [record for record in written.history if record.shard_id == "T0"][2]
    token = bloop(
        written,
        {"shard_id": "T0", "iterator_type": "at_sequence", "sequence_number": seen.sequence_number},
        active=["T0"],
    )
    came = [record for record in drain(open_stream(token), written.clock) if record.shard_id == "T0"]
    assert came[0].sequence_number == seen.sequence_number


def test_bloops_token_at_latest_gives_what_comes_from_now_on(written: Simulator, open_stream: Open):
    token = bloop(
        written,
        {"shard_id": "S1", "parent": "S0", "iterator_type": "latest"},
        {"shard_id": "S2", "parent": "S0", "iterator_type": "latest"},
        {"shard_id": "T0", "iterator_type": "latest"},
        active=["S1", "S2", "T0"],
    )
    written.clock.advance(minutes=5)
    stream = open_stream(token)
    drain(stream, written.clock, quiet=20)
    before = len(written.history)
    write(written, "S1", "T0")
    assert identities(drain(stream, written.clock)) == identities(in_order(written, written.history[before:]))


def test_a_damaged_bloop_token_says_where(written: Simulator, open_stream: Open):
    with pytest.raises(InvalidToken, match=r"active shard is missing.*\$\.active\[0\]"):
        open_stream(bloop(written, active=["S1"]))


def test_bloops_token_of_another_stream_is_refused(written: Simulator, open_stream: Open):
    token = bloop(written, {"shard_id": "S1"}, active=["S1"]) | {"stream_arn": "arn:aws:dynamodb:x:1:table/t/stream/1"}
    with pytest.raises(InvalidToken, match=r"another stream.*\$\.stream_arn"):
        open_stream(token)
