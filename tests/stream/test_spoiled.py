"""Rows that cannot be decoded: each is a PoisonRecord that `skip()` goes past; nothing around it is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from streamiter import DynamoDBStreams, KinesisStreams, PoisonRecord, Stream, StreamiterError
from streamiter.errors import UnreadableRecord
from streamiter.testing import Simulator
from tests.indoors import IndoorSimulator
from tests.stream.helpers import drain, take, until_raises
from tests.stream.hostile import Change, replacing, tamper

BAD = b'{"S":"bad"}'


def number_of(change: Callable[[re.Match[bytes]], bytes]) -> Change:
    """Changes the sequence number of the rows that hold BAD."""

    def changed(body: bytes) -> bytes:
        rows = re.split(rb'(?=\{"awsRegion")', body)
        return b"".join(re.sub(rb'"SequenceNumber":"(\d+)"', change, row) if BAD in row else row for row in rows)

    return changed


UNDECODABLE: dict[str, Change] = {
    "NaN": replacing(BAD, b'{"N":NaN}'),
    "bad UTF-8": replacing(BAD, b'{"S":"\xff"}'),
    "an escape that is none": replacing(BAD, b'{"S":"\\x"}'),
    "half of a surrogate pair": replacing(BAD, b'{"S":"\\ud800"}'),
    "10,000 deep": replacing(BAD, b'{"M":{"a":' * 10_000 + b'{"S":"x"}' + b"}}" * 10_000),
    "no number": number_of(lambda found: b'"Number":"1"'),
    "an empty number": number_of(lambda found: b'"SequenceNumber":""'),
    "a word": number_of(lambda found: b'"SequenceNumber":"seventeen"'),
    "5,000 digits": number_of(lambda found: b'"SequenceNumber":"' + b"7" * 5000 + b'"'),
    "digits of another script": number_of(lambda found: '"SequenceNumber":"١٧"'.encode()),
    "a number that is no text": number_of(lambda found: b'"SequenceNumber":17'),
    "a time beyond all": number_of(lambda found: found[0] + b',"ApproximateCreationDateTime":1e400'),
}


@pytest.fixture
def users() -> Iterator[Simulator]:
    with IndoorSimulator("S1 ~ T1") as sim:
        yield sim


def put(sim: Simulator, shard: str, *values: str) -> None:
    for value in values:
        sim.put(shard, key={"id": value}, new={"id": value})


def reading(
    sim: Simulator, change: Change, position: Any = "trim_horizon", *, seals: bool = True, **options: Any
) -> Stream:
    source = DynamoDBStreams(sim.stream_arn, client=tamper(sim.client(), change, seals=seals))
    return Stream(source, position, clock=sim.clock, **options)


def values(records: list[Any]) -> list[str]:
    return [record.key["id"] for record in records]


def read_over(stream: Stream, sim: Simulator) -> tuple[list[str], list[PoisonRecord]]:
    """All that comes out, and the poison that was skipped."""
    came: list[str] = []
    skipped: list[PoisonRecord] = []
    while True:
        records, error = until_raises(PoisonRecord, stream, sim.clock, quiet=30)
        came += values(records)
        if error is None:
            return came, skipped
        skipped.append(error)
        stream.skip()


# A sealed answer is not looked through for bad UTF-8: that is told of when it is read (below).
BOTH_WAYS = [(name, seals) for name in UNDECODABLE for seals in (True, False) if not (seals and name == "bad UTF-8")]


@pytest.mark.parametrize("name, seals", BOTH_WAYS)
def test_a_row_that_cannot_be_decoded_is_poison_and_skip_goes_past_it(users: Simulator, name: str, seals: bool):
    change = UNDECODABLE[name]
    put(users, "S1", "a", "b", "bad", "c")
    put(users, "T1", "x", "bad", "y")
    put(users, "S1", "d")
    with reading(users, change, seals=seals) as stream:
        came, skipped = read_over(stream, users)
        assert came == ["a", "b", "x", "c", "y", "d"] or sorted(came) == sorted("abxcyd")
        assert [value for value in came if value in "abcd"] == ["a", "b", "c", "d"], "law 1"
        assert sorted(error.shard_id for error in skipped) == ["S1", "T1"]
        assert stream.stats.poison == 2
        assert all("stream.skip()" in str(error) and "bad" not in str(error) for error in skipped)


@pytest.mark.parametrize("change", UNDECODABLE.values(), ids=UNDECODABLE.keys())
def test_until_skip_it_stands_there_and_no_token_is_after_it(users: Simulator, change: Change):
    put(users, "S1", "a", "bad", "c")
    with reading(users, change, seals=False) as stream:
        came, first = until_raises(PoisonRecord, stream, users.clock)
        assert values(came) == ["a"]
        before = stream.token
        for _ in range(3):
            with pytest.raises(PoisonRecord) as again:
                next(stream)
            assert str(again.value) == str(first)
        assert stream.token == before
        stream.skip()
        after = stream.token
        assert values(drain(stream, users.clock)) == ["c"]
    with reading(users, change, json.loads(json.dumps(before)), seals=False) as resumed:
        assert until_raises(PoisonRecord, resumed, users.clock)[0] == []
    with reading(users, change, json.loads(json.dumps(after)), seals=False) as resumed:
        assert values(drain(resumed, users.clock)) == ["c"], "what was skipped does not come again"


def test_it_tells_the_number_where_it_has_one(users: Simulator):
    put(users, "S1", "bad")
    with reading(users, UNDECODABLE["NaN"]) as stream:
        _, error = until_raises(PoisonRecord, stream, users.clock)
        assert error.sequence_number == users.history[0].sequence_number and error.sequence_number in str(error)
    with reading(users, UNDECODABLE["no number"]) as stream:
        _, error = until_raises(PoisonRecord, stream, users.clock)
        assert error.sequence_number == "" and "a record of shard S1" in str(error)


@pytest.mark.parametrize("name", ["no number", "a word", "NaN"])
def test_the_first_record_of_a_shard_may_be_spoiled(users: Simulator, name: str):
    put(users, "S1", "bad", "bad", "a", "bad", "b")
    tokens = []
    with reading(users, UNDECODABLE[name]) as stream:
        for _ in range(2):
            until_raises(PoisonRecord, stream, users.clock)
            stream.skip()
            tokens.append(json.loads(json.dumps(stream.token)))
        assert read_over(stream, users)[0] == ["a", "b"]
    for token in tokens:
        with reading(users, UNDECODABLE[name], token) as resumed:
            assert read_over(resumed, users)[0] == ["a", "b"], "nothing is lost, where a number was lacking"


def test_batches_give_what_comes_before_it_first(users: Simulator):
    put(users, "S1", "a", "b", "bad", "c")
    with reading(users, UNDECODABLE["NaN"]) as stream:
        batches = stream.batches(10, until="caught_up")
        assert values(next(batches)) == ["a", "b"]
        with pytest.raises(PoisonRecord):
            next(batches)
        stream.skip()
        assert [values(batch) for batch in stream.batches(10, until="caught_up")] == [["c"]]


def test_to_arrow_moves_nothing_until_it_returns(users: Simulator):
    put(users, "S1", "a", "bad", "c")
    with reading(users, UNDECODABLE["NaN"]) as stream:
        with pytest.raises(PoisonRecord):
            stream.to_arrow()
        stream.skip()
        table = stream.to_arrow()
        assert [json.loads(text)["id"]["S"] for text in table["keys"].to_pylist()] == ["a", "c"]


def test_with_a_model_too(users: Simulator):
    put(users, "S1", "a", "bad", "c")
    with reading(users, UNDECODABLE["NaN"], model=lambda image: image["id"]) as stream:
        assert [record.new for record in take(stream, users.clock, 1)] == ["a"]
        with pytest.raises(PoisonRecord, match="cannot be decoded"):
            next(stream)
        stream.skip()
        assert [record.new for record in take(stream, users.clock, 1)] == ["c"]


def test_without_a_checksum_it_may_be_damage_so_it_is_asked_for_again(users: Simulator):
    put(users, "S1", "a", "bad", "c")
    damaged = []

    def once(body: bytes) -> bytes:
        if BAD not in body or damaged:
            return body
        damaged.append(body)
        return UNDECODABLE["NaN"](body)

    with reading(users, once, seals=False) as stream:
        assert values(drain(stream, users.clock)) == ["a", "bad", "c"]
        assert stream.stats.retries == 1


# -- what is decoded when it is read


def test_bad_text_under_a_right_checksum_is_told_of_when_it_is_read(users: Simulator):
    put(users, "S1", "a", "bad", "c")
    with reading(users, UNDECODABLE["bad UTF-8"], seals=True) as stream:
        first, bad, last = take(stream, users.clock, 3)
        assert first.new == {"id": "a"} and last.new == {"id": "c"}
        with pytest.raises(UnreadableRecord, match="NewImage of record .* of shard S1 cannot be decoded"):
            bad.new  # noqa: B018
    with reading(users, UNDECODABLE["bad UTF-8"], seals=True) as stream, pytest.raises(UnreadableRecord):
        stream.to_arrow()


MEMBERS: dict[str, tuple[Change, Any, Any]] = {
    "size 1e400": (replacing(b'"SizeBytes":', b'"SizeBytes":1e400,"x":'), "as it was", None),
    "size of 5,000 digits": (replacing(b'"SizeBytes":', b'"SizeBytes":' + b"7" * 5000 + b',"x":'), "as it was", None),
    "size of 30 digits": (
        replacing(b'"SizeBytes":', b'"SizeBytes":' + b"7" * 30 + b',"x":'),
        "as it was",
        int("7" * 30),
    ),
    "an event id 1e400": (replacing(b'"eventID":', b'"eventID":1e400,"x":'), None, "as it was"),
    "an event id that is no text": (replacing(b'"eventID":', b'"eventID":[7],"x":'), [7], "as it was"),
}


@pytest.mark.parametrize("change, event_id, size", MEMBERS.values(), ids=MEMBERS.keys())
def test_what_json_can_hold_never_raises_when_it_is_read(users: Simulator, change: Change, event_id: Any, size: Any):
    put(users, "S1", "a")
    with reading(users, lambda body: body) as stream:
        (plain,) = take(stream, users.clock, 1)
    with reading(users, change) as stream:
        (record,) = take(stream, users.clock, 1)
        assert record.event_id == (plain.event_id if event_id == "as it was" else event_id)
        assert record.size_bytes == (plain.size_bytes if size == "as it was" else size)
        assert record.new == {"id": "a"}
    with reading(users, change) as stream:
        assert stream.to_arrow().num_rows == 1


# -- times


@pytest.mark.parametrize("time", [b"-1e300", b"1e300", b"1750000000000", b"-99999999999999", b"253402300799.9999999"])
def test_a_time_that_no_token_could_hold_counts_as_none(users: Simulator, time: bytes):
    put(users, "S1", "a", "b")
    users.clock.advance(1)
    put(users, "T1", "x")

    def change(body: bytes) -> bytes:
        return re.sub(
            rb'("ApproximateCreationDateTime":)[-+0-9.eE]+(?=[^{}]*\{"id":\{"S":"b"\})', rb"\g<1>" + time, body
        )

    with reading(users, change) as stream:
        records = drain(stream, users.clock)
        assert values(records) == ["a", "b", "x"]
        assert [record.created_at is None for record in records] == [False, True, False]
        token = json.loads(json.dumps(stream.token))
    with reading(users, change, token) as resumed:
        assert drain(resumed, users.clock) == []


# -- Kinesis

KINESIS: dict[str, Change] = {
    "NaN": replacing(b'"PartitionKey":"bad"', b'"PartitionKey":NaN'),
    "bad UTF-8": replacing(b'"PartitionKey":"bad"', b'"PartitionKey":"\xff"'),
    "another type": replacing(b'"PartitionKey":"bad"', b'"PartitionKey":{}'),
    "no number": lambda body: re.sub(rb'"SequenceNumber":("\d+"(?=[^}]*"bad"))', rb'"Number":\1', _number_first(body)),
    "a word": lambda body: re.sub(
        rb'"SequenceNumber":"\d+"(?=[^}]*"bad")', rb'"SequenceNumber":"x"', _number_first(body)
    ),
    "5,000 digits": lambda body: re.sub(
        rb'"SequenceNumber":"\d+"(?=[^}]*"bad")', b'"SequenceNumber":"' + b"7" * 5000 + b'"', _number_first(body)
    ),
}


def _number_first(body: bytes) -> bytes:
    page = json.loads(body)
    page["Records"] = [{"SequenceNumber": row["SequenceNumber"], **row} for row in page["Records"]]
    return json.dumps(page, separators=(",", ":")).encode()


@pytest.mark.parametrize("change", KINESIS.values(), ids=KINESIS.keys())
def test_a_row_of_kinesis_that_cannot_be_decoded_is_poison_too(change: Change):
    with IndoorSimulator(table=None) as sim:
        orders = sim.create_stream("orders", "S0")
        for key in ("a", "bad", "b", "bad", "bad", "c"):
            orders.put("S0", key.encode(), key=key) if key != "bad" else orders.put("S0", b"bad", key="bad")

        def opened(position: Any) -> Stream[Any]:
            client = tamper(sim.client("kinesis"), change, service="kinesis")
            return Stream(KinesisStreams("orders", client=client), position, clock=sim.clock)

        position: Any = "trim_horizon"
        came: list[bytes] = []
        poison = 0
        for _ in range(20):  # it is cut and resumed wherever it can be
            with opened(position) as stream:
                records, error = until_raises(StreamiterError, stream, sim.clock, quiet=10)
                came += [record.payload for record in records]
                if error is None:
                    break
                assert isinstance(error, PoisonRecord)
                stream.skip()
                poison += 1
                position = json.loads(json.dumps(stream.token))
        assert (came, poison) == ([b"a", b"b", b"c"], 3)
