"""Rules about bad days: what a store says when an answer is lost or late, or when it is asked too often."""

from __future__ import annotations

from functools import partial

from streamiter.errors import Throttled, TransientError
from streamiter.testing.contract.rule import Rule, rule
from streamiter.testing.stores.rig import StoreRig
from streamiter.testing.stores.sharing import SHOP, conflict, equal, lease, seen


@rule("lose_answer")
def a_lost_answer_is_recognised(rig: StoreRig) -> None:
    """A write whose answer is lost says so; tried again, it is done or finds itself, and other writes do not."""
    assert rig.lose_answer is not None
    rig.store.write(SHOP, lease("S1", owner="a"), None)
    for row, expected in ((lease("S1", owner="b"), 1), (lease("S2", owner="b"), None)):
        rig.lose_answer()
        try:
            rig.store.write(SHOP, row, expected)
        except TransientError:
            standing = conflict(partial(rig.store.write, SHOP, row, expected))
            equal(row.is_same(standing), True, f"that {standing!r} is recognised")
            equal(lease(row.key, owner="c").is_same(standing), False, "that another writer's row is recognised")
        else:
            raise AssertionError("the write was answered: this rig lost nothing")
    equal({key: row.version for key, row in seen(rig.store, SHOP).items()}, {"S1": 2, "S2": 1}, "the rows")


@rule("fail")
def a_fault_passes(rig: StoreRig) -> None:
    """A call that meets a fault says that it may pass, and the next one is done."""
    assert rig.fail is not None
    rig.store.write(SHOP, lease("S1"), None)
    for call in (
        lambda: rig.store.scan(SHOP),
        lambda: rig.store.read(SHOP, "S1"),
        lambda: rig.store.write(SHOP, lease("S1"), 1),
    ):
        rig.fail()
        try:
            call()
        except TransientError:
            call()
        else:
            raise AssertionError("the call met no fault")


@rule("throttle")
def throttles_are_told(rig: StoreRig) -> None:
    """A call that is one too many is told as Throttled, and nothing was written."""
    assert rig.throttle is not None
    rig.store.write(SHOP, lease("S1"), None)
    rig.throttle()
    try:
        rig.store.write(SHOP, lease("S1", owner="a"), 1)
    except Throttled:
        equal(rig.store.write(SHOP, lease("S1", owner="a"), 1).version, 2, "the version after the second try")
    else:
        raise AssertionError("the call was not throttled")


@rule("silence", "hasty")
def no_call_waits_for_ever(rig: StoreRig) -> None:
    """A call that is never answered ends by itself, and says that it may have happened; other calls go on."""
    assert rig.silence is not None
    assert rig.hasty is not None
    rig.store.write(SHOP, lease("S1"), None)
    with rig.hasty() as store:
        rig.silence()
        try:
            store.write(SHOP, lease("S1", owner="a"), 1)
        except TransientError:
            rig.store.read(SHOP, "S1")
        else:
            raise AssertionError("the call was answered")


FAULTS: tuple[Rule[StoreRig], ...] = (
    a_lost_answer_is_recognised,
    a_fault_passes,
    throttles_are_told,
    no_call_waits_for_ever,
)
