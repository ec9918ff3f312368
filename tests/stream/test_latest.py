""" "latest" is a place in time: what is written after it is seen, over downtime, rolls and splits too."""

from __future__ import annotations

import json

import pytest

from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_none_lost, drain, identities, idle, in_order, take, write

BOTH = pytest.mark.parametrize("knows", [True, False], ids=["with AT_TIMESTAMP", "without it"])


@pytest.fixture
def old(sim: Simulator) -> Simulator:
    """A stream with an hour of records behind it, the last of them a minute ago."""
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0", rounds=5, every=600)
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2", "T0", rounds=3, every=60)
    return sim


def new(sim: Simulator, before: int):
    return in_order(sim, sim.history[before:])


@BOTH
def test_only_what_is_written_from_now_on_comes(old: Simulator, open_stream: Open, knows: bool):
    old.knobs.knows_at_timestamp = knows
    stream = open_stream("latest")
    before = len(old.history)
    idle(stream, old.clock, 40)
    write(old, "S2", "T0", "S1")
    assert identities(drain(stream, old.clock)) == identities(new(old, before))


@BOTH
def test_what_is_written_before_the_first_next_comes(old: Simulator, open_stream: Open, knows: bool):
    old.knobs.knows_at_timestamp = knows
    stream = open_stream("latest")
    before = len(old.history)
    write(old, "S2", "T0", "S1", rounds=4, every=30)
    old.clock.advance(minutes=40)  # longer than an iterator lives
    write(old, "S2")
    assert identities(drain(stream, old.clock)) == identities(new(old, before))


def test_it_may_repeat_lateness_and_a_second_of_earlier_writes_and_no_more(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    for _ in range(20):
        sim.put("S1")
        sim.clock.advance(0.5)
    began = sim.clock.now()
    records = drain(open_stream("latest", lateness=2.0), sim.clock)
    assert records
    assert identities(records) == identities(sim.history[-len(records) :]), "the last ones, without a gap"
    assert all(began - record.written_us / 1e6 <= 2.0 + 1.0 for record in sim.history[-len(records) :])


@BOTH
@pytest.mark.parametrize("downtime", [60, 3600, 20 * 3600], ids=["a minute", "an hour", "20 hours"])
def test_a_token_of_it_sees_what_was_written_while_nobody_read(
    old: Simulator, open_stream: Open, knows: bool, downtime: float
):
    old.knobs.knows_at_timestamp = knows
    stream = open_stream("latest")
    token = json.loads(json.dumps(stream.token))
    stream.close()
    before = len(old.history)
    write(old, "S1", "T0")
    old.clock.advance(downtime)
    write(old, "S2", "T0")
    assert identities(drain(open_stream(token), old.clock)) == identities(new(old, before))


@BOTH
def test_rolls_and_splits_meanwhile_lose_nothing(old: Simulator, open_stream: Open, knows: bool):
    old.knobs.knows_at_timestamp = knows
    stream = open_stream("latest")
    token = stream.token
    stream.close()
    before = len(old.history)
    old.roll("S1", "S3")
    write(old, "S3", "S2", "T0")  # S1 closed without a record of its own since
    old.split("S2", "S4", "S5")
    old.roll("S3", "S6")
    write(old, "S4", "S6", "S5")
    old.shape("U0")  # a family that was not there
    write(old, "U0", "T0")
    assert identities(drain(open_stream(token), old.clock)) == identities(new(old, before))


@BOTH
def test_it_holds_while_shards_roll_between_its_listing_and_the_first_call(
    old: Simulator, open_stream: Open, knows: bool
):
    old.knobs.knows_at_timestamp = knows
    stream = open_stream("latest")
    before = len(old.history)
    write(old, "S1", "S2", "T0", rounds=2)
    old.roll()
    write(old, *old.open_shards)
    old.roll()
    write(old, *old.open_shards)
    assert identities(drain(stream, old.clock)) == identities(new(old, before))


@BOTH
def test_a_leaf_that_was_closed_already_is_kept_for_its_children(old: Simulator, open_stream: Open, knows: bool):
    old.knobs.knows_at_timestamp = knows
    old.close_shard("T0")
    old.clock.advance(60)
    stream = open_stream("latest")
    before = len(old.history)
    old.shape("T0 => T1")
    write(old, "T1", "S1")
    assert identities(drain(stream, old.clock)) == identities(new(old, before))


@BOTH
def test_a_shard_that_the_listing_lacked_is_read_from_that_time(old: Simulator, open_stream: Open, knows: bool):
    old.knobs.knows_at_timestamp = knows
    old.clock.advance(60)
    old.hide("S2", passes=3)
    stream = open_stream("latest")
    before = len(old.history)
    write(old, "S2", "S1")
    assert_none_lost(drain(stream, old.clock, quiet=200), old.history[before:])  # listed once a minute


def test_a_quiet_table_resumes_after_days(old: Simulator, open_stream: Open):
    """The T of an idle lane follows its tip, so that it does not grow older than what the service holds."""
    stream = open_stream("latest")
    for _ in range(25):
        idle(stream, old.clock, 12)
        old.clock.advance(hours=2.5)
    token = stream.token
    stream.close()
    old.clock.advance(hours=20)
    before = len(old.history)
    write(old, "S1", "T0")
    assert identities(drain(open_stream(token), old.clock)) == identities(new(old, before))


def test_a_time_older_than_retention_is_a_gap(old: Simulator, open_stream: Open):
    from streamiter import RecordsExpired
    from tests.stream.helpers import until_raises

    token = open_stream("latest").token
    write(old, "T0")
    old.clock.advance(hours=26)
    write(old, "T0")
    _, error = until_raises(RecordsExpired, open_stream(token), old.clock)
    assert error.shard_id in {"S1", "S2", "T0"}


def test_it_lists_but_opens_nothing_by_itself(old: Simulator, open_stream: Open):
    old.calls.clear()
    open_stream("latest")
    assert set(old.calls.by_operation) == {"DescribeStream"}


def test_moving_there_leaves_the_backlog(old: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, old.clock, 3)
    stream.move_to("latest")
    before = len(old.history)
    write(old, "T0", "S2", "S1")
    assert identities(drain(stream, old.clock)) == identities(new(old, before))


@pytest.mark.parametrize("skew", [-300, 300], ids=["slow", "fast"])
@BOTH
def test_a_local_clock_that_is_wrong_changes_nothing(old: Simulator, open_stream: Open, skew: float, knows: bool):
    """It is the service's time that counts: the Date of its answers."""
    from streamiter.testing import ManualClock

    class Wrong(ManualClock):
        def now(self) -> float:
            return old.clock.now() + skew

        def monotonic(self) -> float:
            return old.clock.monotonic()

        def sleep(self, seconds: float) -> None:
            old.clock.sleep(seconds)

    old.knobs.knows_at_timestamp = knows
    stream = open_stream("latest", clock=Wrong())
    before = len(old.history)
    write(old, "S2", "T0", "S1")
    assert identities(drain(stream, old.clock)) == identities(new(old, before))
    token = stream.token
    write(old, "S2", "T0", "S1")
    resumed = open_stream(token, clock=Wrong())
    assert identities(drain(resumed, old.clock)) == identities(new(old, before + 9))


def test_without_a_date_the_local_clock_serves(old: Simulator, open_stream: Open):
    old.knobs.date = False
    stream = open_stream("latest")
    before = len(old.history)
    write(old, "S2", "T0", "S1")
    assert identities(drain(stream, old.clock)) == identities(new(old, before))


def test_a_listing_that_fails_at_first_is_tried_again(old: Simulator, open_stream: Open):
    old.fault("DescribeStream", kind="throttle", times=3)
    stream = open_stream("latest")
    before = len(old.history)
    write(old, "S2", "T0", "S1")
    assert identities(drain(stream, old.clock)) == identities(new(old, before))


@pytest.mark.outdoors
def test_a_listing_that_fails_for_good_leaves_nothing_open(old: Simulator, open_stream: Open, monkeypatch):
    import threading

    from streamiter import Throttled

    old.fault("DescribeStream", kind="throttle", times=None)
    started: list[threading.Thread] = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread), start(thread))[1])
    with pytest.raises(Throttled):
        open_stream("latest", patience=5)
    own = [thread for thread in started if not thread.name.startswith("simulator")]
    assert own
    assert not [thread for thread in own if thread.is_alive()]


def test_an_empty_listing_at_first_is_not_believed(old: Simulator, open_stream: Open):
    old.list_nothing(passes=1)
    stream = open_stream("latest")
    before = len(old.history)
    write(old, "S2", "T0", "S1")
    assert identities(drain(stream, old.clock)) == identities(new(old, before))
