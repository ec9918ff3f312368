"""The token check: whether what comes next after a token is still held, and for how long."""

from __future__ import annotations

from streamiter.cli.findings import Finding
from streamiter.cli.moments import age
from streamiter.cli.standing import standings
from streamiter.cli.survey import Looked, look
from streamiter.clock import SECOND_US, Clock
from streamiter.lineage import Lineage
from streamiter.source import Source
from streamiter.token import Token


def look_at_token(source: Source, clock: Clock, token: Token, lineage: Lineage, service_us: int) -> Finding:
    """Whether what comes next after a token is still held, and for how long."""
    lost: list[str] = []
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
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        return Finding(
            "bad", "token", f"its place is no longer held in {', '.join(lost[:3])}{more}: records may be lost",
            "tail and export read on with --skip-gaps; in a program, stream.skip() or on_gap='skip'",
        )  # fmt: skip
    left = source.retention_us / SECOND_US - oldest
    is_short = left < source.retention_us / SECOND_US / 6
    told = f"{age(oldest)} behind; what comes next is held for {age(left)} more" if oldest else "at the tip"
    return Finding("note" if is_short else "good", "token", told, "read on soon" if is_short else "")
