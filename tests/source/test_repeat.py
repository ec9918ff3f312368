"""Calls past botocore: the same calls, answers and errors; where anything about a client is unusual, botocore makes them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import botocore.client
import pytest
from botocore import handlers
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from streamiter import DynamoDBStreams, KinesisStreams, Stream
from streamiter.errors import IteratorExpired, ShardGone, Throttled, TransientError
from streamiter.position import After, Horizon
from streamiter.source import exchange, repeat
from streamiter.source.base import ShardIterator
from streamiter.source.repeat import LASTS, Repeats
from streamiter.testing import Simulator, clients
from tests.stream.helpers import drain, write


@pytest.fixture(autouse=True)
def _nobody_s_hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tables of the simulator, in other tests of this process, bring moto, which hooks itself into each session made since."""
    own = [entry for entry in handlers.BUILTIN_HANDLERS if getattr(entry[1], "__module__", "").startswith("botocore")]
    monkeypatch.setattr(handlers, "BUILTIN_HANDLERS", own)
    clients._session.cache_clear()
    yield
    clients._session.cache_clear()


@pytest.fixture
def served() -> Iterator[Simulator]:
    with Simulator("S1 ~ S2", ids="service") as sim:
        write(sim, "S1", "S2", rounds=5)
        yield sim


@pytest.fixture
def past(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The status of each answer that came without botocore."""
    found: list[int] = []

    def exchanged(*told: Any) -> Any:
        reply = exchange.exchange(*told)
        if reply is not None:
            found.append(reply.status)
        return reply

    monkeypatch.setattr(repeat, "exchange", exchanged)
    return found


def source_of(sim: Simulator, **options: Any) -> DynamoDBStreams:
    return DynamoDBStreams(sim.stream_arn, client=sim.client(**options))


def opened(source: DynamoDBStreams) -> ShardIterator:
    """An iterator, once both kinds of calls were made by botocore."""
    shard = source.list_shards(None).shards[0]
    for _ in range(2):
        iterator = source.open_iterator(shard.id, Horizon())
        source.fetch(iterator, 10)
    return iterator


def test_the_first_call_of_a_kind_goes_by_botocore_and_the_next_ones_past_it(served: Simulator, past: list[int]):
    source = source_of(served)
    shard = source.list_shards(None).shards[0]
    first = source.fetch(source.open_iterator(shard.id, Horizon()), 10)
    assert past == []
    again = source.fetch(source.open_iterator(shard.id, Horizon()), 10)
    assert past == [200, 200]
    assert again.records == first.records and len(first.records) == 5
    assert again.service_us == first.service_us is not None
    assert again.size_bytes == first.size_bytes


def test_the_service_gets_the_same_calls(served: Simulator, past: list[int]):
    source = source_of(served)
    shard = source.list_shards(None).shards[0]
    for limit in (10, 3, 10):
        page = source.fetch(source.open_iterator(shard.id, Horizon()), limit)
        assert len(page.records) == min(limit, 5)
    after = source.open_iterator(shard.id, After(page.records[1].place))
    assert [record.sequence_number for record in source.fetch(after, 10).records] == [
        record.sequence_number for record in page.records[2:]
    ]
    assert len(past) == 6
    assert [call.operation for call in served.calls][1:] == ["GetShardIterator", "GetRecords"] * 4


@pytest.mark.parametrize(
    "kind, error",
    [("throttle", Throttled), ("500", TransientError), ("expired", IteratorExpired), ("bad_crc", TransientError)],
)
def test_errors_are_those_that_botocore_raises(served: Simulator, past: list[int], kind: str, error: type[Exception]):
    source = source_of(served)
    iterator = opened(source)
    before = len(served.calls)
    served.fault("GetRecords", kind=kind, times=2)
    told = []
    for _ in range(2):
        with pytest.raises(error) as raised:
            source.fetch(iterator, 10)
        told.append(str(raised.value))
    assert past[-2:] == [200 if kind == "bad_crc" else past[-1]] * 2
    assert len(served.calls) == before + 2, "each was made once"
    assert told[0] == told[1]
    if kind != "bad_crc":
        assert isinstance(raised.value.__cause__, ClientError)
    assert len(source.fetch(iterator, 10).records) == 5


def test_attempts_are_botocores_own(served: Simulator, past: list[int]):
    source = source_of(served, config=Config(retries={"total_max_attempts": 3, "mode": "standard"}))
    iterator = opened(source)
    served.fault("GetRecords", kind="500", times=1)
    assert len(source.fetch(iterator, 10).records) == 5
    assert past[-1] == 500


def test_what_botocore_does_not_let_pass_does_not_pass(served: Simulator, past: list[int]):
    source = source_of(served, config=Config(parameter_validation=True))
    opened(source)
    before = len(served.calls)
    with pytest.raises(ShardGone, match="lets no such call pass"):
        source.open_iterator("S", Horizon())
    assert len(served.calls) == before


# -- what leaves a call to botocore


def hooked(client: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    client.meta.events.register("before-call", lambda **_: seen.append("hook"))
    return seen


def wrapped(client: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    make = botocore.client.BaseClient._make_api_call

    def traced(self: Any, *told: Any) -> Any:
        seen.append("trace")
        return make(self, *told)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", traced)
    return seen


def replaced(client: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    get = client.get_records

    def counted(**asked: Any) -> Any:
        seen.append("own")
        return get(**asked)

    client.get_records = counted
    return seen


@pytest.mark.parametrize("change", [hooked, wrapped, replaced])
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "meanwhile"])
def test_who_looks_at_calls_sees_each_one(
    served: Simulator,
    past: list[int],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Any, pytest.MonkeyPatch], list[str]],
    is_before: bool,
):
    client = served.client()
    source = DynamoDBStreams(served.stream_arn, client=client)
    seen = change(client, monkeypatch) if is_before else []
    iterator = opened(source)
    if not is_before:
        assert past
        seen = change(client, monkeypatch)
    seen.clear()
    past.clear()
    for _ in range(3):
        assert len(source.fetch(iterator, 10).records) == 5
    assert len(seen) == 3
    assert past == []


def test_who_keeps_botocores_log_finds_each_call_in_it(
    served: Simulator, past: list[int], caplog: pytest.LogCaptureFixture
):
    source = source_of(served)
    iterator = opened(source)
    past.clear()
    with caplog.at_level(logging.DEBUG, "botocore"):
        for _ in range(3):
            source.fetch(iterator, 10)
    assert sum("Sending http request" in line for line in caplog.messages) == 3
    assert past == []


def test_a_stub_answers(served: Simulator, past: list[int]):
    client = served.client()
    source = DynamoDBStreams(served.stream_arn, client=client)
    iterator = opened(source)
    past.clear()
    with Stubber(client) as stubber:
        stubber.add_response("get_records", {"Records": []})
        assert source.fetch(iterator, 10).records == []
    assert past == []


def test_botocores_own_limit_of_calls_holds(served: Simulator, past: list[int]):
    source = source_of(served, config=Config(retries={"mode": "adaptive"}))
    opened(source)
    assert past == []


def test_other_credentials_sign_at_once(served: Simulator, past: list[int]):
    session: Any = boto3.session.Session("AKIA", "secret", region_name="us-east-1")
    config = Config(proxies={}, parameter_validation=False)
    client = session.client("dynamodbstreams", endpoint_url=served.endpoint_url, config=config)
    source = DynamoDBStreams(served.stream_arn, client=client)
    iterator = opened(source)
    assert past
    past.clear()
    signed: list[bytes] = []
    client._request_signer._credentials.token = "of another session"
    client.meta.events.register(
        "before-send", lambda request, **_: signed.append(request.headers["X-Amz-Security-Token"])
    )
    source.fetch(iterator, 10)
    assert past == []
    assert signed == [b"of another session"]


def test_calls_go_by_botocore_again_each_minute(served: Simulator, past: list[int], monkeypatch: pytest.MonkeyPatch):
    source = source_of(served)
    iterator = opened(source)
    now = repeat.get_current_datetime()
    for minutes, calls in ((0.5, 1), (1.5, 0), (1.9, 1)):
        past.clear()
        monkeypatch.setattr(repeat, "get_current_datetime", lambda at=minutes: now + at * LASTS)
        source.fetch(iterator, 10)
        assert len(past) == calls


def test_a_connection_that_the_service_closed_is_not_used(served: Simulator, past: list[int]):
    source = source_of(served)
    iterator = opened(source)
    past.clear()
    (pool,) = (source._clients._repeats._patterns["get_records"].pool,)  # type: ignore[union-attr]
    connection = pool._get_conn()
    connection.close()
    pool._put_conn(connection)
    assert len(source.fetch(iterator, 10).records) == 5
    assert past == []
    source.fetch(iterator, 10)
    assert past == [200]


def test_a_client_that_only_looks_like_boto3s_makes_its_calls_itself():
    class Own:
        def get_records(self, **asked: Any) -> dict[str, Any]:
            return {"Records": [], "asked": asked}

    repeats = Repeats(Own(), "dynamodb-streams")
    for _ in range(3):
        assert repeats.call("get_records", ShardIterator="i", Limit=1)["asked"] == {"ShardIterator": "i", "Limit": 1}


def test_kinesis_calls_are_repeated_too(past: list[int]):
    with Simulator(table=None) as sim:
        orders = sim.create_stream("orders", "S0")
        for number in range(20):
            orders.put("S0", str(number))
            sim.clock.advance(1)
        with Stream(KinesisStreams("orders", client=sim.client("kinesis")), clock=sim.clock) as stream:
            assert len(drain(stream, sim.clock, quiet=8)) == 20
    assert past
    assert set(past) == {200}
