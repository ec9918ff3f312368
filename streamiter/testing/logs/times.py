"""Rules about times: stamps follow the order of writing, and no look promises more than it knows."""

from __future__ import annotations

import threading
from itertools import pairwise
from random import Random

from streamiter.clock import SystemClock
from streamiter.errors import PositionTrimmed
from streamiter.log import Log, LogRecord
from streamiter.source.base import ShardIterator
from streamiter.stream.stream import Stream
from streamiter.testing.contract.rule import Rule, rule
from streamiter.testing.logs.rig import LogRig
from streamiter.testing.logs.sharing import all_of, entries, equal, expect, texts

YEAR_US = 365 * 86_400 * 1_000_000


@rule()
def stamps_are_microseconds(rig: LogRig) -> None:
    """Each entry has a time in microseconds since 1970, which within a partition never runs back."""
    for payload in "abc":
        rig.log.append(0, entries(payload * 2))
    stamps = [record.created_us or 0 for record in all_of(rig.log, 0)]
    expect(min(stamps) > 30 * YEAR_US, f"{min(stamps)} is no time in microseconds of these years")
    expect(all(first <= second for first, second in pairwise(stamps)), "a stamp runs back")


@rule("is_exact")
def stamps_follow_the_writing(rig: LogRig) -> None:
    """An entry that is appended after another one was acknowledged is not stamped earlier, whatever its partition."""
    other = rig.another()
    random = Random(1)
    stamps = []
    for _ in range(100):
        log, partition = random.choice((rig.log, other)), random.randrange(3)
        (number,) = log.append(partition, entries("a"))
        stamps.append(_record(rig.log, partition, number).created_us or 0)
    expect(all(first <= second for first, second in pairwise(stamps)), "a stamp runs back")
    other.close()


@rule("is_exact")
def looks_keep_their_word(rig: LogRig) -> None:
    """No entry that was not there at a look at any partition is stamped earlier than the time that the look told."""
    told_us = 0
    for turn in range(60):
        (number,) = rig.log.append(turn % 3, entries("a"))
        stamp_us = _record(rig.log, turn % 3, number).created_us or 0
        expect(stamp_us >= told_us, f"stamped at {stamp_us}, though a look told {told_us}")
        _, _, service_us = rig.log.read((turn + 1) % 3, rig.log.ends((turn + 1) % 3).last or 0, 10)
        now_us = rig.log.now_us()
        listed_us = rig.log.list_shards(None).service_us
        for us in (service_us, now_us, listed_us):
            expect(us is not None and us >= told_us, f"the time {us} runs back behind {told_us}, or is not told")
            told_us = us or 0


@rule()
def time_passes_without_entries(rig: LogRig) -> None:
    """The time that looks tell goes on while nothing is written: else a record would wait for a quiet partition for ever."""
    rig.log.append(0, entries("a"))
    stamp_us = all_of(rig.log, 0)[0].created_us or 0
    _pass_by(rig, stamp_us, 1)


@rule()
def places_are_found_by_time(rig: LogRig) -> None:
    """Seeking a time gives the place behind which all entries of that time and later stand, among those that are held."""
    numbers = []
    for payload in "abcd":
        numbers += rig.log.append(0, entries(payload))
        _pass_by(rig, all_of(rig.log, 0)[-1].created_us or 0, 2)
    stamps = [record.created_us or 0 for record in all_of(rig.log, 0)]
    for place, stamp_us in enumerate(stamps):
        equal(texts(all_of(rig.log, 0, rig.log.seek(0, stamp_us))), list("abcd")[place:], f"since {'abcd'[place]}")
    equal(texts(all_of(rig.log, 0, rig.log.seek(0, 0))), list("abcd"), "since 1970")
    equal(rig.log.seek(0, stamps[-1] + YEAR_US), numbers[-1], "the place of a time to come")
    equal(rig.log.seek(1, 0), rig.log.seek(1, stamps[-1] + YEAR_US), "the place of any time in an empty partition")
    if not rig.trims:
        return
    rig.log.trim(0, numbers[2])
    equal(texts(all_of(rig.log, 0, rig.log.seek(0, stamps[0]))), ["c", "d"], "since a, after it was trimmed")
    rig.log.trim(0, numbers[-1] + 1)
    equal(rig.log.seek(0, 0), numbers[-1], "the place of any time, once all is trimmed")


@rule("is_exact")
def a_stream_gives_the_order_of_writing(rig: LogRig) -> None:
    """Through a Stream, entries of all partitions come in the order of writing, as finely as the log tells times; none late."""
    random = Random(2)
    payloads = [str(number) for number in range(120)]
    found: list[str] = []
    with Stream(rig.another()) as stream:
        for payload in payloads:
            rig.log.append(random.randrange(3), entries([payload]))
            if rig.log.grain_us > 1:
                _pass_by(rig, rig.log.now_us() or 0, rig.log.grain_us)
            if random.random() < 0.3:
                found += texts([record for record in [next(stream)] if record is not None])
        found += texts(list(stream.follow(until="caught_up")))
        equal(stream.stats.late, 0, "late records")
    equal(found, payloads, "the payloads")


@rule()
def watches_tell_what_is_new(rig: LogRig) -> None:
    """A watch tells the shards behind whose places entries stand, and no others; one that finds nothing ends in time."""
    if not rig.log.watches:
        return
    (number,) = rig.log.append(1, entries("a"))
    places = [
        ShardIterator("0", rig.log.start(0)),
        ShardIterator("1", rig.log.start(1)),
        ShardIterator("2", rig.log.start(2)),
    ]
    equal(list(rig.log.watch(places, 5.0)), ["1"], "the shards that have news")
    places[1] = ShardIterator("1", number)
    equal(list(rig.log.watch(places, 0.01)), [], "the shards that have none")
    other = rig.another()
    writer = threading.Timer(0.05, other.append, (2, entries("b")))
    writer.start()
    equal(list(rig.log.watch(places, 60.0)), ["2"], "the shards that have news, once it is written")
    writer.join()
    other.close()


def _record(log: Log, partition: int, number: int) -> LogRecord:
    for back in (1, number):  # numbers may lie far apart
        try:
            records = log.read(partition, number - back, 1).records
        except PositionTrimmed:
            continue
        if records and records[0].number == number:
            return records[0]
    return next(record for record in all_of(log, partition) if record.number == number)


def _pass_by(rig: LogRig, time_us: int, past_us: int) -> None:
    """Waits until the log's time is beyond a moment."""
    clock = SystemClock()
    for _ in range(10_000):
        now_us = rig.log.now_us()
        if now_us is None or now_us >= time_us + past_us:
            return
        if rig.advance is not None:
            rig.advance(0.01)
        else:
            clock.sleep(0.001)
    raise AssertionError(f"the log's time does not pass {time_us}")


TIMES: tuple[Rule[LogRig], ...] = (
    stamps_are_microseconds,
    stamps_follow_the_writing,
    looks_keep_their_word,
    time_passes_without_entries,
    places_are_found_by_time,
    a_stream_gives_the_order_of_writing,
    watches_tell_what_is_new,
)
