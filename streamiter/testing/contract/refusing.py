"""Refusing: the rules about a source's errors."""

from __future__ import annotations

from collections.abc import Callable

from streamiter.clock import SECOND_US
from streamiter.errors import (
    IteratorExpired,
    PositionTrimmed,
    ShardGone,
    Throttled,
    TransientError,
)
from streamiter.position import After, Horizon, Place
from streamiter.testing.contract.probe import (
    at_records,
    equal,
    expect,
    past_empties,
    raises,
    read,
    records_of,
    write,
)
from streamiter.testing.contract.rig import Rig
from streamiter.testing.contract.rule import rule

SECRET = "a-key-that-no-message-may-hold"


@rule("trim")
def says_what_is_trimmed(rig: Rig) -> None:
    """A place that is no longer held is PositionTrimmed, when it is opened or read; the horizon moves on."""
    rig.shape("S0")
    write(rig, "S0", "abc")
    first = records_of(rig, "S0", Horizon())[0]
    early = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    assert rig.trim is not None
    rig.trim("S0")
    write(rig, "S0", "d")
    raises(PositionTrimmed, lambda: read(rig, "S0", After(Place(first.number, 0))))
    if not rig.horizon_moves:
        raises(PositionTrimmed, lambda: rig.source.fetch(early, 10))
    equal(read(rig, "S0", Horizon())[0], ["d"], "the records from the horizon")


@rule("advance", "ages")
def says_that_trimming_overtook_it(rig: Rig) -> None:
    """An iterator behind a record that was read gives nothing from beyond what was trimmed meanwhile, in silence."""
    rig.shape("S0")
    write(rig, "S0", "abc")
    assert rig.advance is not None
    rig.advance((rig.source.retention_us - rig.source.iterator_us // 5) / SECOND_US)
    page = rig.source.fetch(at_records(rig, "S0"), 1)
    first, following = page.records[0], page.next
    assert following is not None
    rig.advance(rig.source.iterator_us * 2 / 5 / SECOND_US)
    write(rig, "S0", "d")
    raises((PositionTrimmed, IteratorExpired), lambda: past_empties(rig, following))
    raises(PositionTrimmed, lambda: read(rig, "S0", After(Place(first.number, 0))))


@rule()
def says_that_a_shard_never_was(rig: Rig) -> None:
    """A shard that does not exist is ShardGone."""
    rig.shape("S0")
    unknown = rig.shard_id("S0")[:-2] + "99"
    raises(ShardGone, lambda: rig.source.open_iterator(unknown, Horizon()))


@rule("remove", "splits")
def says_that_a_shard_is_gone(rig: Rig) -> None:
    """A shard that the service forgot is ShardGone, however it is asked for."""
    rig.shape("S0 => S1")
    write(rig, "S0", "a")
    iterator = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    assert rig.remove is not None
    rig.remove("S0")
    raises(ShardGone, lambda: rig.source.open_iterator(rig.shard_id("S0"), Horizon()))
    raises(ShardGone, lambda: rig.source.fetch(iterator, 10))


@rule("expire")
def says_that_an_iterator_is_too_old(rig: Rig) -> None:
    """An iterator that is too old is IteratorExpired; the shard opens again."""
    rig.shape("S0")
    write(rig, "S0", "a")
    iterator = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    assert rig.expire is not None
    rig.expire()
    raises(IteratorExpired, lambda: rig.source.fetch(iterator, 10))
    equal(read(rig, "S0", Horizon())[0], ["a"], "the records after it")


@rule("throttle", "fail")
def tells_passing_faults_apart(rig: Rig) -> None:
    """A call too many is Throttled, a fault that may pass is TransientError; the same call succeeds later."""
    rig.shape("S0")
    write(rig, "S0", "a")
    iterator = at_records(rig, "S0")
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
            raises(kind, call)
            call()


@rule("trim", "expire")
def keeps_records_out_of_its_errors(rig: Rig) -> None:
    """No error holds what records say."""
    rig.shape("S0")
    rig.put("S0", SECRET)
    iterator = rig.source.open_iterator(rig.shard_id("S0"), Horizon())
    assert rig.trim is not None
    assert rig.expire is not None
    first = records_of(rig, "S0", Horizon())[0]
    rig.trim("S0")
    rig.put("S0", SECRET)
    trimmed = raises(PositionTrimmed, lambda: read(rig, "S0", After(Place(first.number, 0))))
    rig.expire()
    expired = raises(IteratorExpired, lambda: rig.source.fetch(iterator, 10))
    for error in (trimmed, expired):
        expect(SECRET not in f"{error} {error!r}", "a key stands in the message")


RULES = (
    says_what_is_trimmed,
    says_that_trimming_overtook_it,
    says_that_a_shard_never_was,
    says_that_a_shard_is_gone,
    says_that_an_iterator_is_too_old,
    tells_passing_faults_apart,
    keeps_records_out_of_its_errors,
)
