"""Rules about bad days: what a log says when an answer is lost or late, or when it is asked too often."""

from __future__ import annotations

from functools import partial

from streamiter.errors import Throttled, TransientError
from streamiter.testing.contract.rule import Rule, rule
from streamiter.testing.logs.rig import LogRig
from streamiter.testing.logs.sharing import all_of, entries, equal, expect, texts


@rule("lose_answer")
def a_lost_answer_may_have_been_done(rig: LogRig) -> None:
    """An append whose answer is lost says so; its entries are there once at most, whole and in order."""
    assert rig.lose_answer is not None
    rig.log.append(0, entries("a"))
    rig.lose_answer()
    try:
        rig.log.append(0, entries("bc"))
    except TransientError:
        rig.log.append(0, entries("d"))
    else:
        raise AssertionError("the append was answered: this rig lost nothing")
    found = "".join(texts(all_of(rig.log, 0)))
    expect(found in ("abcd", "ad"), f"the entries are {found}")


@rule("fail")
def a_fault_passes(rig: LogRig) -> None:
    """A call that meets a fault says that it may pass, and the next one is done."""
    assert rig.fail is not None
    rig.log.append(0, entries("a"))
    for call in (
        partial(rig.log.read, 0, 0, 10),
        partial(rig.log.append, 0, entries("b")),
        rig.log.partitions,
        partial(rig.log.ends, 0),
        partial(rig.log.seek, 0, 0),
    ):
        rig.fail()
        try:
            call()
        except TransientError:
            call()
        else:
            raise AssertionError("the call met no fault")
    equal(texts(all_of(rig.log, 0)), ["a", "b"], "the entries")


@rule("throttle")
def throttles_are_told(rig: LogRig) -> None:
    """An append that is one too many is told as Throttled, and nothing was written."""
    assert rig.throttle is not None
    rig.log.append(0, entries("a"))
    rig.throttle()
    try:
        rig.log.append(0, entries("b"))
    except Throttled:
        rig.log.append(0, entries("c"))
    else:
        raise AssertionError("the append was not throttled")
    equal(texts(all_of(rig.log, 0)), ["a", "c"], "the entries")


@rule("silence", "hasty")
def no_call_waits_for_ever(rig: LogRig) -> None:
    """A call that is never answered ends by itself, and says that it may have happened; other calls go on."""
    assert rig.silence is not None
    assert rig.hasty is not None
    log = rig.hasty()
    rig.silence()
    try:
        log.append(0, entries("a"))
    except TransientError:
        rig.log.append(0, entries("b"))
    else:
        raise AssertionError("the append was answered")
    finally:
        log.close()


FAULTS: tuple[Rule[LogRig], ...] = (
    a_lost_answer_may_have_been_done,
    a_fault_passes,
    throttles_are_told,
    no_call_waits_for_ever,
)
