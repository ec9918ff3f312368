"""The book of shards: each shard that is known stands in it once, in one stage, with all that its reading needs.

A shard's life is the table MOVES. It enters when a listing shows it (UNREAD), or when the token names it: as a lane to go on
with (WAITING), or as one that was read to its end (ENDED). The book forgets it when the service lists it no more.

    UNREAD    listed, and not opened: its parents are not read to their end, or it is not clear yet what it follows
    WAITING   a lane of the token that may not be read yet, for the same reasons
    LANE      being read
    ENDED     read to its end; it is kept while it is listed, because its children's floors follow from it
    PAST      read before the token was taken, or passed over: it has no lane

Two things may go on beside a stage. An *errand* reads a shard for the sake of another one, and returns no records (floors.py,
probes.py). A *gap* is a note on a lane: what comes next in it may be lost (gaps.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf

import msgspec

from streamiter.lineage import EVERY_US, Discovery, Lineage
from streamiter.merge import Lane, Merge, Standing
from streamiter.position import Place, Position
from streamiter.precision import USUAL, Precision
from streamiter.shard import Shard
from streamiter.token import DAY_US, Token, TokenLane, high_key


class Stage(Enum):
    """Where a shard stands in its life."""

    UNREAD = "unread"
    WAITING = "waiting"
    LANE = "lane"
    ENDED = "ended"
    PAST = "past"


# From each stage, where a shard can go. None is outside: a shard enters from there, and goes there when it is forgotten.
MOVES: Mapping[Stage | None, frozenset[Stage | None]] = {
    None: frozenset({Stage.UNREAD, Stage.WAITING, Stage.ENDED}),
    Stage.UNREAD: frozenset({Stage.LANE, Stage.PAST}),
    Stage.WAITING: frozenset({Stage.LANE}),
    Stage.LANE: frozenset({Stage.ENDED}),
    Stage.ENDED: frozenset({None}),
    Stage.PAST: frozenset({None}),
}

HAS_LANE = frozenset({Stage.WAITING, Stage.LANE, Stage.ENDED})
IS_READ = frozenset({Stage.ENDED, Stage.PAST})  # to the end: what is below it may be opened


@dataclass(slots=True, eq=False)
class Turn:
    """When a shard is asked (schedule.py). It is let go when the shard ends."""

    due_us: int | None = None  # None: a call is under way, or the shard waits for something else
    is_idle: bool = False  # its last page was its tip, or it waits for something else than an answer
    is_postponed: bool = False  # its last call failed: no hurry shortens its wait
    pause_us: int | None = None  # how long it was left alone after its last page at its tip
    rested_us: int | None = None  # until when the service wants it to be left alone
    answered_us: int = 0
    answered: int = -1  # the serial number of its last call that brought a page


@dataclass(slots=True, eq=False)
class Entry:
    """One shard: its stage, its lane, and when it is asked for pages. All of it goes when the shard is forgotten."""

    shard_id: str
    stage: Stage
    lane: Lane | None = None
    errand: Lane | None = None  # the lane that reads it for another shard's sake
    probed_for: tuple[str, ...] = ()  # the parents that an errand of this kind may pass over (probes.py)
    is_judged: bool = False  # a probe told already whether it can be passed over
    is_handed: bool = False  # another reader has it (handed.py)
    turn: Turn | None = None
    # What the driver has of it.
    is_open: bool = False  # the driver holds an iterator that goes on where fetching stands
    is_fresh: bool = False  # that was opened, and gave no page yet
    behind: Place | None = None  # the place that it was opened behind, where the source told
    is_asked: bool = False  # a call is under way
    asked: int = 0  # the serial number of its last call
    open_at: Position | None = None  # where that opened the shard; None: it went on
    under_way_bytes: float = 0.0  # about how many bytes the call under way may bring

    @property
    def read(self) -> Lane:
        """The lane that pages go to: the errand's, while there is one."""
        lane = self.errand or self.lane
        assert lane is not None
        return lane

    @property
    def is_probe(self) -> bool:
        """Whether its first record is looked at for its parents' sake."""
        return bool(self.probed_for)


class Book:
    """The shards, their lineage, the merge of their lanes, and the time by which all of it is judged."""

    def __init__(
        self,
        token: Token,
        *,
        precision: Precision = USUAL,
        holds: bool = True,
        retention_us: int = DAY_US,
        listing_us: int = EVERY_US,
        hands_over: bool = False,
    ) -> None:
        self.token = token  # where reading began
        self.precision = precision
        self.holds = holds  # lanes wait for each other
        self.hands_over = hands_over
        self.lineage = Lineage()
        self.merge = Merge(holds=self.holds, high=high_key(token), clock=token.clock)
        self.merge.is_blocked = True
        self.discovery = Discovery((lane.shard for lane in token.lanes if lane.ended is None), every_us=listing_us)
        self.lanes: dict[str, Lane] = {}  # of the shards that have one
        self.unsure: set[str] = set()  # shards of which it is unclear what they follow: so long no record may come out
        self.gaps: set[str] = set()  # of these a gap stands
        self.refuses_time = False  # the service cannot open shards at a time
        self.service_us: int | None = None  # the newest service time of any answer
        self.held_us = min(retention_us, token.retention or DAY_US) if token.lanes else retention_us
        self._present_us = retention_us
        self._named = frozenset(lane.shard for lane in token.lanes)
        self._named_open = frozenset(lane.shard for lane in token.lanes if lane.ended is None)
        # Bloop's tokens tell no ranks: their lanes may be at any depth.
        self._depths = {lane.shard: inf if lane.rank is None else lane.rank.depth for lane in token.lanes}
        self._deepest: float | None = None  # what `_deepest_incomplete` found, as long as no shard comes or goes
        self._entries: dict[str, Entry] = {}
        self._at: dict[Stage, dict[str, Entry]] = {stage: {} for stage in Stage}

    # -- shards

    def __getitem__(self, shard_id: str) -> Entry:
        return self._entries[shard_id]

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, shard_id: str) -> Entry | None:
        """The entry of a shard, if it is known."""
        return self._entries.get(shard_id)

    def at(self, stage: Stage) -> list[str]:
        """The shards in this stage."""
        return list(self._at[stage])

    def has_any(self, stage: Stage) -> bool:
        """Whether any shard is in this stage."""
        return bool(self._at[stage])

    def stage(self, shard_id: str) -> Stage | None:
        """The stage of a shard; None: it is not known."""
        entry = self._entries.get(shard_id)
        return None if entry is None else entry.stage

    def enter(self, shard_id: str, stage: Stage, lane: Lane | None = None) -> Entry:
        """A shard comes to be known."""
        assert shard_id not in self._entries and stage in MOVES[None]
        entry = self._entries[shard_id] = self._at[stage][shard_id] = Entry(shard_id, stage, lane)
        if lane is not None:
            self.lanes[shard_id] = lane
        return entry

    def move(self, shard_id: str, stage: Stage, lane: Lane | None = None) -> Entry:
        """A shard goes on to another stage; `lane` is given where it gets one."""
        entry = self._entries[shard_id]
        if stage not in MOVES[entry.stage]:
            raise AssertionError(f"shard {shard_id} cannot go from {entry.stage.value} to {stage.value}")
        del self._at[entry.stage][shard_id]
        entry.stage = stage
        self._at[stage][shard_id] = entry
        self.unsure.discard(shard_id)
        if lane is not None:
            entry.lane = self.lanes[shard_id] = lane
        return entry

    def forget(self, shard_id: str) -> None:
        """The service lists the shard no more, and it was read: nothing of it is kept."""
        entry = self._entries.pop(shard_id)
        assert None in MOVES[entry.stage]
        del self._at[entry.stage][shard_id]
        self.lanes.pop(shard_id, None)
        self.lineage.remove(shard_id)
        self._deepest = None

    # -- listings

    def see(self, rows: Iterable[Shard]) -> bool:
        """Takes rows of a listing in, also of one that broke off: what it told is true. Gives whether any was news."""
        is_news = False
        for shard in rows:
            is_news |= self.lineage.add(shard)
            if shard.id not in self._entries:
                self.enter(shard.id, Stage.UNREAD)
            lane = self.lanes.get(shard.id)
            if lane is not None and shard.closed and not lane.closed:
                lane.close()
                if shard.id in self.merge:
                    self.merge.update(lane)
        if is_news:
            self._deepest = None
            self._pass_ancestors()
        return is_news

    def _pass_ancestors(self) -> None:
        """Ancestors of the token's lanes were read before the token was taken. Ancestors of other lanes were not."""
        for shard_id in self.lineage.ancestors(*self._named):
            if self.stage(shard_id) is Stage.UNREAD:
                self.move(shard_id, Stage.PAST)

    # -- questions

    def is_passed(self, shard_id: str) -> bool:
        """Whether the shard was read to its end, so that what is below it may be opened."""
        return self.stage(shard_id) in IS_READ

    def is_ready(self, shard_id: str) -> bool:
        """Whether each of its known parents was read to its end (law 2)."""
        return all(map(self.is_passed, self.lineage.parents(shard_id)))

    def is_connected(self, shard_id: str) -> bool:
        """Whether no unlisted shard can stand between this shard and the known ones: each parent that it names is known."""
        if not self.lineage.is_whole(shard_id):
            return False
        if self.token.fresh:
            return True
        return bool(self.lineage[shard_id].parents) and not self._may_be_above_token(shard_id)

    def _may_be_above_token(self, shard_id: str) -> bool:
        """Whether the shard may be an ancestor of a lane of the token, through a shard that listings lack: then it was read.

        The oldest shards name parents that are trimmed, so listings nearly always lack some shard. But a shard was not read if
        it is below an unfinished lane of the token, or too deep to be an ancestor with another shard between.
        """
        if self.lineage.rank(shard_id).depth + 2 > self._deepest_incomplete:
            return False
        return self._named_open.isdisjoint(self.lineage.ancestors(shard_id))

    @property
    def _deepest_incomplete(self) -> float:
        """The greatest depth of the token's lanes that have an unknown ancestor; without such a lane, less than any depth."""
        if self._deepest is None:
            depths = (self._depths[shard_id] for shard_id in self._named if self._is_incomplete_above(shard_id))
            self._deepest = max(depths, default=-1)
        return self._deepest

    def _is_incomplete_above(self, shard_id: str) -> bool:
        return shard_id in self.lineage and not all(
            map(self.lineage.is_whole, (shard_id, *self.lineage.ancestors(shard_id)))
        )

    def is_linked(self, shard_id: str) -> bool:
        """Whether the shard is below one of the token's lanes, or has an ancestor in common with one."""
        return is_linked(self.lineage, shard_id, self._named)

    @property
    def doubtful(self) -> list[str]:
        """The unread shards that may follow a shard that no listing showed."""
        return [shard_id for shard_id in self._at[Stage.UNREAD] if not self.is_connected(shard_id)]

    @property
    def is_read_out(self) -> bool:
        """Whether every known shard was returned to its end, and no gap stands there."""
        is_whole = self.discovery.is_whole and not self._at[Stage.UNREAD] and not self.gaps
        return is_whole and all(lane.is_drained for lane in self.lanes_by_now(self.merge.standing()).values())

    def lanes_by_now(self, standing: Standing) -> dict[str, Lane]:
        """The lanes as of this moment: where records were taken since the last `settle`, copies that count them."""
        if not standing.counts:
            return self.lanes
        return {**self.lanes, **{name: self.lanes[name].ahead(count) for name, count in standing.counts.items()}}

    # -- time

    @property
    def lateness_us(self) -> int:
        """How long after its creation time a record may come to be readable."""
        return self.precision.lateness_us

    def see_time(self, service_us: int) -> None:
        """An answer came, of this service time."""
        if self.service_us is None or service_us > self.service_us:
            self.service_us = service_us

    def retain(self, retention_us: int) -> None:
        """The service holds records this long now. An increase brings nothing back: unread shards keep the shorter one."""
        self._present_us = retention_us
        self.held_us = min(self.held_us, retention_us)

    def is_stale(self, position: Position) -> bool:
        """Whether the service may have dropped records at this position since the reader chose it."""
        return self.service_us is not None and position.is_expired(self.service_us, self.held_us)

    def note_retention(self, token: Token) -> Token:
        """The token, with the retention to apply on resume.

        Until every shard that the token left unread is open, the shorter retention counts: the one of when the token was taken.
        """
        is_opened = not self._at[Stage.WAITING] and not any(map(_is_unread, token.lanes))
        retention_us = self._present_us if is_opened else self.held_us
        return msgspec.structs.replace(token, retention=None if retention_us == DAY_US else retention_us)

    def relax(self) -> None:
        """Once no shard that the token left unread remains, the service's present retention counts."""
        if self.held_us < self._present_us and not self._at[Stage.WAITING]:
            # Of a lane whose records were fetched, but not returned, a token knows only when it was opened.
            places = [lane.place for lane in self.lanes.values() if not lane.is_drained]
            if all(place is not None and place.is_numbered for place in places):
                self.held_us = self._present_us

    # -- itself

    def _check(self) -> None:
        """Raises AssertionError where the book contradicts itself."""
        self.merge._check()
        assert {entry.shard_id for at in self._at.values() for entry in at.values()} == self._entries.keys()
        assert sum(map(len, self._at.values())) == len(self._entries)
        assert self.lanes.keys() == {entry.shard_id for entry in self if entry.stage in HAS_LANE}
        assert self.gaps == {shard_id for shard_id, lane in self.lanes.items() if lane.gap is not None}
        for entry in self:
            self._check_entry(entry)
        assert all(self.stage(shard_id) in (Stage.UNREAD, Stage.WAITING) for shard_id in self.unsure)

    def _check_entry(self, entry: Entry) -> None:
        stage, lane, errand = entry.stage, entry.lane, entry.errand
        assert entry is self._at[stage][entry.shard_id]
        assert entry.shard_id in self.lineage
        assert (lane is not None) == (stage in HAS_LANE)
        if lane is not None:
            assert lane is self.lanes[entry.shard_id]
            assert lane.ended == (stage is Stage.ENDED), f"{entry.shard_id} is {stage.value}"
            assert lane.gap is None or entry.turn is None or entry.turn.due_us is None, "it stands before a gap"
        assert errand is None or (stage is not Stage.LANE and stage is not Stage.WAITING)
        assert not entry.is_probe or errand is not None
        if entry.turn is not None:
            is_known = stage in (Stage.LANE, Stage.UNREAD) or errand is not None
            assert is_known, f"{entry.shard_id} is {stage.value}, and is asked"
            assert entry.turn.due_us is None or not entry.is_asked


def is_linked(lineage: Lineage, shard_id: str, named: Collection[str]) -> bool:
    """Whether the shard is below one of those that a token names, or has an ancestor in common with one."""
    above = lineage.ancestors(shard_id)
    return not above.isdisjoint(named) or not above.isdisjoint(lineage.ancestors(*named))


def _is_unread(lane: TokenLane) -> bool:
    """Whether only the clock can tell if the service still holds the start of this lane."""
    return lane.place is None and lane.ended is None
