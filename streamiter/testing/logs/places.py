"""Rules about places: which records follow a number, which are still held, and that every loss is told."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from streamiter.errors import RecordsExpired
from streamiter.log import Ends, Entry
from streamiter.stream.stream import Stream
from streamiter.testing.contract.rule import Rule, rule
from streamiter.testing.logs.rig import LogRig
from streamiter.testing.logs.sharing import all_of, entries, equal, expect, texts, trimmed

SECRET = "a-payload-that-no-message-may-hold"


@rule()
def reading_goes_on_anywhere(rig: LogRig) -> None:
    """What follows each number is all that was written behind it, also what is written later."""
    numbers = rig.log.append(0, entries("abcde"))
    for place, number in enumerate([0, *numbers]):
        equal(texts(all_of(rig.log, 0, number)), list("abcde")[place:], f"what follows {number}")
    rig.log.append(0, entries("f"))
    equal(texts(all_of(rig.log, 0, numbers[-1])), ["f"], "what was written behind the last one")


@rule()
def limits_are_kept(rig: LogRig) -> None:
    """A look brings no more than asked for, and says whether anything follows."""
    numbers = rig.log.append(0, entries("abc"))
    records, is_tip, _ = rig.log.read(0, 0, 2)
    expect(1 <= len(records) <= 2 and not is_tip, f"of three, two at most come, and that is no tip: {len(records)}")
    records, is_tip, _ = rig.log.read(0, numbers[-1], 2)
    expect(not records and is_tip, "behind the last entry is the tip")


@rule("trims")
def ends_are_told(rig: LogRig) -> None:
    """The ends are the numbers of the first and the last entry that are held; an empty partition has none."""
    equal(rig.log.ends(0), Ends(None, None), "the ends of an empty partition")
    numbers = rig.log.append(0, entries("abc"))
    equal(rig.log.ends(0), Ends(numbers[0], numbers[-1]), "the ends")
    rig.log.trim(0, numbers[2])
    equal(rig.log.ends(0), Ends(numbers[2], numbers[2]), "the ends of what is left")
    rig.log.trim(0, numbers[2] + 1)
    equal(rig.log.ends(0), Ends(None, None), "the ends after all was trimmed")


@rule("trims")
def what_is_trimmed_is_told(rig: LogRig) -> None:
    """Where an entry behind a number is gone, reading there is PositionTrimmed; where none is, it goes on."""
    numbers = rig.log.append(0, entries("abcd"))
    rig.log.append(1, entries("x"))
    rig.log.trim(0, numbers[2])
    for number in (0, numbers[0]):
        trimmed(partial(rig.log.read, 0, number, 10), f"two entries are gone: reading behind {number}")
    equal(texts(all_of(rig.log, 0, numbers[1])), ["c", "d"], "what follows the last one that is gone")
    equal(texts(all_of(rig.log, 0)), ["c", "d"], "what is held")
    equal(texts(all_of(rig.log, 1)), ["x"], "the entries of another partition")
    rig.log.trim(0, numbers[0])
    equal(texts(all_of(rig.log, 0)), ["c", "d"], "what is held after trimming less than before")


@rule("trims")
def a_partition_can_be_emptied(rig: LogRig) -> None:
    """After all is trimmed, readers that had it all go on, others are told; numbers go on, too."""
    numbers = rig.log.append(0, entries("ab"))
    rig.log.trim(0, numbers[-1] + 1)
    equal(all_of(rig.log, 0, numbers[-1]), [], "what follows the last one")
    trimmed(partial(rig.log.read, 0, numbers[0], 10), "reading behind the first one")
    trimmed(partial(rig.log.read, 0, 0, 10), "reading from before all")
    later = rig.log.append(0, entries("c"))
    expect(later[0] > numbers[-1], f"numbers go on: {later[0]} after {numbers[-1]}")
    equal(texts(all_of(rig.log, 0, numbers[-1])), ["c"], "what follows")


@rule()
def what_never_was_is_told(rig: LogRig) -> None:
    """Reading behind a number that the partition never had is PositionTrimmed: the log was set back."""
    (number,) = rig.log.append(0, entries("a"))
    trimmed(partial(rig.log.read, 0, number + 1_000_000, 10), "reading far behind the last one")
    trimmed(partial(rig.log.read, 1, number + 1_000_000, 10), "reading behind an entry of an empty partition")


@rule("trims")
def a_start_that_gave_nothing_is_a_place(rig: LogRig) -> None:
    """A stream that found nothing still has a place: records that are written after it and then trimmed are a gap (law 5)."""
    for start in ("trim_horizon", "latest"):
        with Stream(rig.another(), start) as stream:
            expect(not list(stream.follow(until="caught_up")), "nothing was written yet")
            token = stream.token
        numbers = rig.log.append(1, entries("ab"))
        rig.log.trim(1, numbers[-1] + 1)
        with Stream(rig.another(), token) as stream:
            expect(_has_gap(stream), f"what was lost behind the start {start!r} was not told")


@rule("trims")
def errors_say_nothing_of_entries(rig: LogRig) -> None:
    """No error, and no repr, holds what an entry says."""
    numbers = rig.log.append(0, [Entry(SECRET.encode(), SECRET.encode(), ((SECRET, SECRET.encode()),))] * 2)
    (record, _), _, _ = rig.log.read(0, 0, 2)
    rig.log.trim(0, numbers[-1] + 1)
    error = trimmed(partial(rig.log.read, 0, 0, 1), "reading what is gone")
    expect(SECRET not in f"{error} {error!r} {record!r} {rig.log!r}", "an entry stands in a message")


@rule()
def numbers_rise_for_ever(rig: LogRig) -> None:
    """Numbers rise from append to append, and places sort as they do."""
    numbers = [number for _ in range(50) for number in rig.log.append(0, entries("ab"))]
    expect(all(first < second for first, second in pairwise(numbers)), "the numbers rise")
    found = [record.number for record in all_of(rig.log, 0)]
    equal(found, numbers, "the numbers read")


def _has_gap(stream: Stream[object]) -> bool:  # type: ignore[type-var]
    try:
        for _ in stream.follow(until="caught_up"):
            pass
    except RecordsExpired:
        return True
    return False


PLACES: tuple[Rule[LogRig], ...] = (
    reading_goes_on_anywhere,
    limits_are_kept,
    ends_are_told,
    what_is_trimmed_is_told,
    a_partition_can_be_emptied,
    what_never_was_is_told,
    a_start_that_gave_nothing_is_a_place,
    errors_say_nothing_of_entries,
    numbers_rise_for_ever,
)
