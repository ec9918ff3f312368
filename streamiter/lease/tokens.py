"""Tokens and leases: the leases of a processor as a Stream's token, and a token as leases (law 17)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from streamiter.errors import InvalidToken
from streamiter.lease.floors import floor_of, rank_of
from streamiter.lease.lease import (
    AT_TIME,
    CHILDREN,
    END,
    FIRST,
    GAP,
    LANE,
    OPENED,
    ORDER,
    RANK,
    START,
    TIP,
    TOTAL,
    Lease,
)
from streamiter.merge.lane import IDLE_BEHIND_US
from streamiter.token import VERSION, Token, TokenLane, load_token

_KEPT = ("depth", "greatest", "opened", "ended", "childless")


def to_token(stream: str, leases: Iterable[Lease], now_us: int) -> dict[str, Any]:
    """The token after what these leases have done: as a Stream loads it. `stream` is the source's own name."""
    found = {lease.key: lease for lease in leases}
    if TOTAL in found:
        return _saved(found[TOTAL])
    if not found:
        raise InvalidToken("there are no leases", hint="name the app and the stream whose leases are to be exported")
    lanes = [_lane(lease, now_us) for lease in found.values() if not lease.completed or _is_needed(lease, found)]
    starts = {_time_us(str(lease.progress.get(FIRST, START))) for lease in found.values()}
    start = None if None in starts else min(filter(None, starts))
    return Token(VERSION, stream, start=start, lanes=tuple(sorted(lanes, key=lambda lane: lane.shard))).to_dict()


def from_token(token: Mapping[str, Any]) -> tuple[str, list[Lease]]:
    """The stream that a token is of, and the leases that go on where it stands; parents before children."""
    loaded = load_token(token)
    for lane in loaded.lanes:
        if lane.at is not None or lane.latest or loaded.closed_are_read:
            hint = "resume a Stream from it once, and import the token that this one gives"
            raise InvalidToken("it is Bloop's, and its places are not resolved yet", hint=hint)
    first = START if loaded.start is None else f"{AT_TIME}/{loaded.start}"
    leases = [_lease(lane, first) for lane in loaded.lanes]
    return loaded.stream, sorted(leases, key=lambda lease: not lease.completed)


def total_lease(token: Mapping[str, Any]) -> tuple[str, Lease]:
    """The one lease of order="total" that goes on where a token stands."""
    return load_token(token).stream, Lease(TOTAL, checkpoint=json.dumps(dict(token), separators=(",", ":")))


def _saved(lease: Lease) -> dict[str, Any]:
    if not lease.checkpoint.startswith("{"):
        raise InvalidToken("nothing was read yet", hint=f"start a Stream at {lease.checkpoint.lower()!r} instead")
    token: dict[str, Any] = json.loads(lease.checkpoint)
    return token


def _is_needed(lease: Lease, leases: Mapping[str, Lease]) -> bool:
    """Whether a finished shard stands in the token: it has no children, or one of them has not begun."""
    children = [leases.get(child) for child in lease.progress.get(CHILDREN, ())]
    children += [other for other in leases.values() if lease.key in other.parents]
    return not children or any(child is None or not child.completed for child in children)


def _lane(lease: Lease, now_us: int) -> TokenLane:
    kept: dict[str, Any] = {name: value for name, value in lease.progress.get(LANE, {}).items() if name in _KEPT}
    if lease.completed:
        kept = {"ended": now_us, "childless": not lease.progress.get(CHILDREN), **kept}
    elif "/" in lease.checkpoint or lease.checkpoint.isdigit():
        number, _, since = lease.checkpoint.partition("/")
        if number == AT_TIME:
            kept["time"] = int(since)
        else:
            kept["place"] = (number, int(since or 0))
    _keep_start(lease, kept)
    if RANK in lease.progress:
        rank = rank_of(lease)
        kept |= {"depth": rank.depth, "greatest": None if rank.greatest == lease.key else rank.greatest}
    # Without a floor, who resumes takes the ancestors' that are still listed.
    floor = floor_of(lease)
    return TokenLane(lease.key, lease.parents, floor=floor, unresolved=floor is None and not lease.completed, **kept)


def _keep_start(lease: Lease, kept: dict[str, Any]) -> None:
    """Until when nothing is missed behind the place, or since when the start stands: by that it is judged on resume."""
    tip_us = lease.progress.get(TIP)
    if lease.completed:
        return
    if "place" not in kept:
        known = [us for us in (kept.get("opened"), lease.progress.get(OPENED), tip_us) if us is not None]
        kept |= {"opened": max(known)} if known else {}
    elif tip_us is not None:
        kept["time"] = tip_us - IDLE_BEHIND_US


def _lease(lane: TokenLane, first: str) -> Lease:
    told = msgspec.to_builtins(lane)
    progress: dict[str, Any] = {FIRST: first, LANE: {name: told[name] for name in _KEPT if name in told}}
    if lane.floor is not None:
        progress[ORDER] = lane.floor
    if lane.gap:
        progress[GAP] = "children of the shard may have come and gone"
    if lane.ended is not None:
        return Lease(lane.shard, checkpoint=END, completed=True, parents=lane.parents, progress=progress)
    if lane.place is not None:
        number, since = lane.place
        checkpoint = f"{number}/{since}" if since else number
        if lane.time is not None:
            progress[TIP] = lane.time
    else:
        if lane.opened is not None:
            progress[OPENED] = lane.opened
        checkpoint = START if lane.time is None else f"{AT_TIME}/{lane.time}"
    return Lease(lane.shard, checkpoint=checkpoint, parents=lane.parents, progress=progress)


def _time_us(checkpoint: str) -> int | None:
    kind, _, time_us = checkpoint.partition("/")
    return int(time_us) if kind == AT_TIME else None
