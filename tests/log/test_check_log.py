"""Every backend keeps the contract of logs; and a log that does not is found out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from streamiter.errors import Throttled, TransientError
from streamiter.log import Entry, Log, MemoryLog, Slice
from streamiter.testing import ContractBroken, LogRig, ManualClock, check_log
from tests.log.sqlite_rig import sqlite_rig


class Faulty(MemoryLog):
    """A memory log whose next call meets a fault, or whose next append's answer is lost."""

    plan: type[TransientError] | None = None
    loses = False

    @property
    def faults(self) -> dict[str, Callable[[], object]]:
        return {
            "lose_answer": partial(setattr, self, "loses", True),
            "throttle": partial(setattr, self, "plan", Throttled),
            "fail": partial(setattr, self, "plan", TransientError),
        }

    def partitions(self):
        self._meet()
        return super().partitions()

    def read(self, partition, after, limit):
        self._meet()
        return super().read(partition, after, limit)

    def seek(self, partition, time_us):
        self._meet()
        return super().seek(partition, time_us)

    def ends(self, partition):
        self._meet()
        return super().ends(partition)

    def append(self, partition, entries):
        self._meet()
        numbers = super().append(partition, entries)
        if self.loses:
            self.loses = False
            raise TransientError("the answer is lost")
        return numbers

    def _meet(self) -> None:
        plan, self.plan = self.plan, None
        if plan is not None:
            raise plan("planted")


@contextmanager
def memory_rig(make: type[MemoryLog] = Faulty) -> Iterator[LogRig]:
    clock = ManualClock()
    log = make(partitions=3, clock=clock)
    yield LogRig(
        log,
        lambda: log,
        is_atomic=True,
        advance=clock.advance,
        **(log.faults if isinstance(log, Faulty) else {}),
    )


def test_the_memory_log_keeps_the_contract():
    report = check_log(memory_rig)
    assert len(report.kept) > 35


def test_the_sqlite_log_keeps_the_contract():
    report = check_log(sqlite_rig)
    assert "the rig has no silence and no hasty" in report.passed_over.values() and len(report.kept) > 35


class Forgetful(MemoryLog):
    """It gives what is left after trimming, and says nothing."""

    def read(self, partition: int, after: int, limit: int) -> Slice:
        return super().read(partition, max(after, self.start(partition)), limit)


class Hasty(MemoryLog):
    """It promises that nothing comes for a while."""

    def read(self, partition: int, after: int, limit: int) -> Slice:
        found = super().read(partition, after, limit)
        return found._replace(service_us=(found.service_us or 0) + 1_000_000)


class Greedy(MemoryLog):
    """It gives more than it is asked for."""

    def read(self, partition: int, after: int, limit: int) -> Slice:
        return super().read(partition, after, limit + 1)


class Keyless(MemoryLog):
    """It takes no key for an empty one."""

    def append(self, partition, entries):
        return super().append(partition, [Entry(e.payload, e.key or b"", e.headers) for e in entries])


class Doubling(MemoryLog):
    """It writes twice."""

    def append(self, partition, entries):
        super().append(partition, entries)
        return super().append(partition, entries)


class Timeless(MemoryLog):
    """It finds no place by time."""

    def seek(self, partition: int, time_us: int) -> int:
        return super().seek(partition, 0)


@pytest.mark.parametrize("broken", [Forgetful, Hasty, Greedy, Keyless, Doubling, Timeless])
def test_a_log_that_breaks_a_promise_is_found_out(broken: type[Log]):
    with pytest.raises(ContractBroken):
        check_log(lambda: memory_rig(broken))
