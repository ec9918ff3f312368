"""Drives: a world read through a `Reading`, by a clock turned by hand; the tape decides what happens in which order."""

from __future__ import annotations

import json
from typing import NamedTuple

from msgspec.structs import astuple

from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.token import Token, load_token
from tests.reading.hand import Hand
from tests.worlds.pages import Told
from tests.worlds.tape import Tape
from tests.worlds.wire import Wire
from tests.worlds.world import DAY, SECOND, STREAM, Lag, World


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


class Drive(Wire):
    """Reads a world through a `Reading`, by a clock turned by hand; the tape decides what happens in which order."""

    reading: Hand

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
        reading = Hand(
            token or token_at_start(STREAM), lateness_us=lateness_us, retention_us=retention_us, now_us=now_us
        )
        super().__init__(world, reading, tape or Tape(), lag or Lag(), now_us=now_us, faults=faults)
        self.tells_closed = tells_closed
        self.out: list[Out] = []
        self.gaps: list[tuple[str, str]] = []
        self.tokens: dict[str, tuple[int, Token]] = {}  # by their text: how many records were out, the token
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
        dues = [self.now_us + SECOND if self.reading.due_us is None else self.reading.due_us]
        dues += [self.now_us + SECOND // 2] * bool(self.flights)
        self.now_us = max(self.now_us, min(dues))
        if self.tape.once_in(8):
            self.now_us += self.tape.draw(40) * SECOND // 4

    # -- one step each

    def deliver(self, which: int) -> None:
        super().deliver(which)
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
            if len(self.out) == before:
                return
            self.check()

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
        while (lane := self.reading.next_gap) is not None:
            assert lane.gap is not None
            self.gaps.append((lane.shard_id, lane.gap))
            self.reading.skip_gap(self.now_us)
            self.came_us = self.now_us
            self.check()

    def check(self) -> None:
        """What holds at any moment."""
        if self._checks:
            self.reading.book._check()
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
