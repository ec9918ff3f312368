"""Tokens as values: where reading of a whole stream stands.

The lanes are the shards being read, their finished parents, and finished shards without children. A shard that is
listed and is neither among the lanes nor an ancestor of one is unread (law 8). Times are microseconds of service time.
"""

from __future__ import annotations

from typing import Any

import msgspec

from streamiter.position import After, AtNumber, AtTime, Horizon, Place, Position
from streamiter.shard import Rank
from streamiter.token.packing import pack

DAY_US = 86_400_000_000


class TokenLane(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One shard in a token."""

    shard: str
    parents: tuple[str, ...] = ()
    depth: int | None = None  # of its rank; None: as the listing says
    greatest: str | None = None  # the greatest id of its rank, where that is not its own
    place: tuple[str, int] | None = None  # of the last record returned
    floor: int | None = None  # order time of the last record returned of this shard, or of its ancestors
    unresolved: bool = False  # the floor is unknown: ancestors still listed may raise it; only Spark leaves it so
    opened: int | None = None  # when its start was chosen
    time: int | None = None  # where it starts when nothing was read; it follows the tip of an idle shard
    at: str | None = None  # a sequence number to start at: from Bloop's tokens alone
    latest: bool = False  # starts at the end of its first listing: from Bloop's tokens alone
    ended: int | None = None  # when its end was seen
    childless: bool = False  # ended, and listing after listing showed no child
    gap: bool = False  # ended, and children of it may have come and gone: a gap that was not accepted

    @property
    def rank(self) -> Rank | None:
        """Where it stands when order times tie; None where only the listing can say."""
        return None if self.depth is None else Rank(self.greatest or self.shard, self.depth, self.shard)

    @property
    def position(self) -> Position:
        """Where reading of the shard goes on."""
        if self.place is not None:
            return After(Place.of(*self.place))
        if self.at is not None:
            return AtNumber(self.at)
        if self.time is not None:
            return AtTime(self.time, self.opened)
        return Horizon(self.opened)


class Token(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The resume state of a whole stream: everything after the last record returned."""

    streamiter: int  # the version of the format that it is written in
    stream: str
    start: int | None = None  # where unread shards start: a time, or None for their horizon
    lanes: tuple[TokenLane, ...] = ()
    clock: int = 0
    high: tuple[int, str, int, str, str, int] | None = None  # the greatest key returned: what sorts below it is late
    # How long the service held records, where not a day: after that the unread may be lost.
    retention: int | None = None
    fresh: bool = False  # nothing was listed yet when it was taken
    closed_are_read: bool = False  # closed shards that nothing connects count as read: from Bloop's tokens alone

    def to_dict(self) -> dict[str, Any]:
        """The token as its user sees it and saves it: JSON-friendly and small."""
        return pack(self)


def high_key(token: Token) -> tuple[int, Rank, Place] | None:
    """The greatest key returned so far, as the merge compares it."""
    if token.high is None:
        return None
    time_us, greatest, depth, shard_id, number, since = token.high
    return time_us, Rank(greatest, depth, shard_id), Place(int(number), since)
