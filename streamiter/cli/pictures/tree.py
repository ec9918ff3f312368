"""The tree: a lineage as lines, a shard each: its state, how old it is, where a token stands in it; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamiter.cli.checks.standing import Standing
from streamiter.cli.checks.survey import Found, Survey
from streamiter.cli.moments import age
from streamiter.cli.terminal.words import in_our_words, with_class
from streamiter.clock import SECOND_US
from streamiter.lineage import Lineage
from streamiter.terminal import Span

Row = list[Span]
AGE_CELLS = 12  # of a column with ages
TOKEN_CELLS = 2 + len("here, 23 h 59 m behind")
MOST_NAMED = 3  # of shards that failed alike
BRANCH, LAST, PASSED, EMPTY = "├╴", "└╴", "│ ", "  "


def branches(lineage: Lineage) -> Iterator[tuple[str, str]]:
    """Each shard with what stands before its name: parents above children. A shard of two parents stands below one."""
    told: set[str] = set()

    def below(shard_id: str, lead: str, rest: str) -> Iterator[tuple[str, str]]:
        pending = [(shard_id, lead, rest)]
        while pending:
            shard_id, lead, rest = pending.pop()
            if shard_id in told:
                continue
            told.add(shard_id)
            yield lead, shard_id
            children = [child for child in lineage.children(shard_id) if child not in told and child in lineage]
            for number, child in reversed(list(enumerate(children))):
                is_last = number == len(children) - 1
                pending.append((child, rest + (LAST if is_last else BRANCH), rest + (EMPTY if is_last else PASSED)))

    for root in lineage.roots():
        yield from below(root, "", "")


def tree_rows(
    survey: Survey, names: dict[str, str], standings: dict[str, Standing] | None, room: int | None = None
) -> list[Row]:
    """The lines, below a line of headings. Where there is no room for all columns, the ages give way to the token."""
    told = list(branches(survey.lineage))
    width = max([len(lead) + len(names[shard_id]) for lead, shard_id in told] + [5])
    ages = 2
    needed = width + 8 + (TOKEN_CELLS if standings is not None else 0)
    while room is not None and ages and needed + ages * AGE_CELLS > room:
        ages -= 1
    heading = f"{'shard':{width}}  {'state':6}" + "".join(
        f"  {name:>10}" for name in ("began", "holds from")[2 - ages :]
    )
    rows = [[Span(heading + ("  token" if standings is not None else ""), "bold")]]
    for lead, shard_id in told:
        name = names[shard_id]
        row = [Span(lead, "dim"), Span(name), Span(" " * (width - len(lead) - len(name) + 2))]
        state, *since = _facts(survey, shard_id)
        row += [state, *since[2 - ages :]]
        if standings is not None:
            row += [Span("  "), *_standing(survey, survey.found[shard_id], standings[shard_id])]
        row += _notes(survey.lineage, shard_id, names)
        rows.append(row)
    for shard_id, standing in (standings or {}).items():
        if standing.kind == "gone":
            rows.append([Span(f"{shard_id}  "), Span("not listed any more, but the token has not finished it", "bad")])
    return rows


def counted(count: int, what: str) -> str:
    """`1 shard`, `2,000 shards`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def state_of(survey: Survey, shard_id: str) -> str:
    """open, closed, or trimmed: closed and empty by now."""
    found = survey.found[shard_id]
    if not survey.lineage[shard_id].closed:
        return "open"
    return "closed" if found.first_us is not None or found.error is not None else "empty"


def lag_seconds(survey: Survey, found: Found) -> float | None:
    """How old the first unread record is; 0 where there is none; None if it was not looked at, or its place is gone."""
    if found.unread is None or found.unread.is_trimmed:
        return None
    record = found.unread.record
    if record is None:
        return 0.0
    return None if record.created_us is None else max(0.0, (survey.service_us - record.created_us) / SECOND_US)


def to_json(survey: Survey, standings: dict[str, Standing] | None) -> list[dict[str, Any]]:
    """The same for programs: an object a shard."""
    return [
        {
            "shard_id": shard_id,
            "parents": list(survey.lineage[shard_id].parents),
            "state": state_of(survey, shard_id),
            "began_us": survey.began_us(shard_id),
            "first_record_us": survey.found[shard_id].first_us,
            "error": _error_of(survey, shard_id),
        }
        | (
            {}
            if standings is None
            else {"token": standings[shard_id].kind, "lag_seconds": lag_seconds(survey, survey.found[shard_id])}
        )
        for _, shard_id in branches(survey.lineage)
    ]


def failures(survey: Survey, names: dict[str, str]) -> Iterator[Row]:
    """Below the tree: which shards could not be looked at, and why; shards with the same error together."""
    by_reason: dict[str, list[str]] = {}
    for shard_id, error in survey.errors.items():
        reason = with_class(in_our_words(error), error).replace(f"shard {shard_id} of {survey.stream}: ", "")
        by_reason.setdefault(reason, []).append(names[shard_id])
    for reason, failed in by_reason.items():
        more = f" and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
        yield [Span(f"? {', '.join(failed[:MOST_NAMED])}{more} could not be read: {reason}", "bad")]


def _error_of(survey: Survey, shard_id: str) -> str | None:
    error = survey.found[shard_id].error
    return None if error is None else with_class(in_our_words(error), error)


def _facts(survey: Survey, shard_id: str) -> Row:
    state = state_of(survey, shard_id)
    found = survey.found[shard_id]
    holds = "?" if found.error else "nothing" if found.first_us is None else _ago(survey, found.first_us)
    return [
        Span(f"{state:6}", "good" if state == "open" else "dim"),
        Span(f"  {_ago(survey, survey.began_us(shard_id)):>10}"),
        Span(f"  {holds:>10}", "bad" if found.error else "" if found.first_us else "dim"),
    ]


def _ago(survey: Survey, time_us: int | None) -> str:
    return "?" if time_us is None else age((survey.service_us - time_us) / SECOND_US)


def _standing(survey: Survey, found: Found, standing: Standing) -> Row:
    if standing.kind == "read":
        return [Span("read", "dim")]
    if standing.kind == "unread":
        return [Span("not reached", "note")]
    if found.error is not None:
        return [Span("?", "bad")]
    if found.unread is not None and found.unread.is_trimmed:
        return [Span("its place has expired: a gap", "bad")]
    lag = lag_seconds(survey, found)
    where = "here" if standing.kind == "here" else "from its start"
    if lag is None:
        return [Span(f"{where}, behind", "note")]
    return [Span(f"{where}, {age(lag)} behind", "note")] if lag else [Span(f"{where}, at its tip", "good")]


def _notes(lineage: Lineage, shard_id: str, names: dict[str, str]) -> Row:
    parents = lineage[shard_id].parents
    if len(parents) > 1:
        return [Span(f"  merged from {' and '.join(names.get(parent, parent) for parent in parents)}", "dim")]
    return [Span("  parent trimmed", "dim")] if parents and parents[0] not in lineage else []
