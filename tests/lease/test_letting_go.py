"""A lease that is handed over while the store does not answer."""

from __future__ import annotations

from streamiter.lease import Engine, Lease, Order, Shards, Worker
from streamiter.lease.hold import Stage
from streamiter.lease.wishes import Deliver, WriteLease, WriteWorker
from tests.lease.test_engine import PACE, SECOND, fed, only


def test_a_hand_over_that_waits_for_the_store_alone_is_not_taken_back():
    """Nothing is out, so no record hangs: the release is written as soon as the write under way is answered."""
    engine, deliver = fed(3)
    engine.tick(PACE.renew_us)
    (renewal,) = only(engine, WriteLease)
    now = PACE.renew_us
    engine._holdings.drain("S1", "w2", now)
    engine.acked("S1", 1, [entry.number for entry in deliver.entries], now)
    for _ in range(8):  # no answer comes
        now += PACE.grace_us // 4
        engine.tick(now)
    assert engine._holdings.stuck == set()
    engine.take_wishes()
    engine.written(renewal._replace(ticket=engine._holdings.holds["S1"].attempt.wish.ticket), 3, now)  # type: ignore[union-attr]
    (release,) = only(engine, WriteLease)
    assert (release.lease.owner, release.lease.checkpoint, release.lease.progress["for"]) == (None, "3", "w2")


def two_leases(order: Order) -> tuple[Engine, dict[str, Deliver]]:
    """An engine that holds S1 and S2, with two records of each at its processor; another worker has none, and asks for S1."""
    engine = Engine("me", 0, shards=Shards("TRIM_HORIZON"), pace=PACE, order=order)
    (row,) = only(engine, WriteWorker)
    engine.written(row, 1, 0)
    engine.looked([Lease("S1", 1), Lease("S2", 1)], [Worker("me", 1)], 0)
    for take in only(engine, WriteLease):
        engine.written(take, 2, 0)
    for key in ("S1", "S2"):
        engine.paged(key, 1, [(str(number), number, number) for number in range(1, 5)], 0)
    delivered = {wish.key: wish for wish in only(engine, Deliver)}
    return engine, delivered


def ask(engine: Engine, key: str, now: int) -> None:
    """What the other worker's row says is seen; and so that it counts, it is seen to stand for longer than a look."""
    rows = list(engine.held.values())
    for _ in range(2):
        engine.look_now(now)
        engine.looked(rows, [Worker("me", 1), Worker("w2", 1, asks=(key,), beat=now)], now)


def renew(engine: Engine, now: int) -> list[Deliver]:
    """All renewals under way are done; gives what is delivered then."""
    delivers = []
    while wishes := engine.take_wishes():
        delivers += [wish for wish in wishes if isinstance(wish, Deliver)]
        for renewal in (wish for wish in wishes if isinstance(wish, WriteLease)):
            engine.written(renewal, (renewal.expected or 0) + 1, now)
    return delivers


def test_a_lease_that_hung_goes_instead_of_one_that_hangs_now():
    """Each batch takes longer than the grace: a lease can be handed over between two of its batches alone."""
    engine, delivered = two_leases(Order(batch=2))
    ask(engine, "S1", SECOND)
    assert engine._holdings.holds["S1"].stage is Stage.DRAINING
    later = SECOND + PACE.grace_us
    engine.tick(later)
    assert engine._holdings.stuck == {"S1"}
    ask(engine, "S2", later)
    assert engine._holdings.holds["S2"].stage is Stage.DRAINING
    renew(engine, later)
    engine.acked("S1", 1, [entry.number for entry in delivered["S1"].entries], later)
    (release,) = only(engine, WriteLease)
    assert (release.lease.key, release.lease.owner, release.lease.progress["for"]) == ("S1", None, "w2")
    assert engine._holdings.holds["S2"].stage is Stage.HELD
    assert engine._holdings.stuck == set()


def test_a_lease_that_hung_goes_once_it_is_free_if_the_other_worker_waits_for_none():
    engine, delivered = two_leases(Order(batch=2))
    ask(engine, "S1", SECOND)
    later = SECOND + PACE.grace_us
    engine.tick(later)
    renew(engine, later)
    engine.acked("S1", 1, [entry.number for entry in delivered["S1"].entries], later)
    assert engine._holdings.holds["S1"].stage is Stage.RELEASING


def test_a_lease_of_keys_hangs_only_as_long_as_the_record_that_hung():
    """Others are out at any moment: it can be asked for again nonetheless."""
    engine, delivered = two_leases(Order(by_key=True, concurrency=2))
    ask(engine, "S1", SECOND)
    first, second = (entry.number for entry in delivered["S1"].entries)
    engine.acked("S1", 1, [first], SECOND)
    engine.tick(SECOND + PACE.grace_us)
    assert engine._holdings.stuck == {"S1"}
    engine.tick(SECOND + PACE.grace_us + PACE.retry_us)  # the renewal of long ago is tried again
    (more,) = (wish for wish in renew(engine, SECOND + PACE.grace_us + PACE.retry_us) if wish.key == "S1")
    engine.acked("S1", 1, [second], SECOND + PACE.grace_us + PACE.retry_us)
    assert engine._holdings.holds["S1"].pipeline.out == 1 == len(more.entries)
    assert engine._holdings.stuck == set()
