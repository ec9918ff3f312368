"""The layout: which bar of the picture a shard is: its row and colour, where it begins and ends; pure."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.cli.checks.survey import Survey
from streamiter.lineage import Lineage


@dataclass(frozen=True)
class Bar:
    """A shard in the picture."""

    shard_id: str
    row: int
    colour: int
    begin_us: int
    end_us: int
    is_open: bool


def lay_out(survey: Survey, since_us: int | None = None) -> list[Bar]:
    """Each shard's row, colour, begin and end. A first child goes on in its parent's row; its siblings get rows below."""
    rows = rows_of(survey.lineage)
    roots = survey.lineage.roots()
    colours = {
        shard_id: number for number, root in enumerate(roots) for shard_id in (root, *survey.lineage.descendants(root))
    }
    ends = _ends(survey)
    bars = []
    for shard_id, row in rows.items():
        begin_us = survey.began_us(shard_id)
        if begin_us is None:
            begin_us = max((ends[parent] for parent in survey.lineage.parents(shard_id)), default=ends[shard_id])
        end_us = max(begin_us, ends[shard_id])
        is_open = not survey.lineage[shard_id].closed
        if since_us is None or is_open or end_us > since_us:
            bars.append(Bar(shard_id, row, colours[shard_id], begin_us, end_us, is_open))
    used = {row: number for number, row in enumerate(sorted({bar.row for bar in bars}))}
    return [Bar(bar.shard_id, used[bar.row], bar.colour, bar.begin_us, bar.end_us, bar.is_open) for bar in bars]


def rows_of(lineage: Lineage) -> dict[str, int]:
    """The row of each shard, so that no two lineages cross but where shards merge; what merges stands near."""
    rows: dict[str, int] = {}
    count = 0
    for root in lineage.roots():
        pending = [(root, True)]
        while pending:
            shard_id, is_new = pending.pop()
            if shard_id in rows:
                continue
            others = _roots_of(lineage, shard_id) - rows.keys() - {shard_id}
            if others:  # a shard that merges waits until the lineages that it comes from have their rows, below
                pending += [(shard_id, is_new), *((other, True) for other in sorted(others, reverse=True))]
                continue
            if is_new:
                rows[shard_id] = count
                count += 1
            else:
                rows[shard_id] = next(rows[parent] for parent in lineage.parents(shard_id) if parent in rows)
            children = [child for child in lineage.children(shard_id) if child in lineage]
            # The first child is looked at first: its own siblings then stand right below it.
            pending += [(child, number > 0) for number, child in reversed(list(enumerate(children)))]
    return rows


def _roots_of(lineage: Lineage, shard_id: str) -> set[str]:
    return {above for above in lineage.ancestors(shard_id) if not lineage.parents(above)}


def _ends(survey: Survey) -> dict[str, int]:
    """About when each shard ended: as its first child began, else with its last record; open ones go on until now."""
    ends = {}
    for shard_id in survey.lineage:
        children = [survey.began_us(child) for child in survey.lineage.children(shard_id) if child in survey.found]
        began = [time_us for time_us in children if time_us is not None]
        last = survey.counts.last_us.get(shard_id) if survey.counts is not None else None
        if not survey.lineage[shard_id].closed:
            ends[shard_id] = survey.service_us
        elif began:
            ends[shard_id] = max(min(began), last or 0)
        else:
            ends[shard_id] = last or survey.began_us(shard_id) or survey.service_us
    return ends
