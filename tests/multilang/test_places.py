"""Which places a child keeps: by its own choice, behind each batch, now and then, and at the end of a shard."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter.errors import InvalidOption
from streamiter.multilang import Batch, Record, wire
from tests.multilang.daemon import START, AnsweringPipe, HandClock, Seen, batch, nothing, number, talk

ENDED, LOST, LEAVE = wire.ShardEnded(), wire.LeaseLost(), wire.ShutdownRequested()


def test_behind_each_batch_its_last_record_is_kept():
    pipe = AnsweringPipe(START, batch(1, 2), batch((3, 0), (3, 1)))
    talk(nothing, pipe)
    assert pipe.places == [(number(2), 0), (number(3), 1)]
    assert pipe.statuses == ["initialize", "processRecords", "processRecords"]


def test_a_place_is_kept_before_the_batch_is_answered():
    pipe = AnsweringPipe(START, batch(1))
    talk(nothing, pipe)
    assert [type(said).__name__ for said in pipe.said] == ["Status", "Ask", "Status"]


def test_an_empty_batch_keeps_nothing():
    pipe = AnsweringPipe(START, batch())
    talk(nothing, pipe)
    assert pipe.places == []


def test_every_so_many_seconds_and_before_it_leaves():
    clock = HandClock()

    def process(_: Batch) -> None:
        clock.at += 4

    pipe = AnsweringPipe(START, batch(1), batch(2), batch(3), batch(4), LEAVE, LOST)
    talk(process, pipe, checkpoint=10, clock=clock)
    assert pipe.places == [(number(3), 0), (number(4), 0)]


def test_never_is_never_but_at_the_end_of_the_shard():
    pipe = AnsweringPipe(START, batch(1), LEAVE, batch(2), ENDED)
    talk(nothing, pipe, checkpoint="never")
    assert pipe.places == [(None, None)]


def test_what_the_processor_kept_is_not_kept_again():
    def process(got: Batch) -> None:
        got.checkpoint()

    pipe = AnsweringPipe(START, batch(1, 2), ENDED)
    talk(process, pipe)
    assert pipe.places == [(number(2), 0), (None, None)]


def test_a_processor_that_keeps_the_end_of_the_shard_itself_is_not_asked_twice():
    class Own(Seen):
        def shard_ended(self, last: Any) -> None:  # type: ignore[override]
            last.checkpoint()

    pipe = AnsweringPipe(START, ENDED)
    talk(Own(), pipe)
    assert pipe.places == [(None, None)]


def test_an_earlier_place_of_the_processors_own_does_not_stand_for_the_end():
    class Own(Seen):
        def process(self, batch: Batch) -> None:
            self.last = batch[0]

        def shard_ended(self, last: Any) -> None:  # type: ignore[override]
            last.checkpoint(self.last)

    pipe = AnsweringPipe(START, batch(1, 2), ENDED)
    talk(Own(), pipe, checkpoint="never")
    assert pipe.places == [(number(1), 0), (None, None)]


@pytest.mark.parametrize(
    "asked, place",
    [((), (None, None)), (("77",), ("77", None)), ((77, 3), ("77", 3)), (("SHARD_END",), ("SHARD_END", None))],
)
def test_a_place_may_be_a_number_with_a_sub_number_or_none(asked, place):
    def process(got: Batch) -> None:
        got.checkpointer.checkpoint(*asked)

    pipe = AnsweringPipe(START, batch(1))
    talk(process, pipe, checkpoint="never")
    assert pipe.places == [place]


@pytest.mark.parametrize("wrong", [1.5, True, b"77", Record({})])
def test_what_is_no_place_is_refused_before_the_daemon_hears_of_it(wrong):
    def process(got: Batch) -> None:
        got.checkpointer.checkpoint(wrong)

    pipe = AnsweringPipe(START, batch(1))
    with pytest.raises(InvalidOption):
        talk(process, pipe)
    assert pipe.places == []
