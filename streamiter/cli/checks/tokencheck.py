"""The token check: whether what comes next after a token is still held, and for how long."""

from __future__ import annotations

from streamiter.cli.checks.findings import Finding
from streamiter.cli.checks.standing import standings
from streamiter.cli.checks.survey import Looked, look
from streamiter.cli.moments import age
from streamiter.clock import LAST_US, SECOND_US, Clock
from streamiter.lineage import Lineage
from streamiter.reading.ahead import AHEAD_US
from streamiter.record import Record
from streamiter.source import Source
from streamiter.token import Token


def look_at_token(source: Source, clock: Clock, token: Token, lineage: Lineage, service_us: int) -> Finding:
    """Whether what comes next after a token is still held, and for how long."""
    lost: list[str] = []
    ahead: Record | None = None
    oldest = 0.0
    for shard_id, standing in standings(token, lineage).items():
        if standing.kind == "gone":
            lost.append(shard_id)
        if standing.position is None or shard_id not in lineage:
            continue
        found = Looked(is_trimmed=True)
        if not standing.position.is_expired(service_us, source.retention_us):
            found = look(source, clock, shard_id, standing.position)
        if found.is_trimmed:
            lost.append(shard_id)
        elif found.record is not None and found.record.created_us is not None:
            oldest = max(oldest, (service_us - found.record.created_us) / SECOND_US)
            if found.record.created_us > service_us + AHEAD_US:
                ahead = found.record
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        return Finding(
            "bad", "token", f"the service no longer holds its place in {', '.join(lost[:3])}{more}: records may be lost",
            "to accept that, give tail or export --skip-gaps; in a program, call stream.skip() or pass on_gap='skip'",
        )  # fmt: skip
    if ahead is not None and ahead.created_us is not None:
        seconds = (ahead.created_us - service_us) / SECOND_US
        return Finding(
            "note", "token",
            f"the next record, {ahead.sequence_number} of shard {ahead.shard_id}, was created {age(seconds)} in the future",
            "it waits until then, with what follows in its shard: stream.skip() passes over it, and lateness=None waits for "
            "nothing",
        )  # fmt: skip
    left = source.retention_us / SECOND_US - oldest
    is_short = left < source.retention_us / SECOND_US / 6
    told = f"{age(oldest)} behind; the service holds the rest for {age(left)} more" if oldest else "at the tip"
    if oldest and source.retention_us >= LAST_US:
        told = f"{age(oldest)} behind; the log holds the rest until it is trimmed"
    return Finding("note" if is_short else "good", "token", told, "read on soon" if is_short else "")
