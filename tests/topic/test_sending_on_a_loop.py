"""Sending inside an event loop: it is awaited, and begins at the call."""

from __future__ import annotations

import asyncio

import pytest

from streamiter.errors import (
    AccessDenied,
    InvalidOption,
    SendFailed,
    StreamiterError,
    ValueMisfit,
)
from streamiter.topic import SentMany
from tests.topic.faults import FaultyLog, Gate
from tests.topic.sends import numbers_in, on_loop, order, topic_on


@on_loop
async def test_inside_a_loop_it_is_awaited():
    log = FaultyLog()
    topic = topic_on(log)
    sent = topic.send(order(1))
    with pytest.raises(StreamiterError, match="await"):
        sent.number  # noqa: B018
    assert (await sent) is sent
    assert sent.number == 1
    many = await topic.sendmany([order(2), order(3)])
    assert isinstance(many, SentMany)
    assert len(many) == len(list(many)) == 2
    assert len(log.all_payloads()) == 3


@on_loop
async def test_what_is_sent_first_is_written_first_without_being_awaited():
    log = FaultyLog(partitions=1)
    topic = topic_on(log)
    sent = [topic.send(order(number)) for number in range(500)]
    await sent[-1]
    assert numbers_in(log, 0) == list(range(500))
    assert [(await one).number for one in sent] == list(range(1, 501))


@on_loop
async def test_an_async_generator_is_sent_as_it_comes():
    log = FaultyLog(partitions=1)

    async def values():
        for number in range(1000):
            yield order(number)
            if number % 100 == 0:
                await asyncio.sleep(0)

    assert len(await topic_on(log, in_flight=7).sendmany(values())) == 1000
    assert numbers_in(log, 0) == list(range(1000))


@on_loop
async def test_errors_come_where_it_is_awaited():
    log = FaultyLog(partitions=1)
    log.fault = lambda *_: AccessDenied("no")
    topic = topic_on(log)
    with pytest.raises(ValueMisfit):
        topic.send({})
    with pytest.raises(AccessDenied):
        await topic.send(order(1))
    with pytest.raises(SendFailed):
        await topic.sendmany([order(1)])


@on_loop
async def test_the_loop_goes_on_while_a_log_is_slow():
    log, gate = FaultyLog(partitions=1), Gate()
    log.fault = gate
    sending = asyncio.ensure_future(_awaited(topic_on(log).sendmany(order(number) for number in range(20_000))))
    while not gate.reached.acquire(blocking=False):
        await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    assert not sending.done()
    gate.opened.set()
    assert len(await sending) == 20_000


async def _awaited(sent):
    return await sent


def test_an_async_generator_is_refused_where_there_is_no_loop():
    async def values():
        yield order(1)

    with pytest.raises(InvalidOption, match="await"):
        topic_on(FaultyLog()).sendmany(values())
    with pytest.raises(InvalidOption):
        topic_on(FaultyLog()).sendmany(order(1))
