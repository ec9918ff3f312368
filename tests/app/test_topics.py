"""Processors over topics: they get values by their keys, what cannot be decoded goes to the policy, tests are in memory."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streamiter import App, Halt, Ignore, LogRecord, Retry, Topic
from streamiter.app import Events, LeaseBatch
from streamiter.errors import InvalidOption, PoisonRecord, ProcessorFailed, ValueMisfit
from streamiter.log import Entry, MemoryLog


class Order(msgspec.Struct):
    order_id: int
    customer: str = ""
    total: float = 0.0


ORDERS = [Order(number, f"customer {number % 5}", float(number)) for number in range(60)]


@pytest.fixture
def app() -> App:
    return App("shop", store="memory:")


@pytest.fixture
def orders(app: App) -> Topic[Order]:
    return app.topic(MemoryLog(partitions=4), name="orders", record=Order, partition_by="customer", partitions=4)


def numbers(values: list[Any]) -> list[int]:
    return sorted(value.order_id for value in values)


@pytest.mark.parametrize("order", ["shard", "key", "total"])
def test_a_value_is_told_by_its_name_or_by_the_record_s_class(app, orders, order):
    by_name: list[Order] = []
    by_class: list[Order] = []
    by_record: list[LogRecord[Order]] = []

    @app.processor(orders, order=order)
    def one(value):
        by_name.append(value)

    @app.processor(orders, order=order)
    async def two(order: Order):
        by_class.append(order)

    @app.processor(orders, order=order)
    def three(record: LogRecord[Order]):
        by_record.append(record)

    app.test(ORDERS)
    assert numbers(by_name) == numbers(by_class) == numbers([record.payload for record in by_record]) == list(range(60))
    assert {record.key for record in by_record} == {f"customer {number}".encode() for number in range(5)}


def test_batches_and_events_have_values_too(app, orders):
    batched: list[Order] = []
    streamed: list[Order] = []
    taken: list[Order] = []

    @app.processor(orders)
    def batches(batch: LeaseBatch[LogRecord[Order]]):
        batched.extend(record.payload for record in batch)

    @app.processor(orders)
    async def values(events: Events[LogRecord[Order]]):
        async for order in events.values():
            streamed.append(order)

    @app.processor(orders)
    async def lists(events: Events[LogRecord[Order]]):
        while records := await events.take(7, within=0.1):
            taken.extend(record.payload for record in records)

    trial = app.test(ORDERS)
    assert numbers(batched) == numbers(streamed) == numbers(taken) == list(range(60))
    assert all(trial.checkpoints[name] == trial.checkpoints["batches"] for name in ("values", "lists"))


def test_with_order_by_key_the_topic_s_key_keeps_its_order_and_others_go_on(app, orders):
    by_customer: dict[str, list[int]] = defaultdict(list)
    at_once: set[str] = set()
    most = 0

    @app.processor(orders, order="key", concurrency=8)
    async def index(order: Order):
        nonlocal most
        assert order.customer not in at_once
        at_once.add(order.customer)
        most = max(most, len(at_once))
        await asyncio.sleep(1)
        by_customer[order.customer].append(order.order_id)
        at_once.discard(order.customer)

    app.test(ORDERS)
    assert all(found == sorted(found) for found in by_customer.values())
    assert sum(map(len, by_customer.values())) == 60
    assert most > 1


@pytest.mark.parametrize("order", ["shard", "key", "total"])
def test_a_payload_that_cannot_be_decoded_goes_to_the_policy(app, orders, order):
    good: list[Order] = []

    @app.processor(orders, order=order, on_error=Ignore())
    def take(value):
        good.append(value)

    app.test([*ORDERS, b'{"order_id": "x"}', b"\xff"])
    assert numbers(good) == list(range(60))


def test_and_not_to_a_crash_of_another_kind(app, orders):
    @app.processor(orders, on_error=Halt())
    def take(value): ...

    with pytest.raises(ProcessorFailed) as caught:
        app.test([b"junk"])
    assert isinstance(caught.value.__cause__, PoisonRecord)
    assert "Order" in str(caught.value.__cause__)


def test_where_is_asked_with_the_value(app, orders):
    dear: list[Order] = []

    @app.processor(orders, where=lambda record: record.payload.total > 57, on_error=Ignore())
    def take(value):
        dear.append(value)

    app.test([*ORDERS, b"junk"])
    assert numbers(dear) == [58, 59]


def test_where_as_text_asks_for_the_payload_as_it_was_written(app, orders):
    dear: list[Order] = []
    of_one: list[Order] = []

    @app.processor(orders, where="payload.total > 57")
    def take(value):
        dear.append(value)

    @app.processor(orders, where="key = 'customer 1'")
    def pick(value):
        of_one.append(value)

    app.test(ORDERS)
    assert numbers(dear) == [58, 59]
    assert {order.customer for order in of_one} == {"customer 1"}


def test_a_model_of_the_processor_s_own_goes_before_the_record(app, orders):
    found: list[bytes] = []

    @app.processor(orders, model=bytes)
    def take(value):
        found.append(value)

    app.test(ORDERS[:1])
    assert found == [msgspec.json.encode(ORDERS[0])]


# -- what is sent while an app is tested


def test_what_one_sends_another_one_gets_and_the_test_is_told(app, orders):
    mailed: list[Any] = []
    log = MemoryLog(partitions=2)
    bills = app.topic(log, name="bills", partitions=2)

    @app.processor(orders)
    async def bill(order: Order):
        await bills.send({"to": order.customer, "id": order.order_id}, key=order.customer)

    @app.processor(bills, on_error=Retry(after=[1]))
    def mail(value):
        mailed.append(value["id"])

    trial = app.test({"orders": ORDERS})
    assert sorted(mailed) == list(range(60))
    assert sorted(value["id"] for value in trial.sent["bills"]) == list(range(60))
    assert trial.sent["orders"] == []
    assert log.ends(0).last is None  # the real one is left alone
    assert app.test({"orders": ORDERS[:1]}).sent["bills"] == [
        {"to": order.customer, "id": order.order_id} for order in ORDERS[:1]
    ]


def test_plain_functions_send_too(app, orders):
    copies = app.topic(MemoryLog(), name="copies")

    @app.processor(orders)
    def copy(batch):
        copies.sendmany([record.payload for record in batch])

    trial = app.test(ORDERS)
    assert len(trial.sent["copies"]) == 60


def test_values_are_given_by_the_processor_s_name_too_but_once(app, orders):
    found: list[Order] = []

    @app.processor(orders)
    def one(value):
        found.append(value)

    app.test({"one": ORDERS[:3]})
    assert numbers(found) == [0, 1, 2]
    with pytest.raises(InvalidOption, match="given once"):
        app.test({"one": ORDERS, "orders": ORDERS})
    with pytest.raises(ValueMisfit):
        app.test({"orders": [{"order_id": "x"}]})
    with pytest.raises(InvalidOption, match="list of values"):
        app.test({"orders": {"order_id": 1}})


def test_a_source_that_is_given_stands_for_the_topic(app, orders):
    found: list[Order] = []
    other = MemoryLog(partitions=2)
    other.append(1, [Entry(b'{"order_id": 5}')])

    @app.processor(orders)
    def take(value):
        found.append(value)

    app.test(other)
    app.test({"take": other})
    assert numbers(found) == [5, 5]


def test_without_anything_given_the_topic_s_own_records_are_read(app):
    log = MemoryLog()
    log.append(0, [Entry(b'{"order_id": 7}')])
    topic = Topic(log, name="orders", record=Order)
    found: list[Order] = []

    @app.processor(topic)
    def take(value):
        found.append(value)

    app.test()
    assert numbers(found) == [7]


# -- apps and their topics


def test_an_app_knows_its_topics_by_name(app, orders):
    assert app.topics == {"orders": orders}
    with pytest.raises(InvalidOption, match="already"):
        app.topic("sqlite:///x.db?topic=orders")
    assert app.topic("sqlite:///x.db?topic=bills").title == "bills"


def test_an_app_runs_over_a_topic_in_a_file_and_sends_from_its_processors(tmp_path: Path):
    app = App("shop", store=f"sqlite:///{tmp_path}/shop.db")
    url = f"sqlite:///{tmp_path}/topics.db"
    orders = app.topic(f"{url}?topic=orders", record=Order, partition_by="customer", partitions=3)
    bills = app.topic(f"{url}?topic=bills", partitions=2)
    found: list[int] = []

    @app.processor(orders)
    async def bill(order: Order):
        await bills.send(order.order_id, key=order.customer)

    @app.processor(bills, order="total")
    def count(value):
        found.append(value)
        if len(found) == len(ORDERS):
            app.stop()

    orders.sendmany(ORDERS)
    app.run()
    assert sorted(found) == list(range(60))
    token = app.token("bill")
    orders.send(Order(99))
    from streamiter import Stream

    with Stream(orders, token) as stream:
        assert [record.payload.order_id for record in stream.follow(until="caught_up")] == [99]
    orders.close(), bills.close()
