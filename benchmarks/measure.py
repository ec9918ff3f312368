"""Measuring: ratios between sides that take turns, so that what else the machine does disturbs both alike."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from benchmarks.canned.process import Canned
from benchmarks.results import Row
from benchmarks.sides import Outcome, Side, side

Name = TypeVar("Name", bound=Hashable)


class Scale(NamedTuple):
    """How thoroughly to measure."""

    runs: int
    is_smoke: bool = False

    def of(self, full: int, smoke: int) -> int:
        """A size: the full one, or a small one that shows only that it works."""
        return smoke if self.is_smoke else full


class Reading(NamedTuple):
    """A task for a side: what is measured."""

    side: Side
    action: str
    canned: Canned
    shards: int
    records: int
    options: dict[str, Any]

    def do(self) -> Outcome:
        """Reads once; raises where not all was read."""
        outcome = self.side.do(self.action, self.canned, self.shards, self.records, **self.options)
        if isinstance(outcome.value, list) and outcome.value[0] < self.records:
            raise AssertionError(f"{self.side.name} read {outcome.value[0]} of {self.records} records")
        return outcome


class Counted(NamedTuple):
    """A task, and the calls that its last run made."""

    reading: Reading
    calls: dict[str, int]

    def do(self) -> Outcome:
        """Reads once."""
        self.reading.canned.control(reset=True)
        outcome = self.reading.do()
        self.calls.update(self.reading.canned.control(reset=True)["calls"])
        return outcome


@dataclass
class Comparison:
    """Seconds of ours and of a peer's, run by run: ours is measured before and after, and the mean of both counts."""

    ours: list[tuple[Outcome, Outcome]] = field(default_factory=list)
    peer: list[Outcome] = field(default_factory=list)

    def row(self, work: str, peer: str, target: float | None = None) -> Row:
        """The row of the table: how many times as fast ours is."""
        pairs = list(zip(self.ours, self.peer, strict=True))
        return Row(
            work,
            peer,
            [theirs.seconds / _mean(one.seconds for one in ours) for ours, theirs in pairs],
            target,
            by_cpu=[theirs.cpu_seconds / _mean(one.cpu_seconds for one in ours) for ours, theirs in pairs],
        )

    def told(self, records: int) -> dict[str, Any]:
        """The absolute numbers."""
        return {
            "ours": rates([one for both in self.ours for one in both], records),
            "peer": rates(self.peer, records),
        }


def compare(ours: Reading, peers: Iterable[Reading], runs: int) -> list[Comparison]:
    """Each peer against ours, in turns. Read once before, so that all is warm: `check_same` does."""
    peers = list(peers)
    found = [Comparison() for _ in peers]
    for _ in range(runs):
        for comparison, peer in zip(found, peers, strict=True):
            before = ours.do()
            comparison.peer.append(peer.do())
            comparison.ours.append((before, ours.do()))
    return found


def take_turns(readings: Mapping[Name, Reading | Counted], runs: int) -> dict[Name, list[Outcome]]:
    """Several readings, in turns: forth, then back."""
    found: dict[Name, list[Outcome]] = {name: [] for name in readings}
    for run in range(runs):
        for name in list(readings)[:: 1 if run % 2 == 0 else -1]:
            found[name].append(readings[name].do())
    return found


def rates(outcomes: Iterable[Outcome], records: int) -> dict[str, Any]:
    """Records a second of time and of CPU time: the run in the middle, and the extremes."""
    by_time = [records / one.seconds for one in outcomes]
    by_cpu = [records / one.cpu_seconds for one in outcomes]
    return {
        "records": records,
        "records_per_second": statistics.median(by_time),
        "spread": [min(by_time), max(by_time)],
        "records_per_cpu_second": statistics.median(by_cpu),
        "cpu_spread": [min(by_cpu), max(by_cpu)],
    }


def start(stack: ExitStack, *names: str) -> dict[str, Side]:
    """Starts sides, which end with the stack."""
    return {name: stack.enter_context(side(name)) for name in names}


def check_same(readings: Iterable[Reading], *, images: bool) -> None:
    """Raises unless all of them read the same records."""
    told = {}
    for reading in readings:
        options = {**reading.options, "images": images}
        told[reading.side.name, reading.shards] = reading._replace(action="check", options=options).do().value
    if len({tuple(value) for value in told.values()}) > 1:
        raise AssertionError(f"the sides did not read the same records: {told}")


def versions(sides: dict[str, Side]) -> dict[str, dict[str, str]]:
    """What each side runs on."""
    return {name: one.versions for name, one in sides.items()}


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)
