"""Members: who counts as alive, and how soon a fleet hears that one does not any more."""

from __future__ import annotations

import pytest

from streamiter.lease import Engine, Lease, Pace, Shards, Worker
from streamiter.lease.wishes import Look, WriteLease, WriteWorker
from tests.fleet.store import Trouble
from tests.lease.fleet import FAILOVER, Fleet

SECOND = 1_000_000
PACE = Pace(failover_us=10 * SECOND)


class Alone:
    """One engine, and the rows that its looks are shown."""

    def __init__(self, **leases: str) -> None:
        self.leases = [Lease(key, 1, owner, fence=1) for key, owner in leases.items()]
        self.engine = Engine("me", 0, shards=Shards("TRIM_HORIZON"), pace=PACE)

    def look(self, now: int, *others: Worker) -> None:
        """Answers the look that is under way."""
        self.engine.looked(self.leases, [Worker("me", 1), *others], now)

    def wishes(self, kind: type) -> list:
        wishes = self.engine.take_wishes()
        for write in wishes:
            if isinstance(write, WriteWorker):
                self.engine.written(write, write.ticket, self.now)
        return [wish for wish in wishes if isinstance(wish, kind)]

    def tick(self, now: int) -> None:
        self.now = now
        self.engine.tick(now)

    now = 0


def test_a_workers_death_is_looked_for_at_the_very_moment_and_not_only_in_rounds():
    alone = Alone()
    assert alone.wishes(Look)
    alone.look(0, Worker("other", 3, beat=1))
    alone.tick(PACE.look_us)
    assert alone.wishes(Look)
    seen = PACE.look_us + 900_000  # its last beat is seen then, between two rounds
    alone.look(seen, Worker("other", 4, beat=2))
    for number in range(2, 6):
        alone.tick(number * PACE.look_us)
        assert alone.wishes(Look)
        alone.look(number * PACE.look_us, Worker("other", 4, beat=2))
    assert "other" in alone.engine._members.alive
    alone.tick(seen + PACE.failover_us - 1)
    assert not alone.wishes(Look)
    alone.tick(seen + PACE.failover_us)
    assert alone.wishes(Look)
    alone.look(seen + PACE.failover_us, Worker("other", 4, beat=2))
    assert alone.engine._members.alive == {"me"}


def test_what_lacks_when_a_worker_is_gone_is_asked_for_at_once():
    """The others' views may differ when workers come; when one goes, who has too much has too much in any view."""
    alone = Alone(**dict.fromkeys("ABCDEF", "owner"))
    beats = iter(range(100))

    def look(now: int, other_beat: int) -> tuple[str, ...]:
        alone.tick(now)
        assert alone.wishes(Look)
        beat = next(beats)
        alone.leases = [lease._replace(version=beat) for lease in alone.leases]
        alone.look(now, Worker("owner", 4, beat=beat), Worker("other", 4, beat=other_beat))
        asked = [wish.worker.asks for wish in alone.wishes(WriteWorker)]
        return asked[-1] if asked else ()

    alone.wishes(WriteWorker)
    alone.look(0, Worker("owner", 3, beat=next(beats)), Worker("other", 3, beat=1))
    assert look(PACE.look_us, 2) == ()  # all three are seen for the first time
    assert look(2 * PACE.look_us, 2) == ("F", "E")
    for number in range(3, 5):
        look(number * PACE.look_us, 2)
    assert look(PACE.look_us + PACE.failover_us, 2) == ("F", "E", "D")


def test_a_worker_that_let_leases_expire_is_dealt_none_until_its_row_moves_again():
    alone = Alone(A="other", B="other")
    taken = []
    alone.wishes(Look)
    alone.look(0, Worker("other", 1, beat=1))
    for number in range(1, 5):
        alone.tick(number * PACE.look_us)
        taken += alone.wishes(WriteLease)
        alone.look(number * PACE.look_us, Worker("other", number, beat=number))
    assert [wish.lease.key for wish in taken] == ["A", "B"]  # one each, if it counted
    assert alone.engine._members.alive == {"me", "other"}, "the last look showed that it moved"


@pytest.mark.parametrize("phase", [0, 7])
@pytest.mark.parametrize("more", [11, 12, 13, 54])
def test_a_worker_that_was_cut_off_has_its_share_two_failovers_after_it_is_back(more, phase):
    """It sees only then the last beat of one that died meanwhile: it waits a failover for that one, too, and no longer."""
    fleet = Fleet(7)
    fleet.store.latency = 40_000
    fleet.join("a")
    fleet.run(3 + 0.5 * phase)
    dies = fleet.join("c")
    fleet.run(0.3)
    fleet.join("b")
    fleet.run(30 + 0.1 * more)
    begins, ends = fleet.agenda.now, fleet.agenda.now + FAILOVER * (72 + more) // 60
    fleet.store.troubles = [Trouble(begins, ends, "b", False)]
    fleet.run(0.4 * phase)
    dies.die()
    fleet.observer.died("c")
    fleet.agenda.run_until(ends + FAILOVER)  # b is heard of again
    assert ends <= fleet.observer.last_change < ends + 2 * SECOND
    fleet.agenda.run_until(fleet.observer.last_change + 2 * FAILOVER)
    fleet.observer.check_balance(["a", "b"])
    assert fleet.observer.violations == []
