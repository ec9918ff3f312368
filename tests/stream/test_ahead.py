"""A record created far ahead of the service's clock holds its lineage: it is told which one, and `skip()` goes past it."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

import pytest

from streamiter import InvalidOption, RecordAhead
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import drain, identities, take, write
from tests.stream.telling import Told

FAR = datetime(2099, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    """S1 has a record of 2099 between others; S2 goes on all the while."""
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=2)
    sim.put("S1", key="far", created=FAR)
    write(sim, "S1", "S2", rounds=2)
    return sim


def far(sim: Simulator) -> tuple[str, str]:
    record = next(record for record in sim.history if record.created == FAR)
    return record.shard_id, record.sequence_number


def before_and_after(sim: Simulator) -> tuple[list, list]:
    """What is not held, and what waits for 2099, without the record itself."""
    found = identities(sim.history)
    at = found.index(far(sim))
    held = [record for record in found[at + 1 :] if record[0] == far(sim)[0]]
    return [record for record in found if record not in held and record != far(sim)], held


def test_held_by_names_its_shard_and_how_far_ahead_it_is(users: Simulator, open_stream: Open):
    stream = open_stream()
    came = drain(stream, users.clock)
    free, held = before_and_after(users)
    assert sorted(identities(came)) == sorted(free) and held
    stats = stream.stats
    assert stats.held_by == far(users)[0]
    assert stats.held_ahead == pytest.approx(FAR - users.clock.now(), abs=5)


def test_an_event_and_a_log_line_tell_of_it_once(
    users: Simulator, open_stream: Open, told: Told, caplog: pytest.LogCaptureFixture
):
    stream = open_stream(on_event=told.append)
    with caplog.at_level(logging.WARNING, "streamiter.stream"):
        drain(stream, users.clock)
        write(users, "S2", rounds=3)
        drain(stream, users.clock)
    (event,) = told.of(RecordAhead)
    assert (event.shard_id, event.sequence_number) == far(users)
    assert event.seconds == pytest.approx(FAR - users.clock.now(), abs=200)
    (line,) = [record.getMessage() for record in caplog.records if "ahead" in record.getMessage()]
    assert all(words in line for words in (*far(users), "skip()", "lateness=None"))


def test_skip_goes_past_it_and_its_time_counts_for_nothing(users: Simulator, open_stream: Open):
    stream = open_stream()
    came = identities(drain(stream, users.clock))
    stream.skip()
    token = json.loads(json.dumps(stream.token))
    rest = drain(stream, users.clock)
    free, held = before_and_after(users)
    assert identities(rest) == held
    assert stream.stats.poison == 1 and stream.stats.held_ahead == 0 and stream.stats.held_by is None
    assert [record.clock for record in rest] == list(range(len(came) + 1, len(came) + len(rest) + 1))
    write(users, "S1", "S2", rounds=2)
    more = drain(stream, users.clock)
    assert len(more) == 4 and not [record for record in more if record.late]
    assert identities(drain(open_stream(token), users.clock)) == held + identities(more), "it stays skipped"
    assert sorted(free) == sorted(came)


def test_each_of_several_is_skipped_by_itself(users: Simulator, open_stream: Open, told: Told):
    users.put("S1", created=FAR + 5)
    users.put("S1", created=FAR)
    stream = open_stream(on_event=told.append)
    came = drain(stream, users.clock)
    for skips in range(1, 4):
        assert len(told.of(RecordAhead)) == skips
        stream.skip()
        came += drain(stream, users.clock)
    assert len(came) == len(users.history) - 3 and len(set(identities(came))) == len(came)
    assert len(told.of(RecordAhead)) == 3
    with pytest.raises(InvalidOption, match="nothing to skip"):
        stream.skip()


def test_children_wait_with_it_and_go_on_after_it(users: Simulator, open_stream: Open):
    users.split("S1", "S3", "S4")
    write(users, "S3", "S2", "S4", rounds=2)
    stream = open_stream()
    came = drain(stream, users.clock)
    assert {record.shard_id for record in came} == {"S1", "S2"} and stream.stats.held_by == "S1"
    stream.skip()
    came += drain(stream, users.clock)
    assert sorted(identities(came)) == sorted(set(identities(users.history)) - {far(users)})


def test_where_it_came_out_already_its_time_is_forgotten_and_nothing_is_left_out(sim: Simulator, open_stream: Open):
    """A single shard holds nothing back: the record of 2099 comes out, and then holds what follows it."""
    sim.shape("S1")
    sim.put("S1", created=FAR)
    stream = open_stream()
    first = take(stream, sim.clock, 1)
    sim.shape("S1 ~ S2")
    assert drain(stream, sim.clock, quiet=90) == []  # until S2 is listed
    write(sim, "S1", "S2", rounds=2)
    came = drain(stream, sim.clock)
    assert {record.shard_id for record in came} == {"S2"} and stream.stats.held_by == "S1"
    stream.skip()
    came += drain(stream, sim.clock)
    assert sorted(identities(first + came)) == sorted(identities(sim.history))
    write(sim, "S1", "S2", rounds=2)
    more = drain(stream, sim.clock)
    assert len(more) == 4 and not [record for record in more if record.late], "order holds again"


def test_without_order_nothing_waits_for_it(users: Simulator, open_stream: Open, told: Told):
    stream = open_stream(lateness=None, on_event=told.append)
    assert sorted(identities(drain(stream, users.clock))) == sorted(identities(users.history))
    assert not told.of(RecordAhead) and stream.stats.held_ahead == 0


def test_a_shard_that_does_not_answer_is_named_before_it(users: Simulator, open_stream: Open, told: Told):
    users.fault("GetRecords", "S2", kind="500", times=None)
    stream = open_stream(patience=3600, on_event=told.append)
    drain(stream, users.clock, quiet=30)
    assert stream.stats.held_by == "S2" and not told.of(RecordAhead)


@pytest.mark.parametrize("seconds", [1, 30])
def test_clocks_that_differ_a_little_are_not_worth_a_word(sim: Simulator, open_stream: Open, told: Told, seconds: int):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    sim.put("S1", created=sim.clock.now() + seconds)
    stream = open_stream(on_event=told.append)
    assert len(drain(stream, sim.clock, quiet=60)) == len(sim.history)
    assert not told.of(RecordAhead)
