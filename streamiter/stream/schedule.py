"""The schedule: when each lane is to be asked next, and which of the lanes that are due come first; pure."""

from __future__ import annotations

from collections.abc import Mapping

from sortedcontainers import SortedList

from streamiter.clock import SECOND_US, floor_second
from streamiter.merge import Lane, Merge

LONGEST_PAUSE_US = SECOND_US  # an idle lane is asked at least so often
UNPAUSED_EMPTIES = (
    200  # a closed shard may have long runs of empty pages; beyond this many, they are asked for with pauses
)
SHORTEST_PAUSE_US = SECOND_US // 50  # a lane that a held record waits for is not asked more often than this


class Schedule:
    """When lanes fall due. A lane under way (asked, not answered) is not in it."""

    def __init__(self, poll_us: int, lateness_us: int | None) -> None:
        self._poll_us = poll_us
        self._lateness_us = lateness_us
        self._due: dict[str, int] = {}
        self._postponed: set[str] = set()
        self._order: SortedList[tuple[int, str]] = SortedList()
        self._pause_us: dict[str, int] = {}
        self._answered_us: dict[str, int] = {}
        self._rested_us: dict[str, int] = {}  # until when the service wants the lane to be left alone
        self.serial = 0  # calls made so far
        self._asked: dict[str, int] = {}
        self._answered: dict[str, int] = {}
        self._behind = ""  # a lane that was behind when one was last looked for

    def rest(self, shard_id: str, until_us: int) -> None:
        """A page came, and the service's rates ask for a rest: no wish, however urgent, is met before."""
        self._rested_us[shard_id] = until_us

    def answered(self, lane: Lane, now_us: int) -> None:
        """A page of the lane came: it falls due again, at once while there is more to catch up with."""
        self._answered_us[lane.shard_id] = now_us
        self._answered[lane.shard_id] = self._asked.get(lane.shard_id, 0)
        if lane.ended or lane.gap is not None:
            self.drop(lane.shard_id)
            self._rested_us.pop(lane.shard_id, None)
            return
        pause_us = 0
        if lane.is_at_tip:
            pause_us = min(
                self._pause_us.get(lane.shard_id, self._poll_us // 2) * 2, max(LONGEST_PAUSE_US, self._poll_us)
            )
            self._pause_us[lane.shard_id] = pause_us
        else:
            self._pause_us.pop(lane.shard_id, None)
            if lane.empties > UNPAUSED_EMPTIES or (lane.empties == 0 and lane.is_current):
                pause_us = self._poll_us
        self.at(lane.shard_id, now_us + pause_us)

    def at(self, shard_id: str, due_us: int) -> None:
        """The lane falls due at this moment."""
        self.drop(shard_id)
        due_us = max(due_us, self._rested_us.get(shard_id, due_us))
        self._due[shard_id] = due_us
        self._order.add((due_us, shard_id))

    def postpone(self, shard_id: str, due_us: int) -> None:
        """A call for the lane failed: it is not to be asked before this moment, whoever waits for it."""
        self.at(shard_id, due_us)
        self._postponed.add(shard_id)

    def drop(self, shard_id: str) -> None:
        """The lane is not to be asked: it is under way, ended, or stands before a gap."""
        self._postponed.discard(shard_id)
        due_us = self._due.pop(shard_id, None)
        if due_us is not None:
            self._order.remove((due_us, shard_id))

    def hurry(self, merge: Merge, lanes: dict[str, Lane], now_us: int) -> None:
        """A held record waits: the idle lanes that hold it are asked as soon as their answer can let it go."""
        held_us = merge.waits_until_us
        if held_us is None or self._lateness_us is None:
            return
        needed_us = floor_second(held_us) + SECOND_US + self._lateness_us
        for shard_id in merge.holders(held_us):
            lane = lanes.get(shard_id)
            due_us = self._due.get(shard_id)
            if lane is None or due_us is None or not lane.is_at_tip or shard_id in self._postponed:
                continue
            asked_us = self._answered_us[shard_id]
            missing_us = needed_us - lane.service_us - (now_us - asked_us)
            if missing_us > self._lateness_us + 2 * SECOND_US:
                continue  # A creation time in the future: asking more often would not bring it nearer.
            soon_us = asked_us + (SHORTEST_PAUSE_US if missing_us <= 0 else self._poll_us)
            soon_us = max(soon_us, self._rested_us.get(shard_id, soon_us))
            if soon_us < due_us:
                self.at(shard_id, soon_us)

    def hasten(self, now_us: int) -> None:
        """All lanes fall due, but for those whose calls failed of late."""
        for shard_id in [shard_id for shard_id in self._due if shard_id not in self._postponed]:
            self.at(shard_id, now_us)

    def asked(self, shard_id: str) -> None:
        """A call for the lane is under way."""
        self.drop(shard_id)
        self.serial += 1
        self._asked[shard_id] = self.serial

    def was_asked_since(self, shard_id: str, serial: int) -> bool:
        """Whether the lane was asked for a page after this many calls had been made."""
        return self._asked.get(shard_id, 0) > serial

    def was_answered_since(self, shard_id: str, serial: int) -> bool:
        """Whether the lane's last page was asked for after this many calls had been made."""
        return self._answered.get(shard_id, -1) > serial

    def is_catching_up(self, lanes: Mapping[str, Lane]) -> bool:
        """Whether any of these lanes is behind."""
        # It is asked all the time, of a thousand lanes: the one that was behind when last asked nearly always still is.
        found = lanes.get(self._behind)
        if found is None or not found.is_behind:
            found = next((lane for lane in lanes.values() if lane.is_behind), None)
            self._behind = "" if found is None else found.shard_id
        return found is not None

    def due(self, now_us: int) -> list[str]:
        """The lanes that are due."""
        return [shard_id for _, shard_id in self._order.irange(maximum=(now_us, "\U0010ffff"))]

    def is_due(self, shard_id: str, now_us: int) -> bool:
        """Whether this one is."""
        due_us = self._due.get(shard_id)
        return due_us is not None and due_us <= now_us

    @property
    def next_us(self) -> int | None:
        """When the next lane falls due."""
        return self._order[0][0] if self._order else None

    def __len__(self) -> int:
        """How many lanes wait for their turn."""
        return len(self._due)
