"""One engine, event by event; and small fleets in which one thing happens."""

from __future__ import annotations

from streamiter.lease import Engine, Lease, Pace, Shards, Worker, operator
from streamiter.lease.lease import TOTAL
from streamiter.lease.wishes import (
    Begin,
    DeleteWorker,
    Deliver,
    Fetch,
    Leave,
    ListShards,
    Look,
    Stop,
    WriteLease,
    WriteWorker,
)
from streamiter.shard import Shard
from tests.lease.fleet import FAILOVER, LEASES, Fleet

SECOND = 1_000_000
PACE = Pace(failover_us=10 * SECOND)


def only(engine: Engine, kind: type) -> list:
    """The wishes of one kind; the others are passed over."""
    return [wish for wish in engine.take_wishes() if isinstance(wish, kind)]


def begun(leases: list[Lease], now: int = 0) -> Engine:
    """An engine that has looked once, and that others can see."""
    engine = Engine("me", now, shards=Shards("TRIM_HORIZON"), pace=PACE)
    look, write = sorted(engine.take_wishes(), key=lambda wish: isinstance(wish, WriteWorker))
    assert isinstance(look, Look)
    engine.written(write, 1, now)
    engine.looked(leases, [Worker("me", 1)], now)
    return engine


def holding(now: int = 0) -> tuple[Engine, Lease]:
    """An engine that holds S1."""
    engine = begun([Lease("S1", 1)], now)
    (take,) = only(engine, WriteLease)
    engine.written(take, 2, now)
    return engine, take.lease._replace(version=2)


def test_it_begins_with_a_look_and_its_own_row():
    engine = Engine("me", 0, shards=Shards("TRIM_HORIZON"), pace=PACE)
    assert {type(wish) for wish in engine.take_wishes()} == {Look, WriteWorker}
    assert engine.take_wishes() == []


def test_nothing_is_taken_before_the_others_can_see_us():
    engine = Engine("me", 0, shards=Shards("TRIM_HORIZON"), pace=PACE)
    (write,) = only(engine, WriteWorker)
    engine.looked([Lease("S1", 1)], [], 0)
    assert only(engine, WriteLease) == []
    engine.written(write, 1, 0)
    assert [wish.lease.owner for wish in only(engine, WriteLease)] == ["me"]


def test_an_empty_store_is_filled_from_a_listing():
    engine = begun([])
    engine.tick(0)
    assert only(engine, ListShards)
    engine.shards_listed([Shard("S1"), Shard("S2", ("S1",))], 0, 0)
    (create,) = only(engine, WriteLease)
    assert (create.lease.key, create.expected) == ("S1", None)
    engine.written(create, 1, 0)
    wishes = only(engine, WriteLease)
    assert {(wish.lease.key, wish.lease.owner) for wish in wishes} == {("S2", None), ("S1", "me")}


def test_what_is_taken_is_begun_fetched_and_delivered():
    engine, lease = holding()
    wishes = engine.take_wishes()
    assert [type(wish) for wish in wishes] == [Begin, Fetch]
    assert wishes[1] == Fetch("S1", 1, "TRIM_HORIZON")
    engine.paged("S1", 1, [("1", None, "a"), ("2", None, "b")], 0)
    (deliver,) = only(engine, Deliver)
    assert [entry.record for entry in deliver.entries] == ["a", "b"]
    assert engine.may_deliver("S1", 1, 0)
    assert not engine.may_deliver("S1", 2, 0)
    assert not engine.may_deliver("S2", 1, 0)
    assert engine.held == {"S1": lease}


def test_a_renewal_carries_the_checkpoint_and_nothing_is_delivered_when_it_is_late():
    engine, _ = holding()
    engine.paged("S1", 1, [("1", None, "a")], 0)
    engine.acked("S1", 1, [0], 0)
    engine.take_wishes()
    engine.tick(PACE.renew_us)
    (renewal,) = only(engine, WriteLease)
    assert (renewal.lease.checkpoint, renewal.expected) == ("1", 2)
    engine.paged("S1", 1, [("2", None, "b")], 8 * SECOND)
    assert only(engine, Deliver) == []
    assert not engine.may_deliver("S1", 1, 8 * SECOND)
    engine.written(renewal, 3, 8 * SECOND)  # the answer is late: what counts is when it was sent
    assert [wish.entries[0].record for wish in only(engine, Deliver)] == ["b"]
    assert engine.may_deliver("S1", 1, PACE.renew_us + 8 * SECOND - 1)
    assert not engine.may_deliver("S1", 1, PACE.renew_us + 8 * SECOND)


def test_what_a_row_says_of_the_work_is_written_with_the_next_renewal_and_goes_with_the_owner():
    engine, _ = holding()
    engine.paged("S1", 1, [("1", None, "a"), ("2", None, "b")], 0)
    engine.take_wishes()
    engine.acked("S1", 1, [0], 0)
    told: list[object] = []

    def work(acked: int, oldest: object) -> dict[str, int]:
        told.append((acked, oldest))
        return {"acked": acked, "rate": 60, "lag": 4, "busy": 7}

    engine.describe("S1", 1, work)
    engine.describe("S1", 2, work)
    assert told == [(1, "b")], "of the lease in its hands alone"
    assert only(engine, WriteLease) == [], "no write of its own"
    engine.tick(PACE.renew_us)
    (renewal,) = only(engine, WriteLease)
    assert {"acked": 1, "rate": 60, "lag": 4, "busy": 7}.items() <= renewal.lease.progress.items()
    engine.written(renewal, 3, PACE.renew_us)
    engine.acked("S1", 1, [1], PACE.renew_us)
    engine.leave(PACE.renew_us)
    (release,) = only(engine, WriteLease)
    assert release.lease.owner is None and release.lease.progress["acked"] == 1
    assert not {"rate", "lag", "busy"} & set(release.lease.progress)


def test_a_renewal_whose_answer_was_lost_is_recognised():
    engine, _ = holding()
    engine.take_wishes()
    engine.tick(PACE.renew_us)
    (renewal,) = only(engine, WriteLease)
    engine.failed(renewal, 5 * SECOND)
    engine.tick(5 * SECOND + PACE.retry_us)
    (again,) = only(engine, WriteLease)
    assert (again.lease, again.expected) == (renewal.lease, renewal.expected)
    engine.refused(again, renewal.lease._replace(version=3), 6 * SECOND)
    assert engine.held["S1"].version == 3
    assert engine.may_deliver("S1", 1, PACE.renew_us + 8 * SECOND - 1)  # from the first try on
    assert not engine.may_deliver("S1", 1, PACE.renew_us + 8 * SECOND)


def test_a_renewal_that_another_was_before_ends_the_hold():
    engine, lease = holding()
    engine.take_wishes()
    engine.tick(PACE.renew_us)
    (renewal,) = only(engine, WriteLease)
    engine.refused(renewal, lease._replace(version=3, owner="other", fence=2), 4 * SECOND)
    assert only(engine, Stop) == [Stop("S1", 1, "lost")]
    assert not engine.may_deliver("S1", 1, 4 * SECOND)
    engine.acked("S1", 1, [0], 4 * SECOND)  # comes too late, and means nothing
    assert engine.held == {}


def test_a_scan_that_shows_another_owner_ends_the_hold_at_once():
    engine, lease = holding()
    engine.tick(PACE.look_us)
    engine.take_wishes()
    engine.looked([lease._replace(version=5, owner="other", fence=2)], [Worker("me", 1)], PACE.look_us)
    assert only(engine, Stop) == [Stop("S1", 1, "lost")]


def test_a_gap_is_written_and_stops_deliveries_until_it_is_accepted():
    engine, _ = holding()
    engine.take_wishes()
    engine.found_gap("S1", 1, "trimmed", 0)
    (write,) = only(engine, WriteLease)
    assert write.lease.progress["gap"] == "trimmed"
    engine.written(write, 3, 0)
    assert only(engine, Fetch) == []
    engine.accept_gap("S1", SECOND)
    assert only(engine, Fetch) == [Fetch("S1", 1, "TRIM_HORIZON")]


def test_a_lease_with_a_gap_is_taken_and_not_read():
    engine = begun([Lease("S1", 1, checkpoint="7", progress={"gap": "trimmed"})])
    (take,) = only(engine, WriteLease)
    engine.written(take, 2, 0)
    assert [type(wish) for wish in engine.take_wishes()] == [Begin]


def test_a_page_that_fails_is_asked_for_again():
    engine, _ = holding()
    engine.take_wishes()
    engine.fetch_at("S1", 1, again_us=2 * SECOND)
    engine.tick(SECOND)
    assert only(engine, Fetch) == []
    engine.tick(2 * SECOND)
    assert only(engine, Fetch) == [Fetch("S1", 1, "TRIM_HORIZON")]


def test_an_empty_page_rests():
    engine, _ = holding()
    engine.take_wishes()
    engine.paged("S1", 1, [], 0, again_us=SECOND)
    assert only(engine, Fetch) == []
    engine.tick(SECOND)
    assert len(only(engine, Fetch)) == 1


def test_who_has_nothing_leaves_at_once():
    engine = begun([])
    engine.leave(0)
    (write,) = only(engine, WriteWorker)
    assert write.worker.leaving
    engine.written(write, 2, 0)
    assert [type(wish) for wish in engine.take_wishes()] == [DeleteWorker, Leave]


def test_after_the_graces_it_leaves_whatever_the_store_says():
    engine, _ = holding()
    engine.take_wishes()
    engine.leave(0)
    engine.tick(PACE.grace_us + PACE.failover_us)
    assert only(engine, Leave)
    assert engine.due_us is None


def test_a_total_lease_is_made_taken_and_ended():
    engine = Engine("me", 0, shards=None, start="TRIM_HORIZON", pace=PACE)
    (write,) = only(engine, WriteWorker)
    engine.written(write, 1, 0)
    engine.looked([], [], 0)
    (create,) = only(engine, WriteLease)
    engine.written(create, 1, 0)
    (take,) = only(engine, WriteLease)
    engine.written(take, 2, 0)
    engine.ended(TOTAL, 1, 0)
    (done,) = only(engine, WriteLease)
    assert done.lease.completed


# -- small fleets


def test_a_hand_over_finishes_what_is_out_and_nothing_comes_again():
    fleet = Fleet(4)
    fleet.join("w0")
    fleet.run(5)
    fleet.append()
    fleet.run(5)
    fleet.join("w1")
    fleet.append()
    fleet.run(20)
    assert fleet.observer.owned(["w0", "w1"]) == {"w0": 2, "w1": 2}
    assert fleet.observer.moves == 2
    assert sorted(fleet.observer.prefix.values()) == [10, 10, 10, 10]
    assert fleet.observer.deliveries == 40


def test_since_when_is_told_by_the_wall_clock():
    fleet = Fleet(1)
    fleet.join("w0")
    fleet.run(2)
    assert fleet.lease(fleet.ids[0]).progress["since"] in range(1_750_000_000, 1_750_000_003)


def test_an_operator_asks_for_a_lease_and_another_worker_takes_it():
    fleet = Fleet(1)
    fleet.join("w0")
    fleet.run(3)
    fleet.join("w1")
    fleet.run(15)
    (key,) = fleet.ids
    owner = fleet.lease(key).owner
    fleet.observer.store.watchers.clear()
    operator.release(fleet.as_store, LEASES, key, by_force=False)
    fleet.run(9)
    assert fleet.lease(key).owner not in (owner, None)
    assert "release" not in fleet.lease(key).progress


def test_by_force_a_lease_is_waited_out():
    fleet = Fleet(1)
    stuck = fleet.join("w0")
    fleet.run(3)
    (key,) = fleet.ids
    stuck.stop()
    fleet.join("w1")
    fleet.run(1)
    lease = operator.release(fleet.as_store, LEASES, key, by_force=True)
    assert (lease.owner, lease.fence) == (operator.OPERATOR, 2)
    fleet.agenda.run_until(fleet.agenda.now + FAILOVER - SECOND)
    assert fleet.lease(key).owner == operator.OPERATOR
    fleet.agenda.run_until(fleet.agenda.now + FAILOVER // 2)
    assert (fleet.lease(key).owner, fleet.lease(key).fence) == ("w1", 3)
    stuck.go_on()
    fleet.agenda.run_until(fleet.agenda.now + FAILOVER)
    assert stuck.engine.held == {}


def test_a_reset_moves_the_checkpoint_back_and_its_owner_lets_go():
    fleet = Fleet(1)
    worker = fleet.join("w0")
    fleet.run(3)
    fleet.append(5)
    fleet.run(5)
    (key,) = fleet.ids
    assert fleet.lease(key).checkpoint == "5"
    operator.reset(fleet.as_store, LEASES, key, "2", 0)
    before = fleet.observer.deliveries
    fleet.agenda.run_until(fleet.agenda.now + 2 * FAILOVER)
    assert fleet.lease(key).owner == "w0"
    assert fleet.observer.deliveries == before + 3
    assert worker.engine.held[key].checkpoint == "5"


def test_a_worker_whose_row_was_removed_and_written_anew_counts():
    """Its version is 1 again, as that of one that was killed long ago by the same name."""
    engine = begun([])
    now = 0
    for _ in range(8):
        now += PACE.failover_us // 2
        engine.look_now(now)
        engine.looked([], [Worker("me", 1), Worker("w3", 1, beat=7)], now)
    assert [wish.id for wish in only(engine, DeleteWorker)]
    now += PACE.look_us
    engine.look_now(now)
    engine.looked([Lease("S1", 1)], [Worker("me", 1), Worker("w3", 1, beat=8)], now)
    assert only(engine, DeleteWorker) == []
    assert {"me", "w3"} == engine._members.alive


def fed(count: int, now: int = 0) -> tuple[Engine, Deliver]:
    """An engine with records of S1 at its processor."""
    engine, _ = holding(now)
    engine.take_wishes()
    engine.paged("S1", 1, [(str(number), None, number) for number in range(1, count + 1)], now, tip_us=77)
    (deliver,) = only(engine, Deliver)
    return engine, deliver


def test_a_checkpoint_that_moved_is_written_a_second_after_the_last_write():
    engine, deliver = fed(3)
    engine.acked("S1", 1, [entry.number for entry in deliver.entries], 10)
    assert only(engine, WriteLease) == []
    engine.tick(SECOND - 1)
    assert only(engine, WriteLease) == []
    engine.tick(SECOND)
    (write,) = only(engine, WriteLease)
    assert (write.lease.checkpoint, write.lease.progress["tip"]) == ("3", 77)
    engine.written(write, 3, SECOND)
    engine.tick(3 * SECOND)
    assert only(engine, WriteLease) == []  # it has not moved since


def test_many_records_are_not_kept_waiting_for_that_second():
    engine, _ = holding()
    engine.take_wishes()
    engine.paged("S1", 1, [(str(number), None, number) for number in range(1, 1002)], 0)
    for _ in range(10):
        (deliver,) = only(engine, Deliver)
        engine.acked("S1", 1, [entry.number for entry in deliver.entries], 5)
    (write,) = only(engine, WriteLease)
    assert write.lease.checkpoint == "1000"


def test_a_lease_in_quarantine_says_so_and_rests_until_an_operator_releases_it():
    engine, deliver = fed(150)
    engine.quarantine("S1", 1, "record 1: ValueError", 5)
    (write,) = only(engine, WriteLease)
    assert write.lease.progress["quarantine"] == "record 1: ValueError"
    engine.written(write, 3, 6)
    engine.returned("S1", 1, [entry.number for entry in deliver.entries], 7)
    engine.tick(3 * SECOND)
    assert {type(wish) for wish in engine.take_wishes()} <= {Look, ListShards, WriteWorker}  # nothing is delivered
    released = write.lease.noting(quarantine=None, release=True)._replace(version=4)
    engine.looked([released], [Worker("me", 1)], 3 * SECOND)
    (write,) = only(engine, WriteLease)
    assert write.lease.owner is None and "quarantine" not in write.lease.progress


def test_a_checkpoint_that_the_processor_moved_itself_stands_and_what_it_covers_does_not_come_again():
    engine, deliver = fed(3)
    engine.promised("S1", 1, 2, "3")
    engine.tick(4 * SECOND)
    (renewal,) = only(engine, WriteLease)
    standing = renewal.lease._replace(checkpoint="3", version=3)  # committed just before
    engine.refused(renewal, standing, 4 * SECOND)
    (renewal,) = only(engine, WriteLease)
    assert renewal.lease.checkpoint == "3" and renewal.expected == 3
    engine.written(renewal, 4, 4 * SECOND)
    engine.nacked("S1", 1, [entry.number for entry in deliver.entries], 4 * SECOND, 4 * SECOND)
    assert only(engine, Deliver) == []


def test_leases_say_when_they_were_written_by_the_services_time():
    engine = begun([])
    engine.tick(0)
    engine.take_wishes()
    engine.shards_listed([Shard("S1")], 9_000_000, 0)
    (create,) = only(engine, WriteLease)
    assert create.lease.progress["opened"] == 9_000_000
