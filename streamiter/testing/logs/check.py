"""Checking a log: every rule of logs on a fresh rig, and every rule of sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from streamiter.testing.contract.check import Report, check_all
from streamiter.testing.contract.rig import Rig
from streamiter.testing.contract.rules import RULES
from streamiter.testing.logs.entries import ENTRIES
from streamiter.testing.logs.faulty import FAULTS
from streamiter.testing.logs.places import PLACES
from streamiter.testing.logs.rig import LogRig, source_rig
from streamiter.testing.logs.times import TIMES
from streamiter.testing.logs.together import TOGETHER


def check_log(make: Callable[[], AbstractContextManager[LogRig]]) -> Report:
    """Tries every rule of logs, and of sources, on a rig of its own; raises ContractBroken at the first that is broken."""

    @contextmanager
    def as_source() -> Iterator[Rig]:
        with make() as rig:
            yield source_rig(rig)

    report = check_all((*ENTRIES, *PLACES, *TIMES, *TOGETHER, *FAULTS), make)
    source = check_all(RULES, as_source)
    report.kept += source.kept
    report.passed_over.update(source.passed_over)
    return report
