"""Kinesis through Stream: order over splits and merges, tokens in the middle of packed records, rates, retention."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest
from botocore.config import Config

from streamiter import InvalidOption, InvalidStream, InvalidToken, KinesisStreams, PoisonRecord, Stream
from streamiter.testing import KinesisHandle, Simulator
from tests.stream.helpers import drain, take, until_raises
from tests.stream.kinesis import assert_came, assert_lawful, identities, in_order

Open = Callable[..., Stream]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None) as simulator:
        yield simulator


@pytest.fixture
def orders(sim: Simulator) -> KinesisHandle:
    return sim.create_stream("orders", "S0 ~ S1")


@pytest.fixture
def open_stream(sim: Simulator, orders: KinesisHandle) -> Iterator[Open]:
    """`open_stream(position, **options)`; options of the source go by `source=`."""
    with ExitStack() as closing:

        def opened(position: Any = "trim_horizon", *, source: dict[str, Any] | None = None, **options: Any) -> Stream:
            client = sim.client("kinesis", config=Config(max_pool_connections=32))
            stream = KinesisStreams("orders", client=client, **(source or {}))
            return closing.enter_context(Stream(stream, position, **{"clock": sim.clock, **options}))

        yield opened


def write(sim: Simulator, orders: KinesisHandle, *shards: str, rounds: int = 4, every: float = 0.5) -> None:
    for number in range(rounds):
        for shard in shards:
            orders.put(shard, f"{shard}-{number}", key=shard)
        sim.clock.advance(every)


# -- lineage


@pytest.mark.parametrize("tells", [True, False], ids=["with ChildShards", "by listings alone"])
def test_records_come_in_order_over_splits_and_merges(sim: Simulator, orders: KinesisHandle, open_stream: Open, tells):
    sim.knobs.tells_children = tells
    write(sim, orders, "S0", "S1")
    orders.split("S0", "S2", "S3")
    write(sim, orders, "S2", "S3", "S1")
    orders.merge("S3", "S1", "S4")
    write(sim, orders, "S2", "S4")
    assert_came(drain(open_stream(), sim.clock), in_order(orders))


def test_the_end_of_a_shard_tells_of_its_children_without_a_listing(
    sim: Simulator, orders: KinesisHandle, open_stream: Open
):
    write(sim, orders, "S0", "S1")
    stream = open_stream()
    came = drain(stream, sim.clock, quiet=3)
    orders.split("S0", "S2", "S3")
    orders.hide("S2", "S3")
    write(sim, orders, "S2", "S3", "S1")
    came += take(stream, sim.clock, 12, within=5)
    assert_came(came, in_order(orders))


def test_a_child_waits_for_both_parents(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1", every=0)
    orders.merge("S0", "S1", "S2")
    write(sim, orders, "S2", every=0)
    sim.fault("GetRecords", "S1", kind="500", times=None)
    stream = open_stream(patience=1000, lateness=None)
    assert_lawful(drain(stream, sim.clock, quiet=20), orders, once=False)
    assert not sim.calls.of("GetShardIterator", shard="S2")
    sim.heal()
    rest = drain(stream, sim.clock)
    assert len(rest) == 8
    assert {record.shard_id for record in rest[4:]} == {orders.shard_id("S2")}


def test_one_parent_is_long_gone(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    """S0 was trimmed and is listed no more: S2 names it, and waits for S1 alone."""
    write(sim, orders, "S0", "S1")
    orders.merge("S0", "S1", "S2")
    write(sim, orders, "S2")
    orders.remove("S0")
    assert_came(drain(open_stream(), sim.clock), in_order(orders, absent=["S0"]))


def test_a_parent_that_listings_lack_is_waited_for(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    """S0's end tells of S2, which names S1: as long as nobody lists S1, nothing of S2 comes out."""
    write(sim, orders, "S0", "S1")
    orders.merge("S0", "S1", "S2")
    write(sim, orders, "S2")
    orders.hide("S1", passes=2)
    assert_came(drain(open_stream(), sim.clock), in_order(orders))


@pytest.mark.parametrize("tells", [True, False], ids=["with ChildShards", "by listings alone"])
def test_splits_and_merges_while_a_token_is_out(sim: Simulator, orders: KinesisHandle, open_stream: Open, tells):
    sim.knobs.tells_children = tells
    write(sim, orders, "S0", "S1")
    first = open_stream()
    came = take(first, sim.clock, 5)
    token = json.loads(json.dumps(first.token))
    first.close()
    orders.split("S0", "S2", "S3")
    write(sim, orders, "S1", "S2", "S3")
    orders.merge("S2", "S3", "S4")
    orders.merge("S4", "S1", "S5")
    write(sim, orders, "S5")
    assert_came(came + drain(open_stream(token), sim.clock), in_order(orders))


def test_a_token_between_two_parents_of_a_merge(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    """S0 is finished, S1 is not: the token knows the floors of both when S2 begins."""
    orders.put("S0", "late", created=sim.clock.now() + 50)
    write(sim, orders, "S1", rounds=3)
    orders.merge("S0", "S1", "S2")
    write(sim, orders, "S2", rounds=2)
    sim.clock.advance(100)
    wanted = in_order(orders)
    for cut in range(len(wanted) + 1):
        first = open_stream()
        came = take(first, sim.clock, cut)
        assert_came(came + drain(open_stream(first.token), sim.clock), wanted)
        first.close()


def test_reshard_up_and_down_under_load(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.records_rate, sim.knobs.bytes_rate = 5, 2_000_000
    sim.create_stream("other")
    stream = open_stream()
    came: list[Any] = []
    for round_ in range(60):
        if round_ in (10, 30, 45):
            orders.reshard({10: 8, 30: 3, 45: 5}[round_])
        for number in range(10):
            orders.put_by_key(f"{round_}-{number}", f"{round_}-{number}")
        sim.clock.advance(0.2)
        while (record := next(stream)) is not None:
            came.append(record)
    came += drain(stream, sim.clock)
    assert_lawful(came, orders)
    assert stream.stats.throttles == 0
    assert stream.stats.late == 0


# -- packed records


def test_a_token_in_the_middle_of_a_packed_record_goes_on_behind_it(
    sim: Simulator, orders: KinesisHandle, open_stream: Open
):
    orders.put("S0", "a")
    orders.put_packed("S0", [("k", b"%d" % number) for number in range(5)])
    orders.put_packed("S0", [("k", b"only")])
    orders.put_packed("S0", [("k", b"x"), ("k", b"y")])
    wanted = in_order(orders)
    sim.clock.advance(10)
    for cut in range(len(wanted) + 1):
        first = open_stream()
        came = take(first, sim.clock, cut)
        token = json.loads(json.dumps(first.token))
        first.close()
        if 2 <= cut <= 6:
            assert token["lanes"][0]["place"][1] == cut - 2
        assert_came(came + drain(open_stream(token), sim.clock, quiet=5), wanted)


def test_an_iterator_that_expires_in_the_middle_of_a_packed_record(
    sim: Simulator, orders: KinesisHandle, open_stream: Open
):
    for _ in range(6):
        orders.put_packed("S0", [("k", b"%d" % number) for number in range(4)])
    sim.knobs.page_size = 2
    stream = open_stream(prefetch_bytes=1)
    came = take(stream, sim.clock, 6)
    sim.clock.advance(minutes=6)
    assert_came(came + drain(stream, sim.clock), in_order(orders))
    assert sim.calls.total("GetRecords", outcome="ExpiredIteratorException") >= 1


def test_a_poison_record_in_a_packed_one_is_skipped_alone(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    orders.put_packed("S0", [("k", b"1"), ("k", b"x"), ("k", b"3")])
    stream = open_stream(model=int)
    came, error = until_raises(PoisonRecord, stream, sim.clock)
    assert [record.payload for record in came] == [1]
    assert "x" not in str(error).replace("next", "").replace("fix", "")
    stream.skip()
    assert [record.payload for record in drain(stream, sim.clock)] == [3]
    assert stream.stats.poison == 1


# -- models


@dataclass
class Order:
    id: str
    n: int


class StructOrder(msgspec.Struct):
    id: str
    n: int


class PydanticOrder(pydantic.BaseModel):
    id: str
    n: int


@pytest.mark.parametrize("model", [Order, StructOrder, PydanticOrder])
def test_a_model_takes_the_payload(sim: Simulator, orders: KinesisHandle, open_stream: Open, model: Any):
    orders.put("S0", '{"id": "a", "n": 1}')
    [record] = drain(open_stream(model=model), sim.clock)
    assert record.payload == model(id="a", n=1)
    assert record["payload"] == record.payload
    assert record.raw_payload == b'{"id": "a", "n": 1}'


# -- rates and life


def rests(sim: Simulator) -> dict[str | None, float]:
    """The shortest time between two reads of each shard."""
    times: dict[str | None, list[float]] = defaultdict(list)
    for call in sim.calls.of("GetRecords"):
        times[call.shard].append(call.time)
    return {shard: min(b - a for a, b in zip(at, at[1:], strict=False)) for shard, at in times.items() if len(at) > 1}


def test_a_shard_is_never_read_more_than_five_times_a_second(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.records_rate = 5
    sim.knobs.page_size = 1
    write(sim, orders, "S0", "S1", rounds=20)
    stream = open_stream()
    assert_came(drain(stream, sim.clock, step=0.05), in_order(orders))
    assert stream.stats.throttles == 0
    assert min(rests(sim).values()) >= 0.2 - 1e-5  # as floats tell seconds since 1970


def test_two_megabytes_a_second_are_paced(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.bytes_rate = 2_000_000
    for _ in range(12):
        orders.put("S0", b"x" * 500_000)
    began = sim.clock.monotonic()
    stream = open_stream()
    assert_came(drain(stream, sim.clock, step=0.05, quiet=5), in_order(orders))
    assert stream.stats.throttles == 0
    assert sim.clock.monotonic() - began >= 2.5


def test_readers_that_share_a_shard_take_less(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.page_size = 1
    write(sim, orders, "S0", "S1", rounds=10)
    assert_came(drain(open_stream(source={"reads_per_second": 2}), sim.clock), in_order(orders))
    assert min(rests(sim).values()) >= 0.5 - 1e-5


@pytest.mark.parametrize("kind", ["throttle", "limit", "500", "503", "cut", "reset", "bad_json", "html", "expired"])
@pytest.mark.parametrize("operation", ["GetRecords", "GetShardIterator", "ListShards"])
def test_faults_pass(sim: Simulator, orders: KinesisHandle, open_stream: Open, operation: str, kind: Any):
    if kind == "expired" and operation != "GetRecords":
        return
    write(sim, orders, "S0", "S1")
    sim.fault(operation, kind=kind, times=3)
    stream = open_stream()
    assert_came(drain(stream, sim.clock), in_order(orders))
    if operation == "GetRecords" and kind in ("throttle", "limit"):
        assert stream.stats.throttles == 3


def test_a_heartbeat_renews_what_lives_five_minutes(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1")
    stream = open_stream()
    came = drain(stream, sim.clock, quiet=5)
    for _ in range(20):
        sim.clock.advance(60)
        stream.heartbeat()
    write(sim, orders, "S0", "S1")
    assert_came(came + drain(stream, sim.clock), in_order(orders))
    assert sim.calls.total("GetRecords", outcome="ExpiredIteratorException") == 0


def test_a_listing_whose_token_expires_begins_anew(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    orders.reshard(8)
    sim.knobs.shards_per_page = 1
    sim.fault("ListShards", kind="expired", times=2, after=1)
    orders.put_by_key("a")
    assert_came(drain(open_stream(), sim.clock), in_order(orders))


def test_a_long_listing_does_not_wait_between_its_pages(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    orders.reshard(256)
    sim.knobs.shards_per_page = 1  # of DynamoDB's; Kinesis' are ten times as large
    orders.put_by_key("a")
    began = sim.clock.monotonic()
    assert open_stream().to_arrow(until="caught_up").num_rows == 1
    assert sim.calls.total("ListShards") > 100
    assert sim.clock.monotonic() - began < 5


# -- positions


def test_where_reading_starts_does_not_change_order_keys(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    """Ranks follow from ancestors: so none that is still held may be left out of a listing (decision 12)."""
    write(sim, orders, "S0", "S1")
    orders.split("S0", "S2", "S3")
    sim.clock.advance(hours=3)
    orders.merge("S3", "S1", "S4")
    sim.clock.advance(hours=3)
    now, late = open_stream("latest"), open_stream()
    write(sim, orders, "S2", "S4")
    came = drain(now, sim.clock)
    keys = [record.order_key for record in came]
    assert len(keys) == 8
    assert keys == [record.order_key for record in drain(late, sim.clock)][-len(keys) :]


def test_latest_sees_what_is_written_afterwards(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1")
    sim.clock.advance(10)
    stream = open_stream("latest")
    token = stream.token
    write(sim, orders, "S0", "S1", rounds=2)
    orders.split("S0", "S2", "S3")
    write(sim, orders, "S2", rounds=1)
    wanted = in_order(orders)[8:]
    assert identities(drain(stream, sim.clock)) == identities(wanted)
    assert identities(drain(open_stream(token), sim.clock)) == identities(wanted)


def test_a_time_is_a_place_too(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1", rounds=10, every=1)
    from datetime import UTC, datetime

    moment = sim.clock.now() - 5
    stream = open_stream(datetime.fromtimestamp(moment, UTC))
    assert_came(drain(stream, sim.clock), in_order(orders, since_us=round(moment * 1e6)))


def test_caught_up_ends_at_the_first_tip(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1")
    stream = open_stream()
    began = sim.clock.monotonic()
    records = [record for batch in stream.batches(3, until="caught_up") for record in batch]
    assert_came(records, in_order(orders))
    assert sim.clock.monotonic() - began < 5


def test_a_stream_that_is_made_again_is_another_one(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0")
    stream = open_stream()
    take(stream, sim.clock, 2)
    token = stream.token
    assert token["stream"] == f"{orders.arn}@1750000000"
    orders.delete()
    sim.clock.advance(100)
    sim.create_stream("orders", "S0 ~ S1")
    with pytest.raises(InvalidToken, match=r"deleted and made again.*trim_horizon"):
        open_stream(token)
    with pytest.raises(InvalidStream, match="deleted and made again while it was read"):
        drain(stream, sim.clock, quiet=100)


def test_a_stream_that_is_deleted_says_so(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0")
    stream = open_stream()
    take(stream, sim.clock, 2)
    orders.delete()
    _, error = until_raises(InvalidStream, stream, sim.clock)
    assert "orders" in str(error)


def test_a_stream_that_is_being_made_is_waited_for(sim: Simulator):
    sim.knobs.enabling = 5
    client = sim.client("kinesis")
    client.create_stream(StreamName="new", ShardCount=2)
    client.put_record(StreamName="new", PartitionKey="a", Data=b"1")
    with Stream(KinesisStreams("new", client=client), clock=sim.clock) as stream:
        assert [record.payload for record in drain(stream, sim.clock)] == [b"1"]


# -- tables


def test_to_arrow_has_the_columns_of_a_payload(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    names = [
        *("stream_arn", "shard_id", "sequence_number", "order_key", "created_at"),
        *("partition_key", "payload", "sub_sequence_number", "explicit_hash_key"),
    ]
    stream = open_stream()
    assert stream.to_arrow().column_names == names
    write(sim, orders, "S0", "S1")
    orders.put_packed("S0", [("a", b"1"), ("b", b"2")])
    table = stream.to_arrow()
    assert table.column_names == names
    wanted = in_order(orders)
    assert table["payload"].to_pylist() == [told.payload for told in wanted]
    assert table["sub_sequence_number"].to_pylist() == [told.sub for told in wanted]
    assert set(table["stream_arn"].to_pylist()) == {orders.arn}
    assert table["order_key"].to_pylist() == sorted(table["order_key"].to_pylist())


# -- options


@pytest.mark.parametrize(
    "options, says",
    [
        ({"records": "rows"}, "records= takes 'payload' or 'dynamodb', not 'rows'"),
        ({"duplicates": "maybe"}, "duplicates= takes 'keep' or 'drop', not 'maybe'"),
        ({"duplicates": "drop"}, "it goes with records='dynamodb'"),
        ({"reads_per_second": 0}, "reads_per_second= takes a number above 0, or None, not 0"),
        ({"bytes_per_second": "all"}, "bytes_per_second= takes a number above 0, or None, not 'all'"),
        ({"region": 1}, "region= takes a str"),
        ({"session": "x"}, "session= takes a boto3 Session"),
    ],
)
def test_options_of_a_wrong_type_are_invalid_options(options: dict[str, Any], says: str):
    with pytest.raises(InvalidOption) as caught:
        KinesisStreams("orders", **options)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "orders/x", "x" * 129, "arn:aws:kinesis:us-east-1:1:table/orders"])
def test_a_malformed_name_says_what_one_is(name: str):
    with pytest.raises(InvalidStream, match="is not a stream's name|is not the ARN of a Kinesis stream"):
        KinesisStreams(name)


def test_a_client_of_another_service_is_told_apart(sim: Simulator):
    with pytest.raises(InvalidOption, match="takes a boto3 client of 'kinesis'"):
        KinesisStreams("orders", client=sim.client("dynamodb"))
    with pytest.raises(InvalidOption, match="takes a boto3 client of 'kinesis'"):
        KinesisStreams("orders", client=sim.client("dynamodbstreams"))


def test_by_arn_and_by_url(sim: Simulator, orders: KinesisHandle, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    write(sim, orders, "S0", "S1")
    by_client = KinesisStreams(orders.arn, client=sim.client("kinesis"))
    assert repr(by_client) == f"KinesisStreams({orders.arn!r})"
    monkeypatch.setenv("AWS_ENDPOINT_URL", sim.endpoint_url)
    url = f"kinesis://orders?endpoint_url={sim.endpoint_url}&region=us-east-1"
    for source in (by_client, url, orders.arn, f"kinesis://{orders.arn}"):
        with Stream(source, clock=sim.clock) as stream:
            assert_came(drain(stream, sim.clock, quiet=5), in_order(orders))


def test_an_unknown_stream_with_names_near_it(sim: Simulator, orders: KinesisHandle):
    with pytest.raises(InvalidStream, match=r"there is no stream order here; did you mean orders\?"):
        Stream(KinesisStreams("order", client=sim.client("kinesis")), clock=sim.clock)
