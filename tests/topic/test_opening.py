"""A topic and its log: partitions that are made, that grow, that others add; options that cannot be meant."""

from __future__ import annotations

import pytest

from streamiter.errors import (
    InvalidOption,
    InvalidStream,
    SendFailed,
    TransientError,
)
from streamiter.log import MemoryLog
from streamiter.source import Source
from streamiter.topic import Topic
from streamiter.topic.routing import partition_of
from tests.topic.faults import FaultyLog
from tests.topic.sends import order, topic_on


def test_partitions_are_made_where_there_is_no_log():
    log = MemoryLog(partitions=1)
    topic = Topic(log, name="orders", partitions=8)
    assert len(topic.list_shards(None).shards) == 8


def test_more_partitions_are_refused_where_keys_would_move():
    log = FaultyLog(partitions=4)
    topic_on(log).send(order(1))
    with pytest.raises(InvalidOption, match="grows=True"):
        topic_on(log, partitions=8).send(order(2))
    assert log.partitions() == 4
    topic_on(log, partitions=8, grows=True).send(order(2))
    assert log.partitions() == 8


def test_fewer_partitions_are_told_and_all_are_used(caplog):
    log = FaultyLog(partitions=4)
    topic = topic_on(log, partitions=2)
    assert topic.send(order(1, "ann")).partition == partition_of("ann", 4)
    assert "partitions=4" in caplog.text


def test_a_writer_finds_out_that_another_one_added_partitions(clock, caplog):
    log = FaultyLog(partitions=2, clock=clock)
    topic = topic_on(log, clock=clock)
    topic.send(order(1))
    log.grow(16)
    for _ in range(1000):
        clock.advance(1)
        topic.send(order(1))
        if "16 partitions now" in caplog.text:
            break
    assert topic.send(order(9, "zoe")).partition == partition_of("zoe", 16)


def test_a_log_that_there_is_not_is_told():
    class NoLog(MemoryLog):
        def partitions(self) -> int:
            raise InvalidStream("there is no such log")

    with pytest.raises(InvalidStream, match="no such log; if topic orders is to be made, .* partitions=8"):
        Topic(NoLog(), name="orders").send(1)
    with pytest.raises(SendFailed):
        Topic(NoLog(), name="orders").sendmany(iter([1]))


def test_a_topic_that_was_closed_is_opened_by_its_next_use():
    log = FaultyLog()
    topic = topic_on(log)
    topic.send(order(1))
    topic.close()
    topic.send(order(2))
    assert len(log.all_payloads()) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"partitions": 0},
        {"partitions": "8"},
        {"patience": -1},
        {"on_doubt": "never"},
        {"in_flight": 0},
        {"name": "a/b"},
        {"grows": "yes"},
        {"clock": 7},
        {"partition_by": 7},
        {"partition_by": ()},
        {"codec": object()},
    ],
)
def test_options_that_cannot_be_meant_are_refused(wrong):
    with pytest.raises((InvalidOption, TypeError)):
        Topic(MemoryLog(), **({"name": "orders"} | wrong))


def test_a_topic_passes_on_whatever_a_source_does():
    own = {"precision", *Source.__annotations__}  # its traits are the log's
    methods = {
        name
        for name, value in vars(Source).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, property))
    }
    assert methods - own <= vars(Topic).keys()
    log = MemoryLog(partitions=2)
    assert {name: getattr(Topic(log, name="orders"), name) for name in Source.__annotations__ if name != "model"} == {
        name: getattr(log, name) for name in Source.__annotations__ if name != "model"
    }


def test_a_log_that_does_not_answer_at_first_is_waited_for_and_then_told_of(clock):
    class Sleepy(FaultyLog):
        misses = 3

        def partitions(self) -> int:
            if self.misses:
                self.misses -= 1
                raise TransientError("it is starting")
            return super().partitions()

    topic = topic_on(Sleepy(clock=clock), clock=clock)
    assert topic.send(order(1)).number == 1
    never = Sleepy(clock=clock)
    never.misses = 1 << 30
    before = clock.monotonic()
    with pytest.raises(TransientError, match="it is starting"):
        topic_on(never, clock=clock).send(order(1))
    assert 55 < clock.monotonic() - before < 70
    with pytest.raises(SendFailed) as caught:
        topic_on(never, clock=clock, patience=3).sendmany(iter([order(1), order(2)]))
    assert caught.value.doubtful == ()
