"""Comparing: the same steps at two services, and how often they differed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.testing.differential.known import differences
from tests.testing.differential.life import life
from tests.testing.differential.mistakes import MISTAKES
from tests.testing.differential.services import Service
from tests.testing.differential.step import outcome
from tests.testing.differential.world import World
from tests.testing.differential.writes import writes

VIEWS = ("NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY")


@dataclass
class Findings:
    """What a comparison found."""

    name: str
    compared: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"simulator and {self.name}: {self.compared} operations compared, "
            f"{sum(self.explained.values())} explained differences, {len(self.unexplained)} others"
        ]
        lines += [f"  {count:5} {title}" for title, count in self.explained.most_common()]
        return "\n".join(lines + [f"  !!    {one}" for one in self.unexplained])


def compare(
    ours: Service,
    theirs: Service,
    *,
    seed: int,
    count: int,
    views: Sequence[str] = VIEWS,
    found: Findings | None = None,
) -> Findings:
    """Random writes and mistakes on a table of each view, then the life of its stream."""
    found = found or Findings(theirs.name)
    for number, view in enumerate(VIEWS):
        if view not in views:
            continue
        table = f"table{seed}-{number}"
        worlds = World(ours, table, view), World(theirs, table, view)
        drawn = [
            *writes(seed * len(VIEWS) + number, count),
            *(MISTAKES if number == 0 else []),
            *life(VIEWS[number - 1]),
        ]
        for step in drawn:
            mine, other = (outcome(step.run, world) for world in worlds)
            amended, used = differences(theirs.name, step.label, mine, other)
            found.compared += 1
            found.explained.update(used)
            if amended != mine:
                found.unexplained.append(f"{view}, {step.label}: {mine} and {other}")
    return found
