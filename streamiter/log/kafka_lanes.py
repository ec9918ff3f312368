"""Kafka's lanes: one consumer reads all partitions that are asked for; what comes waits, by partition, until it is asked for.

The consumer is told where to read (`assign`): no group divides the partitions. It is asked by one thread at a time, which
puts what comes where it belongs; the others wait for it.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from streamiter.clock import Clock
from streamiter.errors import PositionTrimmed, TransientError
from streamiter.log.kafka_errors import confluent, in_our_words
from streamiter.log.kafka_messages import Run, runs_of
from streamiter.log.record import LogRecord

TURN_SECONDS = 0.05  # for how long the consumer is asked at a time
MOST_WAITING = 5_000  # entries of one partition that nobody asked for yet: then it is left alone for a while
MESSAGES = 200  # at a time: so few that the garbage collector seldom meets one of them
TIMES = 5  # ... so often in a row, where there are so many: a page of few records costs nearly as much as one of many
FEW = 200  # a page of fewer waits for one more look, where the last one left some


@dataclass(slots=True)
class Lane:
    """One partition: what came of it, and from where on."""

    partition: int
    news: threading.Condition  # who waits for it hears of what came, or that it is to ask the consumer itself
    behind: int  # the number of the last entry that was handed out, or where reading began: the offset of the next
    next: int  # the least offset of what may come next
    waiting: deque[LogRecord] = field(default_factory=deque)
    end: int | None = None  # the broker said that nothing follows what came: the offset that comes next
    is_paused: bool = False
    is_waited_for: bool = False
    error: Exception | None = None


class Lanes:
    """Reads partitions from any place, and on from there without a seek."""

    def __init__(self, consumer: Any, topic: str, clock: Clock) -> None:
        self._consumer = consumer
        self._topic = topic
        self._clock = clock
        self._lanes: dict[int, Lane] = {}
        self._taken: set[int] = set()  # partitions that a thread waits for: it may be one at a time
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)  # a partition is taken no more, or the consumer is left alone
        self._is_asking = False
        self._are_more = False  # whether the last look at the consumer left messages there

    def take(self, partition: int, after: int, limit: int, known: int, seconds: float) -> tuple[list[LogRecord], int]:
        """What follows an entry; or, where the broker says that nothing follows it, the offset that comes next.

        `known`: the offset behind the last entry that is known to be there; a broker's word that is older does not count.
        Where nothing comes for so long, neither entries nor that word, it is a fault that may pass.
        """
        with self._changed:
            while partition in self._taken:
                self._changed.wait()
            self._taken.add(partition)
            try:
                return self._take(self._lane(partition, after), limit, known, self._clock.monotonic() + seconds)
            finally:
                self._taken.discard(partition)
                self._changed.notify_all()
                self._let_ask()

    def place(self, partition: int) -> int | None:
        """Behind which entry the partition is read here; None: it is not."""
        lane = self._lanes.get(partition)
        return None if lane is None else lane.behind

    def written(self, partition: int) -> int:
        """The offset behind all that is written, also by transactions that are still open, as the last answer told it."""
        return int(self._consumer.get_watermark_offsets(self._place(partition), cached=True)[1])

    def close(self) -> None:
        """Reads no more."""
        with self._changed:
            while self._is_asking:
                self._changed.wait()
            self._lanes.clear()
            self._consumer.close()

    # -- inside; the lock is held

    def _take(self, lane: Lane, limit: int, known: int, ends: float) -> tuple[list[LogRecord], int]:
        while not (lane.waiting or lane.error):
            self._turn(lane, TURN_SECONDS if lane.end is None or lane.end < known else 0.0)
            if lane.end is not None and lane.end >= known:
                break
            if self._clock.monotonic() >= ends:
                raise TransientError(f"partition {lane.partition} of {self._topic!r}: no broker answered in time")
        if self._are_more and len(lane.waiting) < min(FEW, limit) and not lane.error:
            self._turn(lane, 0.0)  # the look that found these ended amid a run of them
        if lane.error is not None:
            self._drop(lane)
            raise lane.error
        found = list(islice(lane.waiting, limit))
        if found:
            lane.behind = found[-1].number  # first, so that who is interrupted here reads them anew
        for _ in found:
            lane.waiting.popleft()
        self._let_flow(lane)
        return found, lane.end or 0

    def _place(self, partition: int, *offset: int) -> Any:
        return confluent().TopicPartition(self._topic, partition, *offset)

    def _lane(self, partition: int, after: int) -> Lane:
        lane = self._lanes.get(partition)
        if lane is not None and lane.behind == after:
            return lane
        if lane is not None:
            self._drop(lane)
        self._consumer.incremental_assign([self._place(partition, after)])
        lane = self._lanes[partition] = Lane(partition, threading.Condition(self._lock), after, after)
        return lane

    def _drop(self, lane: Lane) -> None:
        del self._lanes[lane.partition]
        self._consumer.incremental_unassign([self._place(lane.partition)])

    def _turn(self, lane: Lane, seconds: float) -> None:
        """Asks the consumer once, or waits for the thread that does so."""
        if self._is_asking:
            lane.is_waited_for = True
            lane.news.wait(TURN_SECONDS)
            lane.is_waited_for = False
            return
        self._is_asking, is_whole = True, False
        self._lock.release()
        try:
            runs = self._runs(seconds)
            is_whole = True
        finally:
            self._lock.acquire()
            self._is_asking = False
            self._changed.notify_all()
            if (
                not is_whole
            ):  # Ctrl-C, say: what the consumer gave is lost here, so all is read anew from where it stands
                for known in list(self._lanes.values()):
                    self._drop(known)
        self._put(runs)

    def _let_ask(self) -> None:
        """Another thread's turn: to wake them all would cost more than what they wait for."""
        if not self._is_asking:
            waited_for = next((lane for lane in self._lanes.values() if lane.is_waited_for), None)
            if waited_for is not None:
                waited_for.news.notify()

    def _runs(self, seconds: float) -> list[Run]:
        """What is here; or else what comes within that time."""
        runs: list[Run] = []
        for turn in range(TIMES):
            messages = self._consumer.consume(MESSAGES, 0) or (self._waited_for(seconds) if not turn else [])
            self._are_more = len(messages) == MESSAGES
            runs += runs_of(messages)
            if not self._are_more:
                break
        return runs

    def _waited_for(self, seconds: float) -> list[Any]:
        """The first message that comes, and all that came with it. (`consume` would wait until there are so many.)"""
        first = self._consumer.poll(seconds) if seconds else None
        return [] if first is None else [first, *self._consumer.consume(MESSAGES, 0)]

    def _put(self, runs: Sequence[Run]) -> None:
        for run in runs:
            lane = self._lanes.get(run.partition)
            if lane is None:
                continue
            lane.news.notify()
            if run.word is not None:
                self._note(lane, run.word, run.offsets[0])
            else:
                known = bisect_left(run.offsets, lane.next)  # the client may give some once more
                lane.waiting.extend(run.records[known:] if known else run.records)
                if known < len(run.offsets):
                    lane.end, lane.next = None, run.offsets[-1] + 1
        for lane in self._lanes.values():
            if len(lane.waiting) > MOST_WAITING and not lane.is_paused:
                self._consumer.pause([self._place(lane.partition)])
                lane.is_paused = True

    def _note(self, lane: Lane, error: Any, offset: int) -> None:
        if error.name() == "_PARTITION_EOF":
            lane.end = offset
        elif error.name() in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
            lane.error = PositionTrimmed(
                f"partition {lane.partition} of {self._topic!r}: what follows entry {lane.behind} is no longer held"
            )
        else:
            lane.error = in_our_words(error, f"partition {lane.partition} of {self._topic!r}")

    def _let_flow(self, lane: Lane) -> None:
        if lane.is_paused and len(lane.waiting) < MOST_WAITING // 2:
            self._consumer.resume([self._place(lane.partition)])
            lane.is_paused = False
