"""Worlds: all that a service holds, told page by page and listing by listing, and a driver that reads it through the core.

A world is the truth: shards, parents, records. What the service tells of it (page cuts, runs of empty pages, listings that
lag) and in what order the answers arrive is read off a *tape*: bytes that hypothesis draws. On an empty tape everything is
told at once and in order, so that a failing tape shrinks towards the plain case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import astuple

from streamiter.errors import PositionTrimmed, ShardGone, TimeUnsupported
from streamiter.position import After, AtNumber, AtTime, Horizon, Position
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.stream.reading import Reading
from streamiter.stream.resume import token_at_start
from streamiter.token import Token, load_token

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
NOW = 1_700_000_000 * SECOND  # service time where the driver's own clock stands at 0
ALWAYS = -(1 << 60)

STREAM = "arn:aws:dynamodb:us-east-1:123456789012:table/users/stream/2026-01-01T00:00:00.000"


class Tape:
    """Choices made in advance; 0, the plain choice, once they are used up."""

    def __init__(self, choices: bytes = b"") -> None:
        self._choices = choices
        self._at = 0

    def draw(self, count: int) -> int:
        """A number from 0 up to count - 1."""
        if self._at == len(self._choices):
            return 0
        self._at += 1
        return self._choices[self._at - 1] % count

    def once_in(self, count: int) -> bool:
        """Whether something happens that happens once in so many times."""
        return self.draw(count) == count - 1


class Told(Record):
    """A record as a page tells it, that remembers which one of the world it is."""

    index: int = 0


@dataclass(frozen=True)
class Truth:
    """One record as the service holds it."""

    number: int
    created_us: int | None = None
    visible_us: int = ALWAYS  # service time from which pages show it

    def __repr__(self) -> str:
        return f"Truth({self.number}, {_moment(self.created_us)}{_unless(ALWAYS, self.visible_us)})"


@dataclass
class WorldShard:
    """One shard as the service holds it."""

    id: str
    parents: tuple[str, ...] = ()
    records: list[Truth] = field(default_factory=list)
    born_us: int = ALWAYS
    closed_us: int | None = None  # None: it is open
    trimmed: int = 0  # so many of its first records are no longer held

    def __repr__(self) -> str:
        times = (f", {name}={_moment(us)}" for name, us in [("born_us", self.born_us), ("closed_us", self.closed_us)])
        return f"WorldShard({self.id!r}, {self.parents!r}, {self.records!r}{''.join(times)})"

    def is_closed(self, service_us: int) -> bool:
        return self.closed_us is not None and self.closed_us <= service_us


def _moment(us: int | None) -> str:
    return {None: "None", ALWAYS: "ALWAYS"}.get(us) or f"NOW + {(us or 0) - NOW}"


def _unless(plain: int, us: int) -> str:
    return "" if us == plain else f", {_moment(us)}"


class Lag:
    """What a listing lacks. This one lacks nothing."""

    def hidden(self, world: World, call: int, service_us: int) -> set[str]:
        """The shards that this listing does not show, of those that the world has."""
        return set()


class World:
    """The truth. Tests change it under a reading: they trim, remove, close, add."""

    def __init__(self, shards: Iterable[WorldShard], *, knows_tip: bool = False, digits: int = 0) -> None:
        self.shards = {shard.id: shard for shard in shards}
        self.digits = digits  # sequence numbers are written with so many of them at least
        self.knows_tip = knows_tip  # its pages say whether they are caught up, as Kinesis' do
        self.unlisted: set[str] = set()  # removed: in no listing any more
        self.gone: set[str] = set()  # removed, though perhaps still listed
        self.refuses_times = False

    @classmethod
    def parse(
        cls, shards: Iterable[Shard], records: Mapping[str, Sequence[Truth]], *, open: Iterable[str] = ()
    ) -> World:
        """A world from a parsed lineage; its shards are closed, but those named open."""
        is_open = set(open)
        return cls(
            WorldShard(s.id, s.parents, list(records.get(s.id, ())), closed_us=None if s.id in is_open else ALWAYS)
            for s in shards
        )

    def __repr__(self) -> str:
        """As a test would write it."""
        lines = [*map(repr, self.shards.values()), *["knows_tip=True"] * self.knows_tip, f"digits={self.digits}"]
        return "".join(f"\n    {line}," for line in lines)

    def children(self, shard_id: str) -> list[str]:
        return [shard.id for shard in self.shards.values() if shard_id in shard.parents]

    def ancestors(self, shard_id: str) -> set[str]:
        found: set[str] = set()
        pending = [shard_id]
        while pending:
            for parent in self.shards[pending.pop()].parents:
                if parent in self.shards and parent not in found:
                    found.add(parent)
                    pending.append(parent)
        return found

    @property
    def size(self) -> int:
        return sum(len(shard.records) for shard in self.shards.values())

    # -- what the service answers

    def rows(self, service_us: int, hidden: Iterable[str] = ()) -> list[Shard]:
        """What a listing shows."""
        return [
            Shard(shard.id, shard.parents, shard.is_closed(service_us))
            for shard in self.shards.values()
            if shard.born_us <= service_us and shard.id not in self.unlisted and shard.id not in hidden
        ]

    def open(self, shard_id: str, position: Position, service_us: int) -> int:
        """The index of the record at which an iterator starts."""
        if shard_id in self.gone or shard_id not in self.shards:
            raise ShardGone(shard_id)
        shard = self.shards[shard_id]
        match position:
            case Horizon():
                return shard.trimmed
            case AtTime():
                if self.refuses_times:
                    raise TimeUnsupported(shard_id)
                assert position.time_us <= service_us, "a ValidationException: the time is in the future"
                return max(shard.trimmed, self._first_at(shard, position.time_us))
            case After():
                place = position.place
                # As many of the records since the number as are read already are left out: the driver's part.
                return self._find(shard, place.text) + 1 + place.since
            case AtNumber():
                return self._find(shard, position.text)

    def _first_at(self, shard: WorldShard, time_us: int) -> int:
        created_us: int | None = None
        for index, truth in enumerate(shard.records):
            if truth.created_us is not None:
                created_us = truth.created_us
            elif created_us is None:
                created_us = truth.visible_us  # The service knows when it was written, though it does not tell.
            if created_us >= time_us:
                return index
        return len(shard.records)

    def text(self, truth: Truth) -> str:
        """A record's sequence number as the service writes it."""
        return str(truth.number).zfill(self.digits)

    def _find(self, shard: WorldShard, text: str) -> int:
        index = next((index for index, truth in enumerate(shard.records) if self.text(truth) == text), None)
        if index is None or index < shard.trimmed:
            raise PositionTrimmed(f"{text} of {shard.id}")
        return index

    def check_held(self, shard_id: str, index: int) -> None:
        """Raises what GetRecords raises when the iterator's place is no longer held."""
        if shard_id in self.gone:
            raise ShardGone(shard_id)
        if index < self.shards[shard_id].trimmed:
            raise PositionTrimmed(shard_id)


class Page(NamedTuple):
    records: list[Told]
    next: int
    ended: bool
    caught_up: bool | None
    service_us: int
    children: tuple[Shard, ...] = ()
    rest_us: int = 0


class Pages:
    """Cuts a world's shards into pages: sizes, runs of up to 7 empty ones, ends with or after the last record."""

    def __init__(self, world: World, tape: Tape, lateness_us: int) -> None:
        self.world = world
        self.tape = tape
        self.lateness_us = lateness_us
        self._empties: dict[str, int] = {}  # in a row, since opened
        self._run: dict[str, int] = {}  # so many empty pages of a run are still to come
        self._newest: dict[str, int | None] = {}

    def opened(self, shard_id: str) -> None:
        self._empties[shard_id] = 0
        self._run[shard_id] = 0
        self._newest[shard_id] = None

    def fetch(self, shard_id: str, at: int, service_us: int) -> Page:
        """The page that starts at this record."""
        self.world.check_held(shard_id, at)
        shard = self.world.shards[shard_id]
        end = at
        while end < len(shard.records) and shard.records[end].visible_us <= service_us:
            end += 1
        is_closed = shard.is_closed(service_us) and end == len(shard.records)
        count = self._count(shard_id, end - at, is_closed, service_us)
        told = [(index, shard.records[index]) for index in range(at, at + count)]
        records = [Told(shard_id, self.world.text(truth), truth.created_us, index=index) for index, truth in told]
        if records:
            self._empties[shard_id] = 0
            self._newest[shard_id] = records[-1].created_us
        else:
            self._empties[shard_id] += 1
        is_last = at + count == end
        # The last page may carry records and no next iterator, or an empty page comes after it (DESIGN 4).
        ended = is_closed and is_last and not (count and self.tape.once_in(2)) and not self._run[shard_id]
        # What is closed is caught up with only when its end was told.
        caught_up = is_last and (ended or not is_closed) if self.world.knows_tip else None
        children = self._children(shard_id, service_us) if ended and self.world.knows_tip else ()
        rest_us = self.tape.draw(3) * SECOND // 5 if self.world.knows_tip else 0
        return Page(records, at + count, ended, caught_up, service_us, children, rest_us)

    def _children(self, shard_id: str, service_us: int) -> tuple[Shard, ...]:
        """What the end of a shard tells of those that follow it: all of them, or nothing."""
        children = [self.world.shards[child] for child in self.world.children(shard_id)]
        if self.tape.once_in(3) or any(child.born_us > service_us for child in children):
            return ()
        return tuple(Shard(child.id, child.parents) for child in children)

    def _count(self, shard_id: str, waiting: int, is_closed: bool, service_us: int) -> int:
        """How many of the waiting records the page gives: 0 in a run of empty pages."""
        can_be_empty = self._empties[shard_id] < 7 and not self._is_current(shard_id, service_us)
        if (waiting or is_closed) and can_be_empty:
            if not self._run[shard_id] and self.tape.once_in(4):
                self._run[shard_id] = 1 + self.tape.draw(7)
            if self._run[shard_id]:
                self._run[shard_id] -= 1
                return 0
        self._run[shard_id] = 0
        size = self.tape.draw(5)
        return waiting if size == 0 else min(size, waiting)

    def _is_current(self, shard_id: str, service_us: int) -> bool:
        # A lane that gives records as new as this is at the tip after one empty page (law 7): there a lying one would
        # make records late, as the law lets it.
        newest_us = self._newest[shard_id]
        if newest_us is None or self.world.knows_tip:
            return False
        return service_us - self.lateness_us - 6 * SECOND <= newest_us <= service_us + 6 * SECOND


class Out(NamedTuple):
    """A record as it came out."""

    shard: str
    index: int
    order_us: int
    rank: tuple
    place: tuple
    clock: int
    late: bool
    key: str


@dataclass
class Flight:
    """A call under way."""

    shard: str | None  # None: a listing
    answer: Callable[[], Callable[[], None]]  # asks the service; what it gives hands the answer to the reading
    answered: Callable[[], None] | None = None


class Drive:
    """Reads a world through a `Reading`, by a clock turned by hand; the tape decides what happens in which order."""

    def __init__(
        self,
        world: World,
        token: Token | None = None,
        *,
        tape: Tape | None = None,
        lag: Lag | None = None,
        lateness_us: int | None = SECOND,
        retention_us: int = DAY,
        now_us: int = 0,
        faults: bool = False,
        tells_closed: bool = False,
        records_tokens: bool = False,
        checks: bool = True,
    ) -> None:
        self.world = world
        self.tape = tape or Tape()
        self.lag = lag or Lag()
        self.now_us = now_us
        self.reading = Reading(
            token or token_at_start(STREAM), lateness_us=lateness_us, retention_us=retention_us, now_us=now_us
        )
        self.pages = Pages(world, self.tape, lateness_us or 0)
        self.out: list[Out] = []
        self.gaps: list[tuple[str, str]] = []
        self.tokens: dict[str, tuple[int, Token]] = {}  # by their text: how many records were out, the token
        self.flights: list[Flight] = []
        self.iterators: dict[str, int] = {}
        self._rests: dict[str, int] = {}  # until when a shard is to be left alone
        self.listings = 0
        self._faults = faults
        self._tells_closed = tells_closed  # listings tell of every closed shard that it is
        self._records_tokens = records_tokens
        self._checks = checks
        self._stop_at: int | None = None
        self.came_us = now_us  # when the last record came out
        self.note_token()

    # -- running

    def run(self, total: int | None = None, *, quiet_us: int = 400 * SECOND, linger: int = 6) -> list[Out]:
        """Reads until so many records came out, and a little further; without a number, until nothing comes any more."""
        self.came_us = self.now_us
        while total is None or len(self.out) < total:
            self.round()
            if self.now_us - self.came_us > quiet_us:
                return self.out
        for _ in range(linger):
            self.round()
        return self.out

    def read(self, total: int, *, quiet_us: int = 400 * SECOND) -> list[Out]:
        """Reads until exactly so many records came out, and stops there, whatever is under way."""
        self._stop_at = total
        self.came_us = self.now_us
        while len(self.out) < total and self.now_us - self.came_us <= quiet_us:
            self.round()
        self._stop_at = None
        return self.out

    def round(self) -> None:
        """All that can be done now, then on to the next moment at which something is due."""
        self.work()
        self.advance()

    def work(self) -> None:
        """All that can be done now."""
        while len(self.out) != self._stop_at:
            self.begin()
            if not self.flights or self.tape.once_in(16):
                break
            self.deliver(self.tape.draw(len(self.flights)))
            self.accept_gap()
            self.pop(self.tape.draw(4) or 1 << 30)
            if self.tape.once_in(8):
                self.now_us += (SECOND // 10, SECOND, 7 * SECOND)[self.tape.draw(3)]
        self.pop()
        self.accept_gap()

    def fetch(self) -> None:
        """All calls that can be made now, without a record taken out."""
        self.begin()
        while self.flights:
            self.deliver(0)
            self.begin()

    def advance(self) -> None:
        """On to the next moment at which something is due; a little further now and then."""
        dues = [due for due in (self.reading.schedule.next_us, self.reading.listing_due_us) if due is not None]
        dues += [self.now_us + SECOND // 2] * bool(self.flights)
        self.now_us = max(self.now_us, min(dues, default=self.now_us + SECOND))
        if self.tape.once_in(8):
            self.now_us += self.tape.draw(40) * SECOND // 4

    # -- one step each

    @property
    def service_us(self) -> int:
        return NOW + self.now_us

    def begin(self) -> None:
        """Starts the calls that the reading wishes for."""
        if self.reading.wants_listing(self.now_us):
            self._begin_listing()
        most = self.tape.draw(4) or 1 << 30
        for shard_id in self.reading.wishes(self.now_us)[:most]:
            assert self.now_us >= self._rests.get(shard_id, self.now_us), f"{shard_id} was to rest"
            self._begin_page(shard_id)

    def deliver(self, which: int) -> None:
        """Hands the answer of one of the calls under way to the reading."""
        flight = self.flights.pop(which)
        (flight.answered or flight.answer())()
        self.check()

    def pop(self, most: int = 1 << 30) -> None:
        """Takes up to so many records out, one by one or in runs."""
        while most and len(self.out) != self._stop_at:
            ready = self.reading.records() if self.tape.once_in(2) else iter(self.reading.pop, None)
            before = len(self.out)
            for record in ready:
                self._take(record)
                most -= 1
                if not most or len(self.out) == self._stop_at:
                    break
            self.check()
            if len(self.out) == before:
                return

    def _take(self, record: Record) -> None:
        assert isinstance(record, Told)
        self.out.append(
            Out(
                *(record.shard_id, record.index, record.order_us, astuple(record.rank), tuple(record.place[:2])),
                *(record.clock, record.late, record.order_key),
            )
        )
        self.came_us = self.now_us

    def accept_gap(self) -> None:
        """Accepts the gap that stands, as a user calls skip()."""
        while (lane := self.reading.gap) is not None:
            assert lane.gap is not None
            self.gaps.append((lane.shard_id, lane.gap))
            self.iterators.pop(lane.shard_id, None)
            self.reading.skip_gap(self.now_us)
            self.came_us = self.now_us
            self.check()

    def check(self) -> None:
        """What holds at any moment."""
        if self._checks:
            self.reading.merge._check()
        self.note_token()

    def note_token(self) -> None:
        if self._records_tokens:
            text = json.dumps(self.reading.token().to_dict(), sort_keys=True)
            self.tokens.setdefault(text, (len(self.out), self.reading.token()))

    def token(self) -> Token:
        """The token as it comes back from a file."""
        token = self.reading.token()
        loaded = load_token(json.loads(json.dumps(token.to_dict())))
        assert loaded == token
        return loaded

    # -- calls

    def _fly(self, shard_id: str | None, answer: Callable[[], Callable[[], None]]) -> None:
        flight = Flight(shard_id, answer)
        if self.tape.once_in(3):
            flight.answered = answer()  # The service answers at once, and the answer takes its time to arrive.
        self.flights.append(flight)

    def _begin_listing(self) -> None:
        ticket = self.reading.discovery.begin(self.now_us)
        call = self.listings
        self.listings += 1

        def answer() -> Callable[[], None]:
            service_us = self.service_us
            rows = self._rows(self.lag.hidden(self.world, call, service_us), service_us)
            if self._faults and self.tape.once_in(8):
                kept = rows[: self.tape.draw(len(rows) + 1)]
                return lambda: self._broken_listing(kept)
            return lambda: self.reading.listed(ticket, rows, service_us, self.now_us)

        self._fly(None, answer)

    def _rows(self, hidden: Iterable[str], service_us: int) -> list[Shard]:
        rows = []
        for row in self.world.rows(service_us, hidden):
            if row.closed and not self._tells_closed and self.tape.once_in(4):
                row = Shard(row.id, row.parents)  # Its end is not told yet.
            rows.insert(self.tape.draw(len(rows) + 1), row)
        if rows and self.tape.once_in(4):
            rows.append(rows[self.tape.draw(len(rows))])
        return rows

    def _broken_listing(self, rows: list[Shard]) -> None:
        self.reading.see(rows)
        self.reading.discovery.fail()

    def _begin_page(self, shard_id: str) -> None:
        at = self.iterators.get(shard_id)
        position = self.reading.opening(shard_id) if at is None else None
        if at is None and position is None:
            return  # A gap stands.
        self.reading.asked(shard_id)

        def answer() -> Callable[[], None]:
            try:
                start = at
                if start is None:
                    assert position is not None
                    start = self.world.open(shard_id, position, self.service_us)
                    self.pages.opened(shard_id)
                page = self.pages.fetch(shard_id, start, self.service_us)
            except PositionTrimmed:
                return lambda: self._trimmed(shard_id)
            except TimeUnsupported:
                return lambda: self.reading.refuse_time(shard_id, self.now_us)
            except ShardGone:
                return lambda: self._gone(shard_id)
            if self._faults and at is not None and self.tape.once_in(12):
                return lambda: self._expired(shard_id)
            if self._faults and self.tape.once_in(12):
                return lambda: self.reading.failed(shard_id, self.now_us + SECOND)
            return lambda: self._page(shard_id, page)

        self._fly(shard_id, answer)

    def _page(self, shard_id: str, page: Page) -> None:
        self.iterators[shard_id] = page.next
        goes_on = self.reading.push(
            *(shard_id, page.records, page.service_us, self.now_us),
            ended=page.ended,
            caught_up=page.caught_up,
            size_bytes=100 * len(page.records),
            children=page.children,
            rest_us=page.rest_us,
        )
        if page.rest_us:
            self._rests[shard_id] = self.now_us + page.rest_us
        if page.ended or not goes_on:
            del self.iterators[shard_id]

    def _expired(self, shard_id: str) -> None:
        del self.iterators[shard_id]
        self.reading.expired(shard_id, self.now_us)

    def _trimmed(self, shard_id: str) -> None:
        self.iterators.pop(shard_id, None)
        if self.reading.trimmed(shard_id, self.now_us) and not self.reading.lane(shard_id).ended:
            self.reading.failed(shard_id, self.now_us)  # It opens again at once.

    def _gone(self, shard_id: str) -> None:
        self.iterators.pop(shard_id, None)
        self.reading.unreachable(shard_id, self.now_us)


def truths(*created: float | None, first: int = 100) -> list[Truth]:
    """Records with rising sequence numbers, created so many hours before now (None: no creation time)."""
    return [
        Truth(first + index, None if hours is None else NOW - round(hours * HOUR))
        for index, hours in enumerate(created)
    ]
