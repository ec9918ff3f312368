"""Retention: how long the service holds records by its own clock, and so which starts may hide that some were lost."""

from __future__ import annotations

import msgspec

from streamiter.position import Position
from streamiter.stream.resume import token_retention
from streamiter.token import DAY_US, Token, TokenLane


class Retention:
    """Until all that the token left unread is opened, no more is taken for held than was held on the token's day."""

    def __init__(self, token: Token, present_us: int) -> None:
        self.service_us: int | None = None  # the newest service time of any answer
        self._present_us = present_us
        self._held_us = min(present_us, token.retention or DAY_US) if token.lanes else present_us

    @property
    def held_us(self) -> int:
        """How far back records are held for sure."""
        return self._held_us

    def see_time(self, service_us: int) -> None:
        """An answer came."""
        if self.service_us is None or service_us > self.service_us:
            self.service_us = service_us

    def change(self, present_us: int) -> None:
        """How long it is now. An increase brings nothing back: what is unread is judged as before."""
        self._present_us = present_us
        self._held_us = min(self._held_us, present_us)

    def is_stale(self, position: Position) -> bool:
        """Whether a lane that opens there now may have lost records that were held when its start was chosen."""
        return self.service_us is not None and position.is_expired(self.service_us, self._held_us)

    def is_overdue(self, ended_us: int, service_us: int) -> bool:
        """Whether what began when this shard ended may be held no more."""
        return service_us - ended_us > self._held_us

    def note(self, token: Token, *, is_all_open: bool) -> Token:
        """The token, with the retention by which what it leaves unread is to be judged."""
        if self._held_us < self._present_us and is_all_open and not any(map(_is_unread, token.lanes)):
            self._held_us = self._present_us
        return msgspec.structs.replace(token, retention=token_retention(self._held_us))


def _is_unread(lane: TokenLane) -> bool:
    """Whether only the clock tells whether the start of this lane is still held."""
    return lane.place is None and lane.ended is None
