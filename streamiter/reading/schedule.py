"""The schedule: when each shard is asked for its next page.

Shards that are behind stand in one line, idle shards at their tip in another.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from sortedcontainers import SortedList

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.reading.book import Book, Entry, Turn

LONGEST_PAUSE_US = SECOND_US  # an idle lane is asked at least so often, where its source says nothing else
UNPAUSED_EMPTIES = 200  # of a closed shard so many empty pages in a row are asked for without pauses

Line = SortedList[tuple[int, str]]  # when, and which shard


class Schedule:
    """When shards fall due. A shard with a call under way, or before a gap, stands in no line."""

    def __init__(self, book: Book, poll_us: int, idle_us: int = LONGEST_PAUSE_US) -> None:
        self.known = 0  # shards that are read: due, under way, or waiting
        self.under_way: set[str] = set()
        self._book = book
        self._poll_us = poll_us
        self._idle_us = max(idle_us, poll_us)
        self._behind: Line = SortedList()
        self._idle: Line = SortedList()
        self.idlers = 0  # how many are idle, due or under way
        self._opening: set[str] = set()  # they were opened, and rest before they gave anything
        self._held_us: int | None = None  # the order time of the record that waited when `hurry` was last asked
        self._hurried_us = 0  # when it last looked at all lanes
        self._answered: set[str] = set()  # idle lanes that answered since then

    # -- what happens to shards

    def due_at(self, shard_id: str, due_us: int) -> None:
        """The shard falls due at this moment, or when the rest that the service wants is over."""
        entry = self._book[shard_id]
        turn = self._turn(entry)
        self._set_idle(entry, turn, False)
        self._place(entry, turn, due_us)

    def rest(self, shard_id: str, until_us: int) -> None:
        """The service's rates ask for a rest: nothing shortens it."""
        self._turn(self._book[shard_id]).rested_us = until_us

    def fetched(self, entry: Entry, lane: Lane, now_us: int) -> None:
        """A page of the lane came: it falls due again, at once while there is more to catch up with."""
        if lane.ended:
            self.end(entry.shard_id)
            return
        turn = self._turn(entry)
        turn.answered_us, turn.answered = now_us, entry.asked
        self._set_idle(entry, turn, lane.is_at_tip)
        pause_us = 0
        if lane.is_at_tip:
            before_us = self._poll_us // 2 if turn.pause_us is None or not lane.empties else turn.pause_us
            pause_us = turn.pause_us = min(before_us * 2, self._idle_us)
            self._answered.add(entry.shard_id)
        else:
            turn.pause_us = None
            if lane.empties > UNPAUSED_EMPTIES or (lane.empties == 0 and lane.is_current):
                pause_us = self._poll_us
        self._place(entry, turn, now_us + pause_us)
        is_resting = turn.rested_us is not None and turn.rested_us > now_us
        if is_resting and lane.is_unheard and lane.empties <= UNPAUSED_EMPTIES:
            self._opening.add(entry.shard_id)

    def closed(self, shard_id: str) -> None:
        """The lane has no tip any more: its shard is closed. It stays due when it was."""
        entry = self._book[shard_id]
        turn = entry.turn
        if turn is None or not turn.is_idle:
            return
        due_us, is_postponed = turn.due_us, turn.is_postponed
        if due_us is not None:
            self._set_idle(entry, turn, False)
            self._place(entry, turn, due_us)
            turn.is_postponed = is_postponed
        elif entry.is_asked:
            self._set_idle(entry, turn, False)

    def postpone(self, shard_id: str, due_us: int) -> None:
        """A call for the shard failed: it is not asked before this moment, however urgent."""
        entry = self._book[shard_id]
        turn = self._turn(entry)
        self._place(entry, turn, due_us)
        turn.is_postponed = True

    def asked(self, entry: Entry) -> None:
        """A call for the shard is under way."""
        self._take_out(entry, self._turn(entry))
        self.under_way.add(entry.shard_id)

    def wait(self, shard_id: str) -> None:
        """The shard stands before a gap, or waits for another shard. The rest that the service wants stays in force."""
        entry = self._book[shard_id]
        if entry.turn is not None:
            self._set_idle(entry, entry.turn, True)
            self._take_out(entry, entry.turn)

    def end(self, shard_id: str) -> None:
        """The shard ended: it is not to be asked any more."""
        entry = self._book[shard_id]
        if entry.turn is not None:
            self._take_out(entry, entry.turn)
            self.idlers -= entry.turn.is_idle
            self._answered.discard(shard_id)
            self.known -= 1
            entry.turn = None

    def hasten(self, now_us: int) -> None:
        """All lanes fall due, but for those whose calls failed of late."""
        for _, shard_id in [*self._behind, *self._idle]:
            entry = self._book[shard_id]
            if entry.turn is not None and not entry.turn.is_postponed:
                self._place(entry, entry.turn, now_us)

    def leave(self, shard_ids: Iterable[str], until_us: int) -> None:
        """One call watches these idle lanes until then and says where records come, so they need no calls of their own."""
        for shard_id in shard_ids:
            entry = self._book[shard_id]
            turn = entry.turn
            if turn is not None and turn.due_us is not None and turn.due_us < until_us:
                self._place(entry, turn, until_us)

    def heard(self, shard_ids: Iterable[str], now_us: int) -> None:
        """The watch tells that these have something new: they fall due, but for those whose calls failed of late."""
        for shard_id in shard_ids:
            entry = self._book.get(shard_id)
            turn = None if entry is None else entry.turn
            if entry is not None and turn is not None and turn.due_us is not None and not turn.is_postponed:
                self._place(entry, turn, now_us)

    def hurry(self, now_us: int) -> None:
        """A record waits: the idle lanes that hold it fall due as soon as their answer can release it."""
        merge = self._book.merge
        held_us = merge.waits_until_us
        # This runs all the time, over thousands of lanes: while the same record waits, only lanes that answered since count.
        is_known = held_us == self._held_us and now_us < self._hurried_us + SECOND_US
        answered, self._answered = self._answered, set()
        self._held_us = held_us
        if held_us is None or not self._book.holds:
            return
        if not is_known:
            self._hurried_us = now_us
        for shard_id in answered if is_known else merge.holders(held_us):
            if merge.is_held_by(shard_id, held_us):
                self._hurry_one(self._book[shard_id], held_us, now_us)

    def _hurry_one(self, entry: Entry, held_us: int, now_us: int) -> None:
        lane, turn, precision = entry.lane, entry.turn, self._book.precision
        if lane is None or turn is None or turn.due_us is None or not lane.is_at_tip or turn.is_postponed:
            return
        missing_us = precision.needed_us(held_us) - lane.service_us - (now_us - turn.answered_us)
        if missing_us > precision.lateness_us + 2 * SECOND_US:
            return  # A creation time in the future: asking more often would not bring it nearer.
        soon_us = turn.answered_us + precision.again_us
        if missing_us > 0:
            soon_us = max(soon_us, min(turn.answered_us + self._poll_us, now_us + missing_us))
        if soon_us < turn.due_us:
            self._place(entry, turn, soon_us)

    # -- questions

    @property
    def is_catching_up(self) -> bool:
        """Whether any shard is behind."""
        return self.known > self.idlers

    @property
    def behind_under_way(self) -> int:
        """How many shards that are behind are asked at present."""
        return len(self.under_way) - self.idle_under_way

    @property
    def idle_under_way(self) -> int:
        """How many shards that are idle are asked at present."""
        turns = (self._book[shard_id].turn for shard_id in self.under_way)
        return sum(turn is not None and turn.is_idle for turn in turns)

    def behind(self, now_us: int) -> list[str]:
        """The shards that are due and behind, the one that waits longest first."""
        return [shard_id for _, shard_id in self._behind.irange(maximum=(now_us, "\U0010ffff"))]

    def idle(self, now_us: int) -> list[str]:
        """The shards that are due and idle, the one that waits longest first."""
        return [shard_id for _, shard_id in self._idle.irange(maximum=(now_us, "\U0010ffff"))]

    def resting(self, now_us: int) -> list[str]:
        """The shards that are idle, and not due yet, but for those whose calls failed of late. None while a record waits."""
        if self._book.merge.waits_until_us is not None:
            return []  # they are asked for its sake
        turns = ((shard_id, self._book[shard_id].turn) for _, shard_id in self._idle.irange((now_us, "\U0010ffff")))
        return [shard_id for shard_id, turn in turns if turn is not None and not turn.is_postponed]

    def first_behind(self, now_us: int) -> str | None:
        """The shard that waits longest, of those that are due and behind."""
        return str(self._behind[0][1]) if self._behind and self._behind[0][0] <= now_us else None

    def is_due(self, shard_id: str, now_us: int) -> bool:
        """Whether this shard is due."""
        entry = self._book.get(shard_id)
        turn = None if entry is None else entry.turn
        return turn is not None and turn.due_us is not None and turn.due_us <= now_us

    def was_answered_since(self, shard_id: str, serial: int) -> bool:
        """Whether the call that brought the shard's last page was made after this many other calls."""
        turn = self._book[shard_id].turn
        return turn is not None and turn.answered > serial

    @property
    def next_us(self) -> int | None:
        """When the next shard falls due."""
        return min((line[0][0] for line in (self._behind, self._idle) if line), default=None)

    def next_after(self, now_us: int) -> int | None:
        """When the next shard falls due, of those that are not due yet."""
        after = (now_us, "\U0010ffff")
        return min((us for line in (self._behind, self._idle) for us, _ in islice(line.irange(after), 1)), default=None)

    def opening_us(self, now_us: int) -> int | None:
        """When the first rest ends, of those shards that were opened and have not answered yet."""
        turns = (self._book[shard_id].turn for shard_id in self._opening)
        dues = (turn.due_us for turn in turns if turn is not None and turn.due_us is not None)
        return min((due_us for due_us in dues if due_us > now_us), default=None)

    def __len__(self) -> int:
        """How many shards stand in line."""
        return len(self._behind) + len(self._idle)

    # -- inside

    def _turn(self, entry: Entry) -> Turn:
        if entry.turn is None:
            entry.turn = Turn()
            self.known += 1
        return entry.turn

    def _set_idle(self, entry: Entry, turn: Turn, is_idle: bool) -> None:
        """Changes the line that the shard stands in; the caller places it anew."""
        if turn.is_idle != is_idle:
            self._take_out(entry, turn)
            turn.is_idle = is_idle
            self.idlers += 1 if is_idle else -1

    def _place(self, entry: Entry, turn: Turn, due_us: int) -> None:
        self._take_out(entry, turn)
        if entry.is_asked:
            return  # its answer says when it is due again
        turn.due_us = due_us if turn.rested_us is None else max(due_us, turn.rested_us)
        (self._idle if turn.is_idle else self._behind).add((turn.due_us, entry.shard_id))

    def _take_out(self, entry: Entry, turn: Turn) -> None:
        turn.is_postponed = False
        self._opening.discard(entry.shard_id)
        if turn.due_us is not None:
            (self._idle if turn.is_idle else self._behind).remove((turn.due_us, entry.shard_id))
            turn.due_us = None
