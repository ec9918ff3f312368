"""Leases whose processor keeps the checkpoint itself: acks make room, and the processor says where it stands."""

from __future__ import annotations

from streamiter.lease import Engine, Lease, Order, Shards, Worker
from streamiter.lease.lease import CHILDREN, ORDER, TIP
from streamiter.lease.wishes import Deliver, Drain, Fetch, Leave, Stop, WriteLease, WriteWorker
from streamiter.shard import Shard
from tests.lease.test_engine import PACE, SECOND, only

ORDER_BY_HAND = Order(batch=4, buffer=4, is_open=True, by_hand=True)


def holding() -> Engine:
    """An engine that holds S1."""
    engine = Engine("me", 0, shards=Shards("TRIM_HORIZON"), pace=PACE, order=ORDER_BY_HAND)
    _, write = sorted(engine.take_wishes(), key=lambda wish: isinstance(wish, WriteWorker))
    assert isinstance(write, WriteWorker)
    engine.written(write, 1, 0)
    engine.looked([Lease("S1", 1)], [Worker("me", 1)], 0)
    (take,) = only(engine, WriteLease)
    engine.written(take, 2, 0)
    assert only(engine, Fetch)
    return engine


def page(engine: Engine, *places: str, now: int = 0) -> list[int]:
    """Records with these checkpoints come; gives the numbers of those that are delivered."""
    engine.paged("S1", 1, [(place, None, f"record {place}") for place in places], now)
    return [entry.number for wish in only(engine, Deliver) for entry in wish.entries]


def test_acks_make_room_and_move_no_checkpoint():
    engine = holding()
    assert page(engine, "1", "2", "3", "4") == [0, 1, 2, 3]
    engine.acked("S1", 1, [0, 1, 2, 3], 0)
    assert any(isinstance(wish, Fetch) for wish in engine.take_wishes()), "there is room again"
    engine.tick(PACE.renew_us)
    (renewal,) = only(engine, WriteLease)
    assert renewal.lease.checkpoint == "TRIM_HORIZON"


def test_a_place_is_written_at_once_and_known_to_stand_once_it_does():
    engine = holding()
    engine.acked("S1", 1, page(engine, "1", "2"), 0)
    engine.take_wishes()
    engine.by_hand.placed("S1", 1, "1", 77, 0)
    (write,) = only(engine, WriteLease)
    assert (write.lease.checkpoint, write.lease.progress[ORDER]) == ("1", 77)
    assert engine.by_hand.written("S1", 1) == "TRIM_HORIZON"
    engine.by_hand.placed("S1", 1, "2", None, 0)
    assert only(engine, WriteLease) == [], "one write at a time"
    engine.written(write, 3, 0)
    assert engine.by_hand.written("S1", 1) == "1"
    (write,) = only(engine, WriteLease)
    assert write.lease.checkpoint == "2"
    engine.by_hand.placed("S1", 9, "3", None, 0)
    assert only(engine, WriteLease) == [] and engine.by_hand.written("S1", 9) is None, "of another time"


def test_the_tip_stands_in_the_row_only_behind_the_checkpoint_that_came_to_it():
    engine = holding()
    numbers = page(engine, "1")
    engine.acked("S1", 1, numbers, 0)
    engine.paged("S1", 1, [], 0, tip_us=5)
    engine.by_hand.placed("S1", 1, "1", None, 0)
    (write,) = only(engine, WriteLease)
    assert TIP not in write.lease.progress, "it was told before"
    engine.written(write, 3, 0)
    engine.paged("S1", 1, [], 0, tip_us=6)
    engine.tick(PACE.renew_us)
    (renewal,) = only(engine, WriteLease)
    assert renewal.lease.progress[TIP] == 6


def test_what_was_not_checkpointed_is_read_again_after_a_failure():
    engine = holding()
    engine.acked("S1", 1, page(engine, "1", "2"), 0)
    engine.by_hand.placed("S1", 1, "1", None, 0)
    (write,) = only(engine, WriteLease)
    engine.written(write, 3, 0)
    engine.take_wishes()
    page(engine, "3")
    engine.by_hand.failed("S1", 1, 2 * SECOND, SECOND)
    assert engine.take_wishes() == [], "not before the pause is over"
    standing = engine.by_hand.standing("S1", 1)
    assert standing is not None and (standing.checkpoint, standing.fence) == ("1", 1)
    engine.tick(2 * SECOND)
    (fetch,) = only(engine, Fetch)
    assert fetch.after == "1"
    assert page(engine, "2", "3", now=2 * SECOND) == [0, 1]


def test_a_shard_is_completed_once_its_processor_is_through_with_it():
    engine = holding()
    engine.ended("S1", 1, 0, records=[("1", None, "a")], children=(Shard("S2", ("S1",)),))
    (deliver,) = only(engine, Deliver)
    assert not engine.by_hand.is_read("S1", 1)
    engine.acked("S1", 1, [0], 0)
    assert engine.by_hand.is_read("S1", 1) and only(engine, WriteLease) == []
    engine.by_hand.finished("S1", 1, 0)
    (child,) = only(engine, WriteLease)
    assert child.lease.key == "S2"
    engine.written(child, 1, 0)
    done = next(wish for wish in only(engine, WriteLease) if wish.lease.key == "S1")
    assert done.lease.completed and done.lease.progress[CHILDREN] == ["S2"]
    assert deliver.entries[0].record == "a"


def test_a_lease_is_released_once_its_processor_has_parted_with_it():
    engine = holding()
    engine.leave(0)
    assert only(engine, WriteLease) == []
    engine.by_hand.placed("S1", 1, "7", None, 0)  # the last call for a checkpoint
    (write,) = only(engine, WriteLease)
    engine.by_hand.parted("S1", 1, 0)
    engine.written(write, 3, 0)
    (release,) = only(engine, WriteLease)
    assert release.lease.owner is None and release.lease.checkpoint == "7"
    engine.written(release, 4, 0)
    assert any(isinstance(wish, Stop) for wish in engine.take_wishes())


def test_a_processor_that_does_not_part_is_not_waited_for_beyond_the_grace():
    engine = holding()
    page(engine, "1")
    engine.leave(0)
    assert any(isinstance(wish, Drain) for wish in engine.take_wishes())
    engine.tick(PACE.grace_us)
    (renewal,) = only(engine, WriteLease)
    engine.written(renewal, 3, PACE.grace_us)
    (release,) = only(engine, WriteLease)
    assert renewal.lease.owner == "me" and release.lease.owner is None
    assert release.lease.checkpoint == "TRIM_HORIZON"


def test_a_processor_at_work_is_not_ended_for_a_hand_over_but_one_that_lingers_is():
    engine = holding()
    numbers = page(engine, "1")
    engine._holdings.drain("S1", "other", 0)
    assert [wish for wish in engine.take_wishes() if isinstance(wish, Drain)]
    moment = answer_all(engine, PACE.grace_us + SECOND)
    assert engine.held["S1"].owner == "me", "it has a record"
    engine.acked("S1", 1, numbers, moment)
    answer_all(engine, moment + PACE.grace_us + SECOND)
    assert "S1" not in engine.held, "it had none, and did not part"


def answer_all(engine: Engine, until_us: int) -> int:
    """Time goes on until then, and every write is done at once."""
    now_us = 0
    while engine.due_us is not None and (now_us := max(now_us, engine.due_us)) <= until_us:
        engine.tick(now_us)
        for wish in engine.take_wishes():
            if isinstance(wish, WriteLease | WriteWorker):
                engine.written(wish, (wish.expected or 0) + 1, now_us)
    return until_us


def test_a_failure_while_the_lease_is_let_go_releases_it():
    engine = holding()
    page(engine, "1")
    engine.leave(0)
    engine.take_wishes()
    engine.by_hand.failed("S1", 1, SECOND, 0)
    (release,) = only(engine, WriteLease)
    assert release.lease.owner is None
    engine.written(release, 3, 0)
    engine.tick(PACE.leaving_us)
    assert any(isinstance(wish, Leave) for wish in engine.take_wishes())
