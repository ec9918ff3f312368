"""What Bloop documents works as it is written there, but for the constructor (and arrow's `replace`, now `shift`)."""

from __future__ import annotations

import json
from pathlib import Path

import arrow
import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator
from tests.stream.helpers import identities, in_order, write


class Over(Exception):
    """Ends an example that is written as an endless loop."""


@pytest.fixture
def users(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """Five hours of changes, up to now: arrow's own clock is the service's."""
    monkeypatch.setattr(arrow, "now", lambda: arrow.get(sim.clock.now()))
    began = arrow.utcnow().shift(hours=-5).floor("second").timestamp()
    sim.clock.set(began)
    sim.shape("S0")
    write(sim, "S0", rounds=10, every=900)
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2", rounds=10, every=900)
    sim.clock.set(began + 5 * 3600)
    return sim


class Engine:
    """Stands where Bloop's engine stood."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.streams: list[Stream] = []

    def stream(self, position) -> Stream:
        source = DynamoDBStreams(self.sim.stream_arn, client=self.sim.client())
        self.streams.append(Stream(source, position, clock=self.sim.clock))
        return self.streams[-1]


@pytest.fixture
def engine(users: Simulator):
    made = Engine(users)
    yield made
    for stream in made.streams:
        stream.close()


def test_the_poll_loop(users: Simulator, engine: Engine):
    time = users.clock
    records, pauses = [], 0

    def process(record) -> None:
        records.append(record)

    stream = engine.stream("trim_horizon")
    with pytest.raises(Over):  # noqa: PT012
        while True:
            record = next(stream)
            if not record:
                time.sleep(0.2)
                pauses += 1
                if pauses > 100:
                    raise Over
            else:
                process(record)
    assert identities(records) == identities(in_order(users))


def test_a_token_to_json_and_back(users: Simulator, engine: Engine, tmp_path: Path):
    state = str(tmp_path / "state")
    previous_stream = engine.stream("trim_horizon")
    came = [next(previous_stream) for _ in range(4)]

    # Save the state to a file
    with open(state, "w") as f:
        json.dump(previous_stream.token, f)

    # Some time later, resume processing from the same point
    with open(state) as f:
        previous_token = json.load(f)
    stream = engine.stream(previous_token)

    assert identities([*came, next(stream)]) == identities(in_order(users)[:5])


def test_moving_around(users: Simulator, engine: Engine):
    stream = engine.stream("trim_horizon")
    first = next(stream)

    # Any stream token; this one rebuilds the
    # stream in its current location
    stream.move_to(stream.token)
    assert identities([next(stream)]) == identities(in_order(users)[1:2])

    # Jump back in time 2 hours
    stream.move_to(arrow.now().shift(hours=-2))
    record = next(stream)
    assert record["meta"]["created_at"] >= arrow.now().shift(hours=-2)
    assert identities([record]) == identities(in_order(users, since=users.clock.now() - 7200)[:1])

    # Move to the oldest record in the stream
    stream.move_to("trim_horizon")
    assert identities([next(stream)]) == identities([first])


def test_a_stream_twelve_hours_back(users: Simulator, engine: Engine):
    stream = engine.stream(arrow.now().shift(hours=-12))
    assert identities([next(stream)]) == identities(in_order(users)[:1])


def test_the_heartbeat_loop(users: Simulator, engine: Engine):
    records = []

    def process(record) -> None:
        users.clock.advance(30)
        if record is not None:
            records.append(record)
        if users.clock.monotonic() > 6 * 3600:
            raise Over

    stream = engine.stream("trim_horizon")
    with pytest.raises(Over):  # noqa: PT012
        next_heartbeat = arrow.now()
        while True:
            record = next(stream)
            process(record)
            if arrow.now() > next_heartbeat:
                next_heartbeat = arrow.now().shift(minutes=12)
                stream.heartbeat()
    assert identities(records) == identities(in_order(users))
    assert users.calls.total(outcome="ExpiredIteratorException") == 0


def test_the_record_structure(users: Simulator, engine: Engine):
    users.put(
        "S1",
        event="MODIFY",
        key={"id": 3},
        old={"id": 3, "email": "user@domain.com"},
        new={"id": 3, "email": "admin@domain.com"},
    )
    users.clock.advance(10)
    stream = engine.stream(arrow.get(users.clock.now()).shift(seconds=-15))
    record = next(stream)
    assert record["key"] == {"id": 3}
    assert record["old"] == {"id": 3, "email": "user@domain.com"}
    assert record["new"] == {"id": 3, "email": "admin@domain.com"}
    assert record["meta"]["event"]["type"] == "modify"
    assert record["meta"]["event"]["version"] == "1.1"
    assert record["meta"]["created_at"].humanize(arrow.get(users.clock.now())) == "10 seconds ago"
