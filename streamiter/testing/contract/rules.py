"""The rules: what a source promises, each a function whose first words are the promise."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from streamiter.clock import SECOND_US
from streamiter.errors import (
    IteratorExpired,
    PositionTrimmed,
    ShardGone,
    SourceError,
    Throttled,
    TimeUnsupported,
    TransientError,
)
from streamiter.position import After, AtNumber, AtTime, Horizon, Place, Position
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator
from streamiter.testing.contract.rig import Rig

_SECRET = "a-key-that-no-message-may-hold"
_EMPTIES = 20  # pages in a row, all empty: nothing more comes


class Rule(NamedTuple):
    """A check, and what a rig needs to have for it."""

    check: Callable[[Rig], None]
    needs: tuple[str, ...]


RULES: list[Rule] = []


def _rule(*needs: str) -> Callable[[Callable[[Rig], None]], Callable[[Rig], None]]:
    def keep(check: Callable[[Rig], None]) -> Callable[[Rig], None]:
        RULES.append(Rule(check, needs))
        return check

    return keep


# -- the stream


@_rule()
def names_itself(rig: Rig) -> None:
    """A source has a name that stays, and says how long records and iterators live and how it may be asked."""
    source = rig.source
    _expect(bool(source.name) and source.name == source.name, f"the name is {source.name!r}")
    for told in (source.retention_us, source.iterator_us, source.page_limit, source.listings_per_second):
        _expect(told > 0, f"{told!r} is not more than nothing")


@_rule()
def lists_all_shards(rig: Rig) -> None:
    """A listing, followed to its end, has every shard with its parents; only shards that ended are closed."""
    rig.shape("S0 => {S1, S2}; S1 => S3")
    listed = {shard.id: shard for shard in _listing(rig)}
    parents = {"S0": None, "S1": "S0", "S2": "S0", "S3": "S1"}
    _equal(sorted(listed), sorted(map(rig.shard_id, parents)), "the ids listed")
    for name, parent in parents.items():
        shard = listed[rig.shard_id(name)]
        _equal(shard.parents, (rig.shard_id(parent),) if parent else (), f"the parents of {name}")
    _expect(not listed[rig.shard_id("S2")].closed and not listed[rig.shard_id("S3")].closed, "S2 and S3 are open")


@_rule("merges")
def lists_both_parents(rig: Rig) -> None:
    """A shard that two others were merged into is listed with both, the one that outlives the other included."""
    rig.shape("S0 ~ S1; {S0, S1} => S2")
    listed = {shard.id: shard for shard in _listing(rig)}
    parents = {rig.shard_id("S0"), rig.shard_id("S1")}
    _equal(set(listed[rig.shard_id("S2")].parents), parents, "the parents of S2")


@_rule()
def tells_true_children(rig: Rig) -> None:
    """Where the end of a shard tells of its children, it tells of all of them, with their parents, as listings do."""
    rig.shape("S0 => {S1, S2}")
    children = _pages(rig, "S0", Horizon())[-1].children
    if children:
        listed = {shard.id: shard.parents for shard in _listing(rig) if rig.shard_id("S0") in shard.parents}
        _equal({shard.id: shard.parents for shard in children}, listed, "the children of S0")


@_rule("end")
def says_when_the_stream_ended(rig: Rig) -> None:
    """The listing of a disabled stream says that no more will come; that of a living one does not."""
    rig.shape("S0")
    _expect(not rig.source.list_shards(None).is_final, "the stream lives")
    assert rig.end is not None
    rig.end()
    _expect(rig.source.list_shards(None).is_final, "the stream was disabled")


# -- records


@_rule()
def gives_records_in_order(rig: Rig) -> None:
    """From its horizon, a shard gives each record once, in the order written; a shard that ended has no next page."""
    rig.shape("S0")
    _write(rig, "S0", "abcde")
    rig.shape("S0 => S1")
    _write(rig, "S1", "fg")
    keys, ended = _read(rig, "S0", Horizon())
    _equal(keys, list("abcde"), "the records of S0")
    _expect(ended, "S0 has ended")
    keys, ended = _read(rig, "S1", Horizon())
    _equal(keys, list("fg"), "the records of S1")
    _expect(not ended, "S1 is open")


@_rule()
def keeps_the_limit(rig: Rig) -> None:
    """A page has no more records than asked for."""
    rig.shape("S0")
    _write(rig, "S0", "abc")
    iterator: ShardIterator | None = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    keys: list[str] = []
    for _ in range(_EMPTIES):
        if iterator is not None and len(keys) < 3:
            page = rig.source.fetch(iterator, 1)
            _expect(len(page.records) <= 1, f"{len(page.records)} records came")
            keys += map(rig.key_of, page.records)
            iterator = page.next
    _equal(keys, list("abc"), "the records")


@_rule()
def may_be_asked_again(rig: Rig) -> None:
    """The same iterator gives the same records again: a call whose answer was lost is made once more."""
    rig.shape("S0")
    _write(rig, "S0", "abc")
    iterator = _at_records(rig, "S0")
    first, second = (rig.source.fetch(iterator, 2) for _ in range(2))
    told = [[rig.key_of(record) for record in page.records] for page in (first, second)]
    _equal(told[1], told[0], "the second answer")


@_rule()
def tells_what_records_are(rig: Rig) -> None:
    """A record has its shard, a sequence number that is an integer in text, and a creation time or none."""
    rig.shape("S0")
    _write(rig, "S0", "abc")
    records = _records(rig, "S0", Horizon())
    for record in records:
        _equal(record.shard_id, rig.shard_id("S0"), "the shard")
        _equal(record.number, int(record.sequence_number), "the number")
        _expect(record.created_us is None or record.created_us > 0, "the creation time is in microseconds since 1970")
    _expect(len({record.number for record in records}) == 3, "each record has a number of its own")


@_rule()
def follows_a_shard_that_is_written(rig: Rig) -> None:
    """An iterator at the tip of an open shard gives what is written later."""
    rig.shape("S0")
    _write(rig, "S0", "a")
    iterator = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    keys: list[str] = []
    for turn in range(2 * _EMPTIES):
        if turn == _EMPTIES:
            _write(rig, "S0", "b")
        page = rig.source.fetch(iterator, 100)
        keys += map(rig.key_of, page.records)
        _expect(page.next is not None, "an open shard has a next page")
        iterator = page.next or iterator
    _equal(keys, ["a", "b"], "the records")


# -- positions


@_rule()
def opens_after_a_record(rig: Rig) -> None:
    """A shard opened after a record gives all that follow it; opened at its number, that record too."""
    rig.shape("S0")
    _write(rig, "S0", "abcd")
    for place, record in enumerate(_records(rig, "S0", Horizon())):
        after, _ = _read(rig, "S0", After(Place(record.number, 0)))
        _equal(after, list("abcd")[place + 1 :], f"what is after the record {place}")
        at, _ = _read(rig, "S0", AtNumber(record.sequence_number))
        _equal(at, list("abcd")[place:], f"what is at the record {place}")


@_rule("advance")
def opens_at_a_time(rig: Rig) -> None:
    """A shard opened at a time gives every record created then or later, or says that it cannot: TimeUnsupported."""
    rig.shape("S0")
    for key in "abc":
        _write(rig, "S0", key)
        assert rig.advance is not None
        rig.advance(10)
    created = [record.created_us for record in _records(rig, "S0", Horizon())]
    if None in created:
        return
    for place, created_us in enumerate(created):
        try:
            keys, _ = _read(rig, "S0", AtTime(created_us // SECOND_US * SECOND_US))
        except TimeUnsupported:
            return
        _equal(keys[-(3 - place) :], list("abc")[place:], f"what was created with the record {place} or later")


@_rule("put_packed")
def goes_on_within_a_packed_record(rig: Rig) -> None:
    """Records that the service holds as one share a number; opened after it, all but the first of them come."""
    rig.shape("S0")
    _write(rig, "S0", "a")
    assert rig.put_packed is not None
    rig.put_packed("S0", ["b", "c", "d"])
    _write(rig, "S0", "e")
    records = _records(rig, "S0", Horizon())
    _equal([rig.key_of(record) for record in records], list("abcde"), "the records of S0")
    _equal(len({record.number for record in records[1:4]}), 1, "how many numbers the packed records have")
    keys, _ = _read(rig, "S0", After(Place(records[1].number, 0)))
    _equal(keys, list("cde"), "what is after the first of the packed records")


# -- what goes wrong


@_rule("trim")
def says_what_is_trimmed(rig: Rig) -> None:
    """A place that is no longer held is PositionTrimmed, when it is opened or read; the horizon moves on."""
    rig.shape("S0")
    _write(rig, "S0", "abc")
    first = _records(rig, "S0", Horizon())[0]
    early = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    assert rig.trim is not None
    rig.trim("S0")
    _write(rig, "S0", "d")
    _raises(PositionTrimmed, lambda: _read(rig, "S0", After(Place(first.number, 0))))
    if not rig.horizon_moves:
        _raises(PositionTrimmed, lambda: rig.source.fetch(early, 10))
    _equal(_read(rig, "S0", Horizon())[0], ["d"], "the records from the horizon")


@_rule("advance")
def says_that_trimming_overtook_it(rig: Rig) -> None:
    """An iterator behind a record that was read gives nothing from beyond what was trimmed meanwhile, in silence."""
    rig.shape("S0")
    _write(rig, "S0", "abc")
    assert rig.advance is not None
    rig.advance((rig.source.retention_us - rig.source.iterator_us // 5) / SECOND_US)
    page = rig.source.fetch(_at_records(rig, "S0"), 1)
    first, following = page.records[0], page.next
    assert following is not None
    rig.advance(rig.source.iterator_us * 2 / 5 / SECOND_US)
    _write(rig, "S0", "d")
    _raises((PositionTrimmed, IteratorExpired), lambda: rig.source.fetch(following, 10))
    _raises(PositionTrimmed, lambda: _read(rig, "S0", After(Place(first.number, 0))))


@_rule()
def says_that_a_shard_never_was(rig: Rig) -> None:
    """A shard that nobody knows is ShardGone."""
    rig.shape("S0")
    unknown = rig.shard_id("S0")[:-2] + "99"
    _raises(ShardGone, lambda: rig.source.open_iterator(unknown, Horizon()))


@_rule("remove")
def says_that_a_shard_is_gone(rig: Rig) -> None:
    """A shard that the service forgot is ShardGone, however it is asked for."""
    rig.shape("S0 => S1")
    _write(rig, "S0", "a")
    iterator = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    assert rig.remove is not None
    rig.remove("S0")
    _raises(ShardGone, lambda: rig.source.open_iterator(rig.shard_id("S0"), Horizon()))
    _raises(ShardGone, lambda: rig.source.fetch(iterator, 10))


@_rule("expire")
def says_that_an_iterator_is_too_old(rig: Rig) -> None:
    """An iterator that is too old is IteratorExpired; the shard opens again."""
    rig.shape("S0")
    _write(rig, "S0", "a")
    iterator = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    assert rig.expire is not None
    rig.expire()
    _raises(IteratorExpired, lambda: rig.source.fetch(iterator, 10))
    _equal(_read(rig, "S0", Horizon())[0], ["a"], "the records after it")


@_rule("throttle", "fail")
def tells_passing_faults_apart(rig: Rig) -> None:
    """A call too many is Throttled, a fault that may pass is TransientError; the same call succeeds later."""
    rig.shape("S0")
    _write(rig, "S0", "a")
    iterator = _at_records(rig, "S0")
    source, shard_id = rig.source, rig.shard_id("S0")
    calls: list[Callable[[], object]] = [
        lambda: source.fetch(iterator, 10),
        lambda: source.open_iterator(shard_id, Horizon()),
        lambda: source.list_shards(None),
    ]
    for call in calls:
        for spoil, kind in ((rig.throttle, Throttled), (rig.fail, TransientError)):
            assert spoil is not None
            spoil()
            _raises(kind, call)
            call()


@_rule("trim", "expire")
def keeps_records_out_of_its_errors(rig: Rig) -> None:
    """No error holds what records say."""
    rig.shape("S0")
    rig.put("S0", _SECRET)
    iterator = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    assert rig.trim is not None
    assert rig.expire is not None
    first = _records(rig, "S0", Horizon())[0]
    rig.trim("S0")
    rig.put("S0", _SECRET)
    trimmed = _raises(PositionTrimmed, lambda: _read(rig, "S0", After(Place(first.number, 0))))
    rig.expire()
    expired = _raises(IteratorExpired, lambda: rig.source.fetch(iterator, 10))
    for error in (trimmed, expired):
        _expect(_SECRET not in f"{error} {error!r}", "a key stands in the message")


@_rule()
def is_asked_from_several_threads(rig: Rig) -> None:
    """Calls from several threads at once get each its own answer."""
    names = [f"S{number}" for number in range(6)]
    rig.shape(" ~ ".join(names))
    for name in names:
        _write(rig, name, [f"{name}-{count}" for count in range(5)])
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda name: _read(rig, name, Horizon())[0], names * 3))
    for name, keys in zip(names * 3, found, strict=True):
        _equal(keys, [f"{name}-{count}" for count in range(5)], f"the records of {name}")


# -- how it is looked at


def _listing(rig: Rig) -> list[Shard]:
    shards: list[Shard] = []
    after: str | None = None
    for _ in range(100):
        page = rig.source.list_shards(after)
        shards += page.shards
        after = page.next
        if after is None:
            return shards
    raise AssertionError("the listing does not end")


def _pages(rig: Rig, name: str, position: Position) -> list[Page]:
    """The pages of a shard until it ends, or until nothing came for a while."""
    iterator: ShardIterator | None = rig.source.open_iterator(rig.shard_id(name), position)
    pages: list[Page] = []
    empties = 0
    while iterator is not None and empties < _EMPTIES:
        pages.append(rig.source.fetch(iterator, min(100, rig.source.page_limit)))
        empties = 0 if pages[-1].records else empties + 1
        iterator = pages[-1].next
    return pages


def _records(rig: Rig, name: str, position: Position) -> list[Any]:
    return [record for page in _pages(rig, name, position) for record in page.records]


def _read(rig: Rig, name: str, position: Position) -> tuple[list[str], bool]:
    pages = _pages(rig, name, position)
    return [rig.key_of(record) for page in pages for record in page.records], pages[-1].next is None


def _at_records(rig: Rig, name: str) -> ShardIterator:
    """An iterator whose page has records: runs of empty ones come before it."""
    iterator = rig.source.open_iterator(rig.shard_id(name), Horizon())
    for _ in range(_EMPTIES):
        page = rig.source.fetch(iterator, 100)
        if page.records or page.next is None:
            return iterator
        iterator = page.next
    raise AssertionError(f"{name} gives no records")


def _write(rig: Rig, name: str, keys: str | list[str]) -> None:
    for key in keys:
        rig.put(name, key)


def _raises(kind: type[SourceError] | tuple[type[SourceError], ...], call: Callable[[], object]) -> SourceError:
    try:
        call()
    except kind as error:
        return error
    kinds = kind if isinstance(kind, tuple) else (kind,)
    raise AssertionError(f"there was no {' and no '.join(kind.__name__ for kind in kinds)}")


def _equal(found: object, expected: object, what: str) -> None:
    _expect(found == expected, f"{what}: {found!r} instead of {expected!r}")


def _expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise AssertionError(what)
