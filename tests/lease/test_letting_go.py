"""A lease that is handed over while the store does not answer."""

from __future__ import annotations

from streamiter.lease.wishes import WriteLease
from tests.lease.test_engine import PACE, fed, only


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
