"""The row of a lease that its processor moves itself: what the engine makes of versions that it did not write."""

from __future__ import annotations

from streamiter.lease import Engine
from streamiter.lease.wishes import Deliver, WriteLease
from tests.lease.test_engine import PACE, SECOND, holding, only


def promised() -> tuple[Engine, list[int]]:
    """Three records are at the processor, which may commit them itself."""
    engine, _ = holding()
    engine.take_wishes()
    engine.paged("S1", 1, [(str(number), None, number) for number in range(1, 4)], 0)
    (deliver,) = only(engine, Deliver)
    engine.promised("S1", 1, 2, "3")
    return engine, [entry.number for entry in deliver.entries]


def test_a_row_that_says_what_we_wanted_is_no_renewal_where_the_processor_may_have_written_it():
    """Its write may be older than ours was: others count from there, so our time must not be counted from our own."""
    engine, numbers = promised()
    engine.acked("S1", 1, numbers, SECOND // 2)
    before_us = engine.deadline_us("S1", 1)
    engine.tick(3 * SECOND)
    (write,) = only(engine, WriteLease)
    engine.refused(write, write.lease._replace(version=write.expected + 1), 3 * SECOND + 10)
    assert engine.deadline_us("S1", 1) == before_us
    (again,) = only(engine, WriteLease)
    assert again.expected == write.expected + 1
    assert again.lease.checkpoint == "3"
    engine.written(again, again.expected + 1, 3 * SECOND + 20)
    assert engine.deadline_us("S1", 1) == 3 * SECOND + 10 + PACE.valid_us


def test_a_commit_that_is_seen_to_stand_counts_from_the_moment_before_it_was_begun():
    engine, numbers = promised()
    lease = engine.held["S1"]
    engine.told(lease._replace(version=lease.version + 1, checkpoint="3"), 2 * SECOND, since_us=SECOND)
    assert engine.deadline_us("S1", 1) == SECOND + PACE.valid_us
    engine.acked("S1", 1, numbers, 2 * SECOND)
    engine.tick(2 * SECOND)
    assert only(engine, WriteLease) == [], "there is nothing left to write"
    assert engine.promises("S1", 1) == ()


def test_a_row_that_is_only_looked_at_renews_nothing():
    engine, _ = promised()
    lease, before_us = engine.held["S1"], engine.deadline_us("S1", 1)
    engine.told(lease._replace(version=lease.version + 1, checkpoint="3"), 2 * SECOND)
    assert engine.deadline_us("S1", 1) == before_us
    engine.told(lease, 2 * SECOND, since_us=SECOND)
    assert engine.deadline_us("S1", 1) == before_us, "that version was known"


def test_a_commit_is_heeded_while_a_renewal_is_under_way():
    engine, numbers = promised()
    lease = engine.held["S1"]
    engine.tick(4 * SECOND)
    (write,) = only(engine, WriteLease)
    committed = lease._replace(version=lease.version + 1, checkpoint="3")
    engine.told(committed, 4 * SECOND, since_us=SECOND)
    engine.returned("S1", 1, numbers, 4 * SECOND)
    assert only(engine, Deliver) == [], "what is committed does not come again"
    engine.refused(write, committed, 4 * SECOND)
    (again,) = only(engine, WriteLease)
    assert (again.lease.checkpoint, again.expected) == ("3", committed.version)


def test_what_was_promised_is_told_until_it_is_acked():
    engine, numbers = promised()
    assert engine.promises("S1", 1) == ("3",)
    engine.returned("S1", 1, numbers, 0)
    assert engine.promises("S1", 1) == ("3",), "the end of its transaction was not seen"
    assert engine.promises("S1", 2) == ()
