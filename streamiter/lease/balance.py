"""Balance: which leases a worker takes, asks for and gives; pure.

Every worker computes the same plan from the same rows, so that no lease is wanted twice. Where their views differ for a
moment, compare-and-set decides who takes, and an owner gives only what its own view allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple


class View(NamedTuple):
    """Who holds what, as one worker sees it. Leases that are completed, or whose parents are not, do not count."""

    me: str  # who looks
    workers: Collection[str]  # alive and not leaving; they share the leases
    held: Mapping[str, str]  # by lease, the worker that holds it, or that it is promised to
    free: Mapping[str, str | None] = {}  # leases to be taken; the worker that one is promised to
    moving: int = 0  # leases that nobody of these holds and nobody can take yet
    stuck: Collection[str] = ()  # leases that their owners cannot hand over now
    overdue: Collection[str] = ()  # free ones that the worker they were meant for left lying


class Plan(NamedTuple):
    """What is to become of leases: by lease, the worker that gets it."""

    takes: Mapping[str, str]
    moves: Mapping[str, str]


def targets(view: View, *, first: str | None = None) -> dict[str, int]:
    """How many leases each worker is to have: who has more now keeps the odd ones, so that as few move as can be.

    Of equals, those come first to whom leases were handed over, then `first`, then the others by their ids.
    """
    workers, counts, promised = sorted(view.workers), Counter(view.held.values()), Counter(view.free.values())
    if not workers:
        return {}
    least, odd = divmod(len(view.held) + len(view.free) + view.moving, len(workers))
    ranked = sorted(workers, key=lambda worker: (-counts[worker], -promised[worker], worker != first))
    return {worker: least + (place < odd) for place, worker in enumerate(ranked)}


def make_plan(view: View, *, first: str | None = None) -> Plan:
    """Deals the free leases to those who have too few, and then what others have too much of."""
    aims, counts = targets(view, first=first), Counter(view.held.values())
    room = {worker: aims[worker] - counts[worker] for worker in sorted(aims)}
    takes: dict[str, str] = {}
    for lease in sorted(view.free):
        worker = view.free[lease]
        if worker is not None and room.get(worker, 0) > 0:
            takes[lease] = worker
            room[worker] -= 1
    takes |= _deal((lease for lease in sorted(view.free) if lease not in takes), room)
    moves = _deal(_surplus(view, aims, counts), room)
    return Plan(takes, moves)


def takes_of(view: View) -> list[str]:
    """The leases that this worker takes now: those dealt to it, and those that others left lying.

    Among equals each takes itself for the one to have an odd lease. So none lies free because two expect the other to take
    it; where both try, one is refused.
    """
    takes = make_plan(view, first=view.me).takes
    mine = [lease for lease, taker in takes.items() if taker == view.me]
    # As if there were one worker less: the one that lets leases lie stands still, perhaps.
    most = -(-(len(view.held) + len(view.free) + view.moving) // max(1, len(view.workers) - 1))
    have = sum(owner == view.me for owner in view.held.values()) + len(mine)
    left_lying = [lease for lease in sorted(view.overdue) if takes.get(lease) != view.me]
    return mine + left_lying[: max(0, most - have)]


def asks_of(view: View) -> list[str]:
    """The leases that this worker asks others for."""
    return [lease for lease, taker in make_plan(view).moves.items() if taker == view.me]


def gives_of(asked: Iterable[tuple[str, str]], view: View) -> dict[str, str]:
    """Of the leases that others ask this worker for (lease, asker), those that it gives: it has too many, they too few."""
    aims, counts, worker = targets(view), Counter(view.held.values()), view.me
    given: dict[str, str] = {}
    for lease, taker in asked:
        is_mine = view.held.get(lease) == worker and lease not in given
        if is_mine and counts[worker] > aims.get(worker, 0) and counts[taker] < aims.get(taker, 0):
            given[lease] = taker
            counts[worker] -= 1
            counts[taker] += 1
    return given


def _surplus(view: View, aims: Mapping[str, int], counts: Mapping[str, int]) -> Iterator[str]:
    """What workers have too much of: from each the last of its leases, as these have names that sort last."""
    left = {worker: counts[worker] - aims[worker] for worker in aims}
    for lease in sorted(view.held, reverse=True):
        owner = view.held[lease]
        if left.get(owner, 0) > 0 and lease not in view.stuck:
            left[owner] -= 1
            yield lease


def _deal(leases: Iterable[str], room: dict[str, int]) -> dict[str, str]:
    """Leases to workers that have room, in the order of both."""
    dealt: dict[str, str] = {}
    places = (worker for worker in room for _ in range(max(0, room[worker])))
    for lease, worker in zip(leases, list(places), strict=False):
        dealt[lease] = worker
        room[worker] -= 1
    return dealt
