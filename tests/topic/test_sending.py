"""Sending, by its promises: durable when it returns, in order by key, nothing lost and nothing twice unless it is told."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from itertools import count
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamiter.errors import (
    AccessDenied,
    InvalidOption,
    SendFailed,
    StreamiterError,
    Throttled,
    TransientError,
    ValueMisfit,
)
from streamiter.topic import Topic, Written
from streamiter.topic.routing import partition_of
from tests.stream.helpers import soon
from tests.topic.faults import FaultyLog, Gate
from tests.topic.sends import numbers_in, order, topic_on, waiting


def test_what_was_sent_stands_where_it_is_said():
    log = FaultyLog()
    sent = topic_on(log).send(order(7, "ann"))
    assert sent.partition == partition_of("ann", 4)
    (record,) = log.read(sent.partition, log.start(sent.partition), 10).records
    assert json.loads(record.raw_payload) == order(7, "ann")
    assert record.key == b"ann"


def test_a_key_of_its_own_goes_before_the_attribute():
    log = FaultyLog()
    sent = topic_on(log).send(order(7, "ann"), key=("eu", 7))
    assert sent.partition == partition_of(("eu", 7), 4)
    assert log.read(sent.partition, log.start(sent.partition), 1).records[0].key == b'["eu",7]'


def test_headers_go_along():
    log = FaultyLog()
    sent = topic_on(log).send(order(1), headers={"trace": b"\x01", "by": "shop"})
    assert log.read(sent.partition, log.start(sent.partition), 1).records[0].headers == (
        ("trace", b"\x01"),
        ("by", b"shop"),
    )
    with pytest.raises(InvalidOption):
        topic_on(log).send(order(1), headers=cast("dict[str, bytes]", {"trace": 7}))


def test_values_without_a_key_go_to_all_partitions_in_turn():
    log = FaultyLog(partitions=4)
    topic = Topic(log, name="orders")
    partitions = [topic.send({"n": number}).partition for number in range(8)]
    assert sorted(partitions[:4]) == sorted(partitions[4:]) == [0, 1, 2, 3]
    assert log.read(0, log.start(0), 1).records[0].key is None


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 5), max_size=200),
    st.integers(1, 5),
    st.integers(1, 50),
    st.booleans(),
)
def test_each_key_keeps_its_order_and_each_value_is_written_once(customers, partitions, in_flight, is_list):
    log = FaultyLog(partitions)
    values = [order(number, customer) for number, customer in enumerate(customers)]
    places = topic_on(log, in_flight=in_flight).sendmany(values if is_list else iter(values))
    by_customer = defaultdict(list)
    for value, place in zip(values, places, strict=True):
        assert json.loads(log.payloads(place.partition)[place.number - 1]) == value
        by_customer[value["customer"]].append(place)
    assert all(
        found == sorted(found) and len({place.partition for place in found}) == 1 for found in by_customer.values()
    )
    assert len(log.all_payloads()) == len(values)


def test_what_comes_while_an_append_is_under_way_is_written_together():
    log, gate = FaultyLog(partitions=1), Gate()
    topic = topic_on(log)
    topic.send(order(0))
    log.fault = gate
    threads = [threading.Thread(target=topic.send, args=(order(number),)) for number in range(1, 10)]
    threads[0].start()
    assert gate.reached.acquire(timeout=60)
    for thread in threads[1:]:
        thread.start()
    soon(lambda: waiting(topic) == 8)
    gate.opened.set()
    for thread in threads:
        thread.join(60)
    assert [size for _, size in log.appends] == [1, 1, 8]


def test_sendmany_takes_no_more_than_may_be_in_flight():
    log, gate, taken = FaultyLog(partitions=1), Gate(), []
    log.fault = gate

    def values():
        for number in range(100):
            taken.append(number)
            yield order(number)

    thread = threading.Thread(target=topic_on(log, in_flight=10).sendmany, args=(values(),))
    thread.start()
    soon(lambda: len(taken) >= 10)
    assert gate.reached.acquire(timeout=60)
    assert len(taken) == 10
    gate.opened.set()
    thread.join(60)
    assert numbers_in(log, 0) == list(range(100))


# -- refused before anything is written


def test_a_list_is_looked_through_before_anything_is_written():
    log = FaultyLog()
    with pytest.raises(ValueMisfit):
        topic_on(log).sendmany([order(1), {"id": 2}, order(3)])
    assert log.all_payloads() == []


def test_an_iterator_that_ends_with_an_error_has_sent_what_came_before():
    log = FaultyLog(partitions=1)
    values = [order(1), order(2), {"id": 3}, order(4)]
    with pytest.raises(SendFailed) as caught:
        topic_on(log).sendmany(iter(values))
    assert numbers_in(log, 0) == [1, 2]
    assert caught.value.places == [Written(0, 1), Written(0, 2)]
    assert isinstance(caught.value.__cause__, ValueMisfit)
    assert [value["id"] for value in caught.value.rest(values)] == [3, 4]


# -- a log that throttles, or is full


def test_a_full_log_is_waited_for_and_nothing_is_lost(clock):
    log = FaultyLog(partitions=1, clock=clock)
    left = [Throttled("it is full")] * 20
    log.fault = lambda *_: left.pop() if left else None
    assert topic_on(log, clock=clock).send(order(1)).number == 1
    assert numbers_in(log, 0) == [1]
    assert clock.slept > 5


def test_waiting_has_a_limit_by_choice_and_then_nothing_was_written(clock):
    log = FaultyLog(partitions=1, clock=clock)
    log.fault = lambda *_: Throttled("it is full")
    topic = topic_on(log, clock=clock, patience=5)
    with pytest.raises(Throttled, match="it is full"):
        topic.send(order(1))
    assert 5 <= clock.slept < 8
    with pytest.raises(SendFailed) as caught:
        topic.sendmany(order(number) for number in range(3))
    assert isinstance(caught.value.__cause__, Throttled)
    assert caught.value.doubtful == ()
    assert log.all_payloads() == []


def test_many_are_given_up_only_when_nothing_of_them_was_written_for_so_long(clock):
    log = FaultyLog(partitions=1, clock=clock)
    tries = count()
    log.fault = lambda *_: Throttled("slowly") if next(tries) % 4 else None
    topic = topic_on(log, clock=clock, patience=0.5, in_flight=1)
    assert len(topic.sendmany(order(number) for number in range(60))) == 60
    assert clock.slept > 1


# -- answers that are lost


def test_a_lost_answer_is_told_and_the_value_may_have_been_written():
    log = FaultyLog(partitions=1)
    log.fault, log.loses_answers = (lambda *_: TransientError("the answer is lost")), True
    with pytest.raises(TransientError):
        topic_on(log).send(order(1))
    assert numbers_in(log, 0) == [1]


def test_by_choice_it_is_sent_again_and_then_it_may_stand_there_twice(clock):
    log = FaultyLog(partitions=1, clock=clock)
    left = [TransientError("the answer is lost")] * 2
    log.fault, log.loses_answers = (lambda *_: left.pop() if left else None), True
    assert topic_on(log, clock=clock, on_doubt="repeat").send(order(1)).number == 3
    assert numbers_in(log, 0) == [1, 1, 1]


def test_repeating_has_its_limit_too_and_the_doubt_stays(clock):
    log = FaultyLog(partitions=1, clock=clock)
    log.fault = lambda *_: TransientError("nobody answers")
    topic = topic_on(log, clock=clock, on_doubt="repeat", patience=5)
    with pytest.raises(SendFailed) as caught:
        topic.sendmany(iter([order(1)]))
    assert caught.value.doubtful == (0,)


# -- a failure in the middle


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 60),
    st.integers(1, 4),
    st.sampled_from([TransientError, AccessDenied, RuntimeError]),
    st.booleans(),
    st.data(),
)
def test_a_failure_in_the_middle_tells_what_was_written_and_goes_on_exactly(how_many, partitions, kind, loses, data):
    log = FaultyLog(partitions)
    fails_at = data.draw(st.integers(0, max(0, how_many // 2)))
    tries = count()
    log.fault = lambda *_: kind("a bad day") if next(tries) == fails_at else None
    log.loses_answers = loses and kind is not AccessDenied  # that one says that nothing was written
    values = [order(number, number % 7) for number in range(how_many)]
    topic = topic_on(log, in_flight=data.draw(st.integers(1, 20)))
    try:
        topic.sendmany(iter(values))
    except SendFailed as error:
        failed = error
    else:
        assert sorted(json.loads(payload)["id"] for payload in log.all_payloads()) == list(range(how_many))
        return
    written = {json.loads(payload)["id"] for payload in log.all_payloads()}
    told = {number for number, place in enumerate(failed.places) if place is not None}
    assert told <= written
    assert written - told <= set(failed.doubtful)
    assert set(failed.unwritten) == set(range(len(failed.places))) - told
    if kind is AccessDenied:
        assert failed.doubtful == ()
        log.fault = lambda *_: None
        topic.sendmany(failed.rest(values))
        for partition in range(partitions):
            found = numbers_in(log, partition)
            by_customer = defaultdict(list)
            for number in found:
                by_customer[number % 7].append(number)
            assert all(numbers == sorted(numbers) for numbers in by_customer.values())
        assert sorted(json.loads(payload)["id"] for payload in log.all_payloads()) == list(range(how_many))


def test_what_one_sends_does_not_fail_for_another_s_entry_is_refused():
    log, gate = FaultyLog(partitions=1), Gate()
    topic = topic_on(log)
    topic.send(order(0))

    def fault(partition, entries):
        if not gate.opened.is_set():
            gate(partition, entries)
        return AccessDenied("too large") if any(b"666" in entry.payload for entry in entries) else None

    log.fault = fault
    told = {}

    def send(number):
        try:
            told[number] = topic.send(order(number))
        except StreamiterError as error:
            told[number] = error

    threads = [threading.Thread(target=send, args=(number,)) for number in (1, 2, 666, 3)]
    threads[0].start()
    assert gate.reached.acquire(timeout=60)
    for thread in threads[1:]:
        thread.start()
    soon(lambda: waiting(topic) == 3)
    gate.opened.set()
    for thread in threads:
        thread.join(60)
    assert isinstance(told[666], AccessDenied)
    assert sorted(numbers_in(log, 0)) == [0, 1, 2, 3]
