"""Giving: the rules about a source's listings, its records, and the places where reading starts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from streamiter.clock import SECOND_US
from streamiter.errors import (
    TimeUnsupported,
)
from streamiter.position import After, AtNumber, AtTime, Horizon, Place
from streamiter.source.base import ShardIterator
from streamiter.testing.contract.probe import (
    EMPTIES,
    at_records,
    equal,
    expect,
    listing_of,
    pages_of,
    read,
    records_of,
    write,
)
from streamiter.testing.contract.rig import Rig
from streamiter.testing.contract.rule import rule

# -- the stream


@rule()
def names_itself(rig: Rig) -> None:
    """A source has a name that stays, and says how long records and iterators live and how it may be asked."""
    source = rig.source
    expect(bool(source.name) and source.name == source.name, f"the name is {source.name!r}")
    for told in (source.retention_us, source.iterator_us, source.page_limit, source.listings_per_second):
        expect(told > 0, f"{told!r} is not more than nothing")


@rule("splits")
def lists_all_shards(rig: Rig) -> None:
    """A listing, followed to its end, has every shard with its parents; only shards that ended are closed."""
    rig.shape("S0 => {S1, S2}; S1 => S3")
    listed = {shard.id: shard for shard in listing_of(rig)}
    parents = {"S0": None, "S1": "S0", "S2": "S0", "S3": "S1"}
    equal(sorted(listed), sorted(map(rig.shard_id, parents)), "the ids listed")
    for name, parent in parents.items():
        shard = listed[rig.shard_id(name)]
        equal(shard.parents, (rig.shard_id(parent),) if parent else (), f"the parents of {name}")
    expect(not listed[rig.shard_id("S2")].closed and not listed[rig.shard_id("S3")].closed, "S2 and S3 are open")


@rule("merges")
def lists_both_parents(rig: Rig) -> None:
    """A shard that two others were merged into is listed with both, the one that outlives the other included."""
    rig.shape("S0 ~ S1; {S0, S1} => S2")
    listed = {shard.id: shard for shard in listing_of(rig)}
    parents = {rig.shard_id("S0"), rig.shard_id("S1")}
    equal(set(listed[rig.shard_id("S2")].parents), parents, "the parents of S2")


@rule("splits")
def tells_true_children(rig: Rig) -> None:
    """Where the end of a shard tells of its children, it tells of all of them, with their parents, as listings do."""
    rig.shape("S0 => {S1, S2}")
    children = pages_of(rig, "S0", Horizon())[-1].children
    if children:
        listed = {shard.id: shard.parents for shard in listing_of(rig) if rig.shard_id("S0") in shard.parents}
        equal({shard.id: shard.parents for shard in children}, listed, "the children of S0")


@rule("end")
def says_when_the_stream_ended(rig: Rig) -> None:
    """The listing of a disabled stream says that no more will come; that of a living one does not."""
    rig.shape("S0")
    expect(not rig.source.list_shards(None).is_final, "the stream lives")
    assert rig.end is not None
    rig.end()
    expect(rig.source.list_shards(None).is_final, "the stream was disabled")


# -- records


@rule()
def gives_all_of_each_shard(rig: Rig) -> None:
    """Shards are listed, and each gives its own records once, in the order written."""
    rig.shape("S0 ~ S1")
    write(rig, "S0", "ab")
    write(rig, "S1", "cd")
    write(rig, "S0", "e")
    listed = {shard.id for shard in listing_of(rig)}
    expect({rig.shard_id("S0"), rig.shard_id("S1")} <= listed, f"the shards listed are {sorted(listed)}")
    equal(read(rig, "S0", Horizon()), (list("abe"), False), "the records of S0")
    equal(read(rig, "S1", Horizon()), (list("cd"), False), "the records of S1")


@rule("splits")
def gives_records_in_order(rig: Rig) -> None:
    """From its horizon, a shard gives each record once, in the order written; a shard that ended has no next page."""
    rig.shape("S0")
    write(rig, "S0", "abcde")
    rig.shape("S0 => S1")
    write(rig, "S1", "fg")
    keys, ended = read(rig, "S0", Horizon())
    equal(keys, list("abcde"), "the records of S0")
    expect(ended, "S0 has ended")
    keys, ended = read(rig, "S1", Horizon())
    equal(keys, list("fg"), "the records of S1")
    expect(not ended, "S1 is open")


@rule()
def keeps_the_limit(rig: Rig) -> None:
    """A page has no more records than asked for."""
    rig.shape("S0")
    write(rig, "S0", "abc")
    iterator: ShardIterator | None = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    keys: list[str] = []
    for _ in range(EMPTIES):
        if iterator is not None and len(keys) < 3:
            page = rig.source.fetch(iterator, 1)
            expect(len(page.records) <= 1, f"{len(page.records)} records came")
            keys += map(rig.key_of, page.records)
            iterator = page.next
    equal(keys, list("abc"), "the records")


@rule()
def tells_its_tip_truly(rig: Rig) -> None:
    """A page that says that it came to the tip, with records or without, is followed by none until more is written."""
    rig.shape("S0")
    write(rig, "S0", "abc")
    iterator: ShardIterator | None = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    told: list[str] = []
    for _ in range(EMPTIES):
        if iterator is None:
            return
        page = rig.source.fetch(iterator, 1)
        told += map(rig.key_of, page.records)
        expect(not page.caught_up or told == list("abc"), f"it said that nothing follows {told}")
        iterator = page.next


@rule()
def may_be_asked_again(rig: Rig) -> None:
    """The same iterator gives the same records again: a call whose answer was lost is made once more."""
    rig.shape("S0")
    write(rig, "S0", "abc")
    iterator = at_records(rig, "S0")
    first, second = (rig.source.fetch(iterator, 2) for _ in range(2))
    told = [[rig.key_of(record) for record in page.records] for page in (first, second)]
    equal(told[1], told[0], "the second answer")


@rule()
def tells_what_records_are(rig: Rig) -> None:
    """A record has its shard, a sequence number that is an integer in text, and a creation time or none."""
    rig.shape("S0")
    write(rig, "S0", "abc")
    records = records_of(rig, "S0", Horizon())
    for record in records:
        equal(record.shard_id, rig.shard_id("S0"), "the shard")
        equal(record.number, int(record.sequence_number), "the number")
        expect(record.created_us is None or record.created_us > 0, "the creation time is in microseconds since 1970")
    expect(len({record.number for record in records}) == 3, "each record has a number of its own")


@rule()
def follows_a_shard_that_is_written(rig: Rig) -> None:
    """An iterator at the tip of an open shard gives what is written later."""
    rig.shape("S0")
    write(rig, "S0", "a")
    iterator = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    keys: list[str] = []
    for turn in range(2 * EMPTIES):
        if turn == EMPTIES:
            write(rig, "S0", "b")
        page = rig.source.fetch(iterator, 100)
        keys += map(rig.key_of, page.records)
        expect(page.next is not None, "an open shard has a next page")
        iterator = page.next or iterator
    equal(keys, ["a", "b"], "the records")


# -- positions


@rule()
def opens_after_a_record(rig: Rig) -> None:
    """A shard opened after a record gives all that follow it; opened at its number, that record too."""
    rig.shape("S0")
    write(rig, "S0", "abcd")
    for place, record in enumerate(records_of(rig, "S0", Horizon())):
        after, _ = read(rig, "S0", After(Place(record.number, 0)))
        equal(after, list("abcd")[place + 1 :], f"what is after the record {place}")
        at, _ = read(rig, "S0", AtNumber(record.sequence_number))
        equal(at, list("abcd")[place:], f"what is at the record {place}")


@rule("advance")
def opens_at_a_time(rig: Rig) -> None:
    """A shard opened at a time gives every record created then or later, or says that it cannot: TimeUnsupported."""
    rig.shape("S0")
    for key in "abc":
        write(rig, "S0", key)
        assert rig.advance is not None
        rig.advance(10)
    created = [record.created_us for record in records_of(rig, "S0", Horizon())]
    if None in created:
        return
    for place, created_us in enumerate(created):
        try:
            keys, _ = read(rig, "S0", AtTime(created_us // SECOND_US * SECOND_US))
        except TimeUnsupported:
            return
        equal(keys[-(3 - place) :], list("abc")[place:], f"what was created with the record {place} or later")


@rule("put_packed")
def goes_on_within_a_packed_record(rig: Rig) -> None:
    """Records that the service holds as one share a number; opened after it, all but the first of them come."""
    rig.shape("S0")
    write(rig, "S0", "a")
    assert rig.put_packed is not None
    rig.put_packed("S0", ["b", "c", "d"])
    write(rig, "S0", "e")
    records = records_of(rig, "S0", Horizon())
    equal([rig.key_of(record) for record in records], list("abcde"), "the records of S0")
    equal(len({record.number for record in records[1:4]}), 1, "how many numbers the packed records have")
    keys, _ = read(rig, "S0", After(Place(records[1].number, 0)))
    equal(keys, list("cde"), "what is after the first of the packed records")


@rule()
def is_asked_from_several_threads(rig: Rig) -> None:
    """Calls from several threads at once get each its own answer."""
    names = [f"S{number}" for number in range(6)]
    rig.shape(" ~ ".join(names))
    for name in names:
        write(rig, name, [f"{name}-{count}" for count in range(5)])
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda name: read(rig, name, Horizon())[0], names * 3))
    for name, keys in zip(names * 3, found, strict=True):
        equal(keys, [f"{name}-{count}" for count in range(5)], f"the records of {name}")


RULES = (
    names_itself,
    lists_all_shards,
    lists_both_parents,
    tells_true_children,
    says_when_the_stream_ended,
    gives_all_of_each_shard,
    gives_records_in_order,
    keeps_the_limit,
    tells_its_tip_truly,
    may_be_asked_again,
    tells_what_records_are,
    follows_a_shard_that_is_written,
    opens_after_a_record,
    opens_at_a_time,
    goes_on_within_a_packed_record,
    is_asked_from_several_threads,
)
