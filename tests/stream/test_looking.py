"""To look at a stream changes nothing of it; what is closed, or what on_event may not do, is refused by name."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from streamiter import DynamoDBStreams, RecordsExpired, Stream, StreamiterError
from streamiter.testing import Simulator
from tests.indoors import IndoorSimulator
from tests.stream.conftest import Open
from tests.stream.family import family, numbers, read
from tests.stream.helpers import assert_all_came, drain, write


def look(stream: Stream) -> None:
    for _ in range(3):
        _ = stream.token, stream.stats, stream.ended, stream.lineage, repr(stream)


def test_whoever_looks_after_each_record_gets_the_same_ones():
    found = []
    for looks in (True, False):
        with IndoorSimulator("S0 ~ T0") as sim:
            write(sim, "S0", "T0", rounds=20)
            sim.shape("S0 => {S1, S2}")
            write(sim, "S1", "T0", "S2", rounds=20)
            with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
                came = []
                while len(came) < len(sim.history):
                    record = next(stream)
                    if looks:
                        look(stream)
                    if record is None:
                        sim.clock.advance(0.5)
                    else:
                        came.append((record.shard_id, record.sequence_number, record.clock, record.order_key))
                found.append((came, stream.token["high"]))
    assert found[0] == found[1]


# -- closed


@pytest.mark.parametrize(
    "turn",
    [
        next,
        lambda stream: stream.follow(),
        lambda stream: stream.follow(until="caught_up"),
        lambda stream: stream.batches(5),
        lambda stream: stream.to_arrow(),
    ],
    ids=["next", "follow", "follow until", "batches", "to_arrow"],
)
def test_what_is_closed_says_so_whatever_is_asked_of_it(turn: Callable[[Stream], Any]):
    stream = read(family())
    token = stream.token
    stream.close()
    with pytest.raises(StreamiterError, match=r"this stream is closed; make a new one from its token to read on"):
        turn(stream)
    assert stream.token == token
    assert stream.stats.records == 0


def test_what_was_being_followed_just_ends_with_close():
    stream = read(family())
    following, batches = stream.follow(), stream.batches(2)
    assert numbers([next(following)]) == [1]
    assert numbers(next(batches)) == [2, 3]
    stream.close()
    assert (list(following), list(batches)) == ([], [])


# -- told


ARGUMENTS: dict[str, tuple[object, ...]] = {"batches": (5,), "move_to": ("trim_horizon",)}


@pytest.mark.parametrize("turn", ["follow", "batches", "to_arrow", "move_to"])
def test_refused_in_on_event_it_costs_nothing(sim: Simulator, open_stream: Open, turn: str):
    refusals: list[str] = []

    def on_event(event: object) -> None:
        try:
            getattr(stream, turn)(*ARGUMENTS.get(turn, ()))
        except StreamiterError as error:
            refusals.append(str(error))

    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=5)
    sim.fault("GetRecords", "S1", kind="throttle", times=1)
    stream = open_stream(on_event=on_event, concurrency=1)
    assert_all_came(drain(stream, sim.clock, quiet=3), sim)
    assert refusals
    assert all("on_event=" in refusal for refusal in refusals)
    opened = [call.shard for call in sim.calls if call.operation == "GetShardIterator"]
    assert sorted(opened) == sorted(set(opened)), "nothing was read anew"


# -- gaps and tables


def test_a_table_goes_past_a_gap_that_skip_accepted(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=6)
    first = open_stream()
    for _ in range(2):
        first.to_arrow()
    write(sim, "S1", "S2", rounds=4)
    token = first.token
    sim.trim("S1", before=8)
    stream = open_stream(token)
    with pytest.raises(RecordsExpired):
        stream.to_arrow()
    assert stream.token == token
    stream.skip()
    table = stream.to_arrow()
    assert table.num_rows >= 4
    assert stream.stats.gaps == 1


# -- copies


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_a_stream_cannot_be_copied_and_says_what_can_be_sent(copied: Callable[[Any], Any]):
    with (
        read(family()) as stream,
        pytest.raises(StreamiterError, match=r"cannot be pickled or copied.*Stream\(source, token\)"),
    ):
        copied(stream)
