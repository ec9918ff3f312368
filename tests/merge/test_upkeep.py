"""What a mutation of the code showed to be unwatched: places on records, lanes let go, ranks found anew."""

from streamiter.lineage import Lineage
from streamiter.merge import Lane, Merge
from streamiter.position import After, AtNumber, Horizon, Place
from streamiter.record import Record
from streamiter.shard import Rank, Shard

NOW = 1_700_000_000_000_000
OLD = NOW - 3_600_000_000


def lane(shard_id: str = "S1", **options) -> Lane:
    return Lane(shard_id, Rank(shard_id, 0, shard_id), Horizon(NOW), **options)


def records(*numbers: int, shard_id: str = "S1") -> list[Record]:
    return [Record(shard_id, str(number), OLD) for number in numbers]


def test_a_page_of_records_that_were_returned_before_is_not_an_empty_one():
    shard = lane()
    for _ in range(7):
        shard.push([], NOW)
    shard.push([], NOW, skipped=1)
    for _ in range(7):
        shard.push([], NOW)
        assert not shard.is_at_tip
    shard.push([], NOW)
    assert shard.is_at_tip


def test_empty_pages_are_counted_until_the_iterator_is_opened_anew():
    shard = lane()
    shard.push([], NOW)
    shard.push([], NOW)
    assert shard.empties == 2
    shard.reopen()
    assert shard.empties == 0


def test_records_carry_places_that_are_more_than_their_numbers():
    merge, shard = Merge(), lane()
    merge.open(shard)
    shard.push(records(5, 3, 4, 7), NOW, ended=True)
    merge.update(shard)
    assert [merge.pop().place for _ in range(4)] == [Place(5, 0), Place(5, 1), Place(5, 2), Place(7, 0)]


def test_a_lane_that_fell_back_once_is_plain_again_when_it_is_empty():
    merge, shard = Merge(), lane()
    merge.open(shard)
    for numbers in ((5, 3), (8, 9)):
        shard.push(records(*numbers), NOW)
        merge.update(shard)
        while merge.pop():
            pass
    assert shard.place == Place(9, 0)


def test_a_lane_is_let_go_when_it_is_returned_whole_and_holds_nothing():
    merge, shard = Merge(), lane()
    merge.open(shard)
    shard.push(records(1), NOW, ended=True)
    merge.update(shard)
    merge.pop()
    assert "S1" in merge
    merge.release("S1")
    assert "S1" not in merge


def test_a_lane_that_was_released_before_is_let_go_with_its_last_record():
    merge, shard = Merge(), lane()
    merge.open(shard)
    shard.push(records(1, 2), NOW, ended=True)
    merge.update(shard)
    merge.release("S1")
    assert "S1" in merge
    merge.pop()
    assert "S1" in merge
    merge.pop()
    assert "S1" not in merge
    merge._check()


def test_what_waits_is_weighed_until_it_is_returned():
    merge, shard = Merge(), lane()
    merge.open(shard)
    shard.push(records(1, 2, 3, 4), NOW, size_bytes=400)
    merge.update(shard)
    assert merge.waiting_bytes == 400
    merge.pop()
    assert merge.waiting_bytes == 300


def test_an_iterator_over_a_window_that_was_dropped_gives_nothing_more():
    merge, first = Merge(), lane("S2")
    merge.open(first)
    first.push(records(1, 2, 3, shard_id="S2"), NOW)
    merge.update(first)
    window = merge.records()
    assert next(window).sequence_number == "1"
    late = lane("S1")  # turns up now, and may give earlier ones: the rest of the window goes back
    merge.open(late)
    assert list(window) == []
    assert merge.pop() is None
    late.push(records(1), NOW, ended=True)
    merge.update(late)
    merge.release("S1")
    assert [merge.pop().sequence_number for _ in range(3)] == ["1", "2", "3"]
    assert merge.clock == 4


def test_ranks_below_follow_a_rank_that_is_fixed_later():
    lineage = Lineage.parse("S1 => S2 => S3")
    assert lineage.rank("S3") == Rank("S3", 2, "S3")
    lineage.fix_rank("S1", Rank("S9", 4, "S1"))
    assert lineage.rank("S3") == Rank("S9", 6, "S3")


def test_a_parent_keeps_its_other_child_when_one_is_forgotten():
    lineage = Lineage.parse("S1 => {S2, S3}")
    lineage.remove("S2")
    assert lineage.children("S1") == ["S3"] and lineage.leaves() == ["S3"]
    lineage.remove("S3")
    assert lineage.children("S1") == [] and lineage.leaves() == ["S1"]


def test_only_starts_that_were_chosen_at_a_moment_tell_when_they_were():
    rank = Rank("S1", 0, "S1")
    assert Lane("S1", rank, Horizon(NOW)).opened_us == NOW
    assert Lane("S1", rank, After(Place(5, 0))).opened_us is None
    assert Lane("S1", rank, AtNumber("5")).opened_us is None


def test_leading_zeros_are_kept_for_reopening_and_do_not_count_in_order():
    shard = lane()
    shard.push([Record("S1", "0009", OLD), Record("S1", "0010", OLD)], NOW)
    assert shard.fetch_position == After(Place(10, 0, 4)) and shard.fetch_position.place.text == "0010"
    assert Shard("S1").parents == ()
