"""`until=`: where `follow` and `batches` end, and where the token then stands."""

from __future__ import annotations

from datetime import UTC, datetime

import arrow
import pytest

from streamiter import InvalidOption
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_came, drain, in_order, write


@pytest.fixture
def written(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S2", "S1", rounds=10)
    return sim


def before(sim: Simulator, time: float) -> list:
    return [record for record in in_order(sim) if record.created < time]


@pytest.mark.parametrize("after", [0, 1, 3, 9])
def test_it_ends_before_a_time_and_the_token_stands_there(written: Simulator, open_stream: Open, after):
    end = written.history[0].created + after
    stream = open_stream()
    came = list(stream.follow(until=datetime.fromtimestamp(end, UTC)))
    assert_came(came, before(written, end))
    assert_came(drain(open_stream(stream.token), written.clock), in_order(written)[len(came) :], clock=len(came))


def test_batches_end_before_a_time_too(written: Simulator, open_stream: Open):
    end = written.history[0].created + 4
    stream = open_stream()
    batches = list(stream.batches(3, until=arrow.get(end)))
    assert_came([record for batch in batches for record in batch], before(written, end))
    assert batches[-1].token == stream.token
    assert len(drain(stream, written.clock)) == len(written.history) - len(before(written, end)), "it goes on after it"


def test_what_next_had_sorted_already_does_not_go_beyond_the_end(written: Simulator, open_stream: Open):
    stream = open_stream()
    end = written.history[0].created + 3
    came = [record for _, record in zip(range(2), stream.follow(), strict=False)]
    came += stream.follow(until=arrow.get(end))
    assert_came(came, before(written, end))


def test_a_time_to_come_is_waited_for_and_ends_though_nothing_is_written_after_it(
    written: Simulator, open_stream: Open
):
    end = written.clock.now() + 60
    stream = open_stream()
    came = []
    for record in stream.follow(until=arrow.get(end)):
        came.append(record)
        if len(came) == 20:
            written.put("S1")
    assert_came(came, in_order(written))
    assert end <= written.clock.now() < end + 30


def test_caught_up_ends_follow_as_it_does_batches(written: Simulator, open_stream: Open):
    stream = open_stream()
    assert_came(list(stream.follow(until="caught_up")), in_order(written))
    assert list(stream.follow(until="caught_up")) == []
    written.put("S2")
    assert len(list(stream.follow(until="caught_up"))) == 1


@pytest.mark.parametrize("until", ["end", 7, True, b"caught_up"])
def test_until_is_one_of_what_is_known(open_stream: Open, until):
    with pytest.raises(InvalidOption, match="until= takes 'caught_up', a time"):
        open_stream().follow(until=until)
