"""The stages of a hold: the table says all moves that there are, and worlds make each of them."""

from __future__ import annotations

import pytest

from streamiter.lease.hold import MOVES, Hold, Stage
from streamiter.lease.lease import Lease
from streamiter.lease.pace import Pace
from streamiter.lease.ways import Order
from tests.fleet.world import World

SECOND = 1_000_000


def test_a_move_that_the_table_does_not_have_is_an_error():
    hold = Hold(Lease("S1"), Order())
    with pytest.raises(AssertionError, match="cannot go from TAKING to ENDING"):
        hold.move(Stage.ENDING)


def test_each_move_of_the_table_occurs(monkeypatch):
    wanted = {(origin, target) for origin, targets in MOVES.items() for target in targets}
    seen: set[tuple[Stage, Stage]] = set()
    move = Hold.move

    def noted(self: Hold, stage: Stage) -> None:
        seen.add((self.stage, stage))
        move(self, stage)

    monkeypatch.setattr(Hold, "move", noted)
    for seed in range(300):
        World(seed).run()
        if seen == wanted:
            return
    raise AssertionError(f"no world made {wanted - seen}")


def test_a_hold_is_valid_less_than_a_failover():
    """8 of 10 seconds: where this clock counts 8, one that is a quarter faster counts 10."""
    pace = Pace(failover_us=10 * SECOND)
    hold = Hold(Lease("S1"), Order())
    assert not hold.is_valid(0, pace)
    hold.valid_from_us = 100
    assert hold.is_valid(100 + 8 * SECOND - 1, pace)
    assert not hold.is_valid(100 + 8 * SECOND, pace)
    assert pace.valid_us * 5 / 4 <= pace.failover_us
