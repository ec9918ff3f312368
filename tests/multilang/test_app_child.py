"""An app's processor as a child: each form of it, its policies, and what cannot be had without a lease of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamiter import App, Ignore, Quarantine, Retry
from streamiter.errors import InvalidOption
from streamiter.multilang import wire
from streamiter.multilang.trying.script import scenarios
from tests.multilang.daemon import START, AnsweringPipe, batch, judged, number, talk

ENDED, LOST, LEAVE = wire.ShardEnded(), wire.LeaseLost(), wire.ShutdownRequested()
SCRIPTS = [script for script in scenarios() if script.name in ("a stop", "a lost lease", "empty batches (rare)")]


class Orders:
    told: list[Any]

    def __init__(self) -> None:
        Orders.told = []

    def initialize(self, lease: Any) -> None:
        self.told.append(lease.key)

    async def process(self, batch: Any) -> None:
        self.told.append([record.sequence_number for record in batch])

    def shard_ended(self) -> None:
        self.told.append("ended")

    def lease_lost(self) -> None:
        self.told.append("lost")

    def shutdown_requested(self) -> None:
        self.told.append("asked")


def app(function: Any, **options: Any) -> App:
    made = App("shop", store="memory:")
    made.processor("kinesis://clicks", name="only", **options)(function)
    return made


def test_records_one_by_one_with_what_kinesis_tells_of_them():
    got: list[Any] = []

    def each(record: Any, lease: Any) -> None:
        got.append((lease.key, record.shard_id, record.payload, record.partition_key, record.sub_sequence_number))

    pipe = AnsweringPipe(START, batch((1, 0), (1, 1), payload=b"p"), ENDED)
    talk(app(each), pipe)
    shard = START.shard_id
    assert got == [(shard, shard, b"p", "key-1", 0), (shard, shard, b"p", "key-1", 1)]
    assert pipe.places == [(number(1), 1), (None, None)]


def test_values_that_a_model_makes_and_where_leaves_out():
    got: list[Any] = []

    async def each(value: Any) -> None:
        got.append(value)

    records = [wire.WireRecord(json.dumps({"n": n}).encode(), "k", number(n), 0, 1) for n in range(1, 5)]
    made = app(each, model=json.loads, where=lambda record: json.loads(record.payload)["n"] % 2 == 0)
    talk(made, AnsweringPipe(START, wire.ProcessRecords(records, 0)))
    assert got == [{"n": 2}, {"n": 4}]


def test_batches_of_its_size():
    sizes: list[int] = []

    def many(batch: Any) -> None:
        sizes.append(len(batch))

    talk(app(many, size=2), AnsweringPipe(START, batch(1, 2, 3, 4, 5)))
    assert sizes == [2, 2, 1]


def test_a_class_is_told_of_the_lease():
    made = app(Orders)
    talk(made, AnsweringPipe(START, batch(1, 2), LEAVE, LOST))
    assert Orders.told == [START.shard_id, [number(1), number(2)], "asked", "lost"]
    talk(made, AnsweringPipe(START, batch(1), ENDED))
    assert Orders.told[-1] == "ended"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_events_go_on_from_batch_to_batch(script):
    got: list[str] = []
    ends: list[str] = []

    async def stream(events: Any) -> None:
        async for record in events.records():
            got.append(record.sequence_number)
        ends.append("over")

    async def taken(events: Any) -> None:
        while records := await events.take(2, within=0.001):
            got.extend(record.sequence_number for record in records)

    for function in (stream, taken):
        got.clear()
        assert judged(app(function), script).findings == []
        given = [step.action for step in script.steps if isinstance(step.action, wire.ProcessRecords)]
        assert got == [record.sequence_number for action in given for record in action.records]
    assert ends == ([] if script.is_lost else ["over"])  # what runs under a lost lease is cancelled


def test_keys_side_by_side_and_each_in_order():
    got: list[tuple[str, int]] = []

    async def each(record: Any) -> None:
        got.append((record.partition_key, record.number))

    records = [wire.WireRecord(b"", f"key-{n % 3}", number(n), 0, 1) for n in range(1, 100)]
    talk(app(each, order="key", concurrency=2), AnsweringPipe(START, wire.ProcessRecords(records, 0)))
    assert len(got) == 99
    for key in ("key-0", "key-1", "key-2"):
        places = [place for told, place in got if told == key]
        assert places == sorted(places)


def flaky(times: int) -> tuple[Any, list[str]]:
    """A function that fails so often on the second record, and what it got."""
    got: list[str] = []

    def each(record: Any) -> None:
        got.append(record.sequence_number)
        if record.sequence_number == number(2) and got.count(number(2)) <= times:
            raise ValueError("a bug of yours")

    return each, got


def test_retry_hands_a_record_out_again_before_the_next_one():
    each, got = flaky(2)
    pipe = AnsweringPipe(START, batch(1, 2, 3))
    talk(app(each, on_error=Retry(after=[0.001] * 3)), pipe)
    assert got == [number(place) for place in (1, 2, 2, 2, 3)]
    assert pipe.places == [(number(3), 0)]


def test_ignore_passes_over():
    each, got = flaky(9)
    pipe = AnsweringPipe(START, batch(1, 2, 3))
    talk(app(each, on_error=Ignore()), pipe)
    assert got == [number(place) for place in (1, 2, 3)]
    assert pipe.statuses == ["initialize", "processRecords"]


@pytest.mark.parametrize("policy", [None, Quarantine(), Retry(after=[0.001])])
def test_where_the_policy_stops_nothing_is_answered(policy):
    each, got = flaky(9)
    pipe = AnsweringPipe(START, batch(1, 2, 3))
    with pytest.raises(ValueError, match="a bug of yours"):
        talk(app(each, **({} if policy is None else {"on_error": policy})), pipe)
    assert pipe.statuses == ["initialize"]
    assert pipe.places == []
    assert number(3) not in got


def test_a_record_that_the_model_refuses_is_for_the_policy_and_the_others_are_not():
    got: list[Any] = []

    def many(batch: Any) -> None:
        got.append([record.payload for record in batch])

    records = [wire.WireRecord(text, "k", number(n), 0, 1) for n, text in enumerate((b"1", b"torn", b"3"), 1)]
    talk(app(many, model=json.loads, on_error=Ignore()), AnsweringPipe(START, wire.ProcessRecords(records, 0)))
    assert got == [[1], [3]]


def test_middleware_surrounds_it():
    got: list[str] = []

    async def around(record: Any, call_next: Any) -> None:
        got.append("before")
        await call_next(record)
        got.append("behind")

    def each(record: Any) -> None:
        got.append("called")

    talk(app(each, middleware=[around]), AnsweringPipe(START, batch(1)))
    assert got == ["before", "called", "behind"]


def test_changes_of_a_table_come_as_the_services_json():
    got: list[Any] = []
    made = App("shop", store="memory:")

    @made.processor("dynamodb://users", on_error=Ignore())
    def each(record: Any) -> None:
        got.append((record.event_name, record.key, record.new, record.created_at and record.created_at.isoformat()))

    row = {
        "eventName": "INSERT",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_795_077_443_000,
            "Keys": {"id": {"S": "ann"}},
            "NewImage": {"id": {"S": "ann"}, "n": {"N": "7"}},
            "SequenceNumber": number(1),
        },
    }
    records = [
        wire.WireRecord(text, None, number(n), 0, None) for n, text in enumerate((json.dumps(row).encode(), b"torn"), 1)
    ]
    pipe = AnsweringPipe(START, wire.ProcessRecords(records, 0))
    talk(made, pipe)
    assert got == [("INSERT", {"id": "ann"}, {"id": "ann", "n": 7}, "2026-11-19T08:37:23+00:00")]
    assert pipe.places == [(number(2), 0)]


def test_what_needs_a_lease_of_ours_says_so():
    def fence(record: Any, lease: Any) -> None:
        lease.fence  # noqa: B018

    def commit(batch: Any) -> None:
        batch.commit(None)

    for function in (fence, commit):
        with pytest.raises(InvalidOption, match="streamiter worker"):
            talk(app(function), AnsweringPipe(START, batch(1)))
    total = app(lambda batch: None, order="total")
    with pytest.raises(InvalidOption, match="order='total'"):
        talk(total, AnsweringPipe())


def test_it_has_to_be_clear_which_processor():
    made = app(Orders)
    made.processor("kinesis://clicks")(lambda record: None)
    for name, told in ((None, "several processors"), ("nothing", "no processor 'nothing'; it has only")):
        with pytest.raises(InvalidOption, match=told):
            talk(made, AnsweringPipe(), name=name)
    talk(made, AnsweringPipe(START), name="only")
    with pytest.raises(InvalidOption, match="this is none"):
        talk(Orders, AnsweringPipe(), name="only")
