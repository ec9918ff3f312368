"""Which shards need leases, and which may be read (law 10)."""

from __future__ import annotations

from streamiter.lease.lease import Lease
from streamiter.lease.ledger import Ledger
from streamiter.lease.pace import Pace
from streamiter.lease.shards import Shards, read_before
from streamiter.lineage import Lineage
from streamiter.shard import Shard

SECOND = 1_000_000


class Listed:
    """Shards as listings tell them, one second apart."""

    def __init__(self, start: str = "TRIM_HORIZON") -> None:
        self.shards = Shards(start)
        self.now = 0
        self.leases: dict[str, Lease] = {}

    def listing(self, notation: str) -> list[str]:
        lineage = Lineage.parse(notation)
        return self.rows([lineage[shard_id] for shard_id in lineage])

    def rows(self, rows: list[Shard]) -> list[str]:
        self.shards.begin_listing(self.now)
        self.shards.heard(rows, self.leases, self.now, self.now)
        self.now += SECOND
        return self.wanted()

    def wanted(self) -> list[str]:
        return sorted(lease.key for lease in self.shards.wanted(self.leases))

    def write(self, *keys: str, **fields) -> None:
        for lease in self.shards.wanted(self.leases):
            if lease.key in keys:
                self.leases[lease.key] = lease._replace(version=1, **fields)


def test_parents_get_leases_before_their_children():
    made = Listed()
    assert made.listing("S1 => {S2, S3} ~ S4") == ["S1", "S4"]
    made.write("S1", "S4")
    assert made.wanted() == ["S2", "S3"]
    made.write("S2")
    assert made.leases["S2"].parents == ("S1",)


def test_a_child_of_two_waits_for_both():
    made = Listed()
    made.rows([Shard("S1"), Shard("S2"), Shard("S3", ("S1", "S2"))])
    assert made.wanted() == ["S1", "S2"]
    made.write("S1")
    assert "S3" not in made.wanted()
    made.write("S2")
    made.leases["S2"] = Lease("S2", 1)
    assert made.wanted() == ["S3"]
    made.write("S3")
    assert made.leases["S3"].parents == ("S1", "S2")


def test_a_shard_that_nothing_connects_to_the_leases_waits_for_several_listings():
    """A row between may be lacking: then the shard is one that was read, and must not be read again."""
    made = Listed()
    made.leases = {"S3": Lease("S3", 1, parents=("S2",))}
    rows = [Shard("S1"), Shard("S3", ("S2",))]
    assert made.rows(rows) == []
    assert made.rows(rows) == []
    assert made.rows(rows) == ["S1"]


def test_a_parent_that_listings_lack_is_dropped_when_enough_of_them_do():
    made = Listed()
    rows = [Shard("S2", ("S1",))]
    assert made.rows(rows) == []
    assert made.rows(rows) == []
    assert made.rows(rows) == ["S2"]
    made.write("S2")
    assert made.leases["S2"].parents == ()


def test_a_parent_that_turns_up_in_time_is_not_dropped():
    made = Listed()
    made.rows([Shard("S2", ("S1",))])
    assert made.rows([Shard("S1"), Shard("S2", ("S1",))]) == ["S1"]


def test_what_was_read_before_is_not_read_again():
    made = Listed()
    made.leases = {"S3": Lease("S3", 1, parents=("S2",))}
    assert made.listing("S1 => S2 => S3 => S4") == ["S4"]
    assert read_before(made.shards.lineage, made.leases) == {"S1", "S2"}


def test_new_leases_begin_where_the_others_began():
    made = Listed(start="AT_TIMESTAMP/900")
    made.listing("S1")
    made.write("S1")
    assert made.leases["S1"].checkpoint == "AT_TIMESTAMP/900"
    later = Listed(start="AT_TIMESTAMP/2000")
    later.leases = made.leases
    later.listing("S1 => S2")
    (child,) = later.shards.wanted(later.leases)
    assert child.checkpoint == "AT_TIMESTAMP/900"


def test_leases_go_when_the_shard_is_forgotten_and_its_children_were_begun():
    done = Lease("S1", 5, completed=True, checkpoint="SHARD_END")
    child = Lease("S2", 1, parents=("S1",))
    shards = Shards("TRIM_HORIZON")
    assert shards.removable({"S1": done, "S2": child}, ["S1"]) == []
    assert shards.removable({"S1": done, "S2": child._replace(fence=1)}, ["S1"]) == ["S1"]
    assert shards.removable({"S1": done._replace(completed=False)}, ["S1"]) == []
    assert shards.removable({"S1": done}, []) == []


def test_one_scan_that_lacks_a_parent_is_not_believed():
    """A scan reads page by page: it may show a child that was written after the page of its parent was read."""
    ledger = Ledger("me", Pace())
    child = Lease("S2", 1, parents=("S1",))
    ledger.see_all([child], 0, 1)
    assert not ledger.is_ready(child)
    ledger.see_all([child, Lease("S1", 1)], 2, 3)
    assert not ledger.is_ready(child)
    ledger.see_all([child, Lease("S1", 2, completed=True)], 4, 5)
    assert ledger.is_ready(child)


def test_a_parent_whose_lease_is_gone_for_two_scans_holds_nothing_up():
    ledger = Ledger("me", Pace())
    child = Lease("S2", 1, parents=("S1",))
    for moment in (0, 2, 4):
        ledger.see_all([child], moment, moment + 1)
    assert ledger.is_ready(child)


def test_what_was_told_since_a_scan_began_is_newer():
    ledger = Ledger("me", Pace())
    ledger.see(Lease("S1", 5), 10)
    ledger.see_all([Lease("S1", 4)], 8, 12)
    assert ledger.leases["S1"].version == 5
    ledger.see_all([], 9, 13)
    assert "S1" in ledger.leases
    ledger.see_all([], 14, 15)
    assert "S1" not in ledger.leases


def test_standing_still_counts_from_the_answer():
    ledger = Ledger("me", Pace(failover_us=10 * SECOND))
    ledger.see_all([Lease("S1", 4, owner="x")], 0, 5 * SECOND)
    assert not ledger.is_expired(ledger.leases["S1"], 14 * SECOND)
    assert ledger.is_expired(ledger.leases["S1"], 15 * SECOND)


def test_below_what_was_read_nothing_is_in_doubt():
    """S2's lease is gone, but S3's names it: S4, a second child of S2 that is listed late, is read at once."""
    made = Listed()
    made.leases = {"S3": Lease("S3", 1, parents=("S2",))}
    assert made.rows([Shard("S3", ("S2",)), Shard("S4", ("S2",))]) == ["S4"]
    made.write("S4")
    assert made.leases["S4"].parents == ("S2",)


def test_a_lease_says_when_it_was_written_also_where_nothing_was_ever_listed():
    """Else what is trimmed of the child before it is read would be skipped in silence (law 11)."""
    shards = Shards("TRIM_HORIZON", ahead_us=1_000 * SECOND)
    shards.ended("S1", [Shard("S2", ("S1",))], 5 * SECOND)
    (child,) = shards.wanted({"S1": Lease("S1", 1, fence=1, owner="me")})
    assert (child.key, child.progress["opened"]) == ("S2", 1_005 * SECOND)
