"""The reading of a whole stream: listings and pages in, wishes and records out, a token at any moment.

Pure. It joins the rooms below: the lineage says which shard may be opened, discovery when to list and what to believe, the
merge in what order records come out. Whoever drives it makes the calls; it never does, and time is handed in.

A shard is in one of these states:

    unread      listed, not opened yet: its parents are not read to their end, or nothing connects it yet
    lane        opened: being read, or read to its end (then kept, as the parent of its children, while listed)
    read        an ancestor of a lane that a token named: it was read before
    ghost       read anew, without returning records, only to learn the floor of a shard below it
    handed      closed, and read by somebody else: it counts as returned from the moment that it is taken
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streamiter.lineage import EVERY_US, Discovery, Lineage, agreeing_us
from streamiter.merge import Lane, Merge
from streamiter.position import Horizon, Position
from streamiter.record import Record
from streamiter.shard import Shard, hinted_us
from streamiter.stream import gaps, resume
from streamiter.stream.admission import Admission
from streamiter.stream.ends import Ends
from streamiter.stream.floors import Floors
from streamiter.stream.frontier import Frontier
from streamiter.stream.gaps import Gaps
from streamiter.stream.handover import Handed, Handover
from streamiter.stream.mark import Mark, Marks
from streamiter.stream.opening import Opening
from streamiter.stream.probes import Probes
from streamiter.stream.retention import Retention
from streamiter.stream.schedule import Schedule
from streamiter.stream.start import Start
from streamiter.stream.succession import Succession
from streamiter.stream.wishes import Wishes
from streamiter.token import Token, TokenLane, high_key


class Reading:
    """Reads on from a token. Events in: `listed`, `push`, `trimmed`, `gone`, ...; `wishes` and records out."""

    def __init__(
        self,
        token: Token,
        *,
        lateness_us: int | None = 1_000_000,
        retention_us: int = 86_400_000_000,
        poll_us: int = 250_000,
        listing_us: int = EVERY_US,
        now_us: int = 0,
        hands_over: bool = False,
    ) -> None:
        self._base = token
        self.lineage = Lineage()
        self.merge = Merge(holds=lateness_us is not None, high=high_key(token), clock=token.clock)
        self.discovery = Discovery((lane.shard for lane in token.lanes if lane.ended is None), every_us=listing_us)
        self.schedule = Schedule(poll_us, lateness_us)
        self.lanes: dict[str, Lane] = {}
        self.gone = 0  # listed shards that the service does not hold any more, and of which nothing was read
        self.clock_before = token.clock
        self._lateness_us = lateness_us
        self._start = Start(token.start)
        self._retention = Retention(token, retention_us)
        self._frontier = Frontier(self.lineage, self.lanes, token)
        self._wishes = Wishes(self.lanes, self.merge, self.schedule, self.discovery)
        self._marks = Marks(
            *(self.lanes, self.merge, self._frontier, self.discovery, self.schedule, self._retention),
            lateness_us=lateness_us or 0,
        )
        self._probes = Probes(self.lineage, self.schedule)
        self._handover = Handover(self.lineage) if hands_over else None
        self._gaps = Gaps(
            *(self.lineage, self.lanes, self.merge, self.schedule, self._retention), holds=lateness_us is not None
        )
        self._floors = Floors(
            *(token, self.lineage, self.lanes, self._frontier, self.schedule, self._retention),
            leaves_to_others=hands_over,
        )
        self._ghosts = self._floors.ghosts
        self._succession = Succession(
            *(self.lineage, self.lanes, self.merge, self.discovery),
            *(self._frontier, self._ghosts, self._gaps, self._retention),
        )
        self._admission = Admission(*(self.lineage, self.lanes, self.merge, self.schedule, self._gaps, self._handover))
        self._opening = Opening(
            *(token, self.lineage, self.merge, self._frontier, self._floors, self.discovery, self._retention),
            self._admission,
            handover=self._handover,
            lateness_us=lateness_us,
        )
        self._ends = Ends(
            *(self.merge, self.discovery, self.schedule, self._frontier, self._retention),
            *(self._ghosts, self._opening, self._handover),
        )
        self.merge.is_blocked = True
        for entry in token.lanes:
            self._restore(entry, now_us)

    # -- events in: listings

    def listed(
        self, ticket: int, shards: Iterable[Shard], service_us: int, now_us: int, *, is_final: bool = False
    ) -> None:
        """A complete listing, begun when `discovery.begin()` gave the ticket. `is_final`: no shard will follow any more."""
        self._retention.see_time(service_us)
        rows = list(shards)
        news = self.see(rows)
        listed = {shard.id for shard in rows}
        doubtful = self._frontier.doubtful
        self.discovery.heard(ticket, listed, news, doubtful, now_us, agreeing_us=self._agreeing_us)
        self._opening.open_all(now_us)
        childless = self._succession.settle(ticket, listed, now_us)
        self._ends.pass_handed(now_us)
        self._succession.watch(service_us, childless, now_us, is_final=is_final)
        self._succession.forget(listed, now_us)

    def _agreeing_us(self, shard_id: str) -> int:
        """Over how long listings must agree on a shard that they leave in doubt."""
        assert self.service_us is not None
        return agreeing_us(hinted_us(shard_id), self.service_us, self._retention.held_us, is_first=self._base.fresh)

    def see(self, rows: Sequence[Shard]) -> bool:
        """Takes rows in, also of a listing that breaks off: what it told is true. Gives whether any was news."""
        news = False
        for shard in rows:
            news |= self._frontier.see(shard)
            lane = self.lanes.get(shard.id)
            if lane is not None and shard.closed and not lane.closed:
                lane.close()
                if shard.id in self.merge:
                    self.merge.update(lane)
        if news:
            self._frontier.look_up()
        return news

    # -- events in: pages

    def push(
        self,
        shard_id: str,
        records: Sequence[Record],
        service_us: int,
        now_us: int,
        *,
        ended: bool = False,
        caught_up: bool | None = None,
        size_bytes: int = 0,
        skipped: int = 0,
        opened: bool = False,
        children: Sequence[Shard] = (),
        rest_us: int = 0,
    ) -> bool:
        """The next page of a shard. Gives whether the next one goes on behind it; else the shard is opened anew.

        `skipped`: so many more records came that had been returned before. `opened`: the shard was opened for this page;
        only now does the service's clock tell whether that hid a gap. `children`: all that follow it, where its end tells.
        """
        self._retention.see_time(service_us)
        self.schedule.rest(shard_id, now_us + rest_us)
        if shard_id in self._probes:
            return self._judge(shard_id, records, now_us, ended=ended)
        lane = self.lane(shard_id)
        if opened and shard_id not in self._ghosts and self._gaps.stand_if_stale(lane):
            return False
        lane.push(records, service_us, ended=ended, caught_up=caught_up, size_bytes=size_bytes, skipped=skipped)
        if shard_id in self._ghosts:
            lane.discard()
        else:
            self.merge.update(lane)
        self.schedule.answered(lane, now_us)
        if ended:
            self.see(children)
            self._ends.ended(lane, now_us)
            if children and self.discovery.found(shard_id):
                self.merge.release(shard_id)
            if any(child.id in self._frontier.unsure for child in children):
                self.discovery.request()  # the other parent of a merge is not listed yet
            self._ends.pass_handed(now_us)
        return True

    def failed(self, shard_id: str, due_us: int) -> None:
        """A call for the shard failed; it is due again later. Nothing else changes."""
        self.schedule.postpone(shard_id, due_us)

    def opening(self, shard_id: str) -> Position | None:
        """Where the shard is to be opened for the next page; None where it is not to be opened.

        So it is where that would hide a gap, which then stands, and where another shard may show that it can be passed over.
        """
        lane = self.lane(shard_id)
        if shard_id not in self._ghosts and self._gaps.stand_if_stale(lane):
            return None
        return self._probes.position(lane, self._frontier.unread, self.service_us)

    def expired(self, shard_id: str, now_us: int) -> None:
        """Its iterator is too old: it opens again where fetching stood."""
        self.lane(shard_id).reopen()
        self.schedule.at(shard_id, now_us)

    def trimmed(self, shard_id: str, now_us: int) -> bool:
        """The service does not hold the place any more. Gives whether the lane can go on without a gap, at its tip of late."""
        if shard_id in self._ghosts:
            self._ends.end_ghost(shard_id, now_us)
            return True
        if shard_id in self._probes:
            return self._judge(shard_id, [], now_us, ended=True)
        return not self._gaps.stand_if_trimmed(self.lanes[shard_id])

    def unreachable(self, shard_id: str, now_us: int) -> None:
        """The service does not know the shard any more: a gap where it or an ancestor was read, else only counted (law 5)."""
        if shard_id in self._ghosts:
            self._ends.end_ghost(shard_id, now_us)
            return
        if shard_id in self._probes:
            self._judge(shard_id, [], now_us, ended=True)
            return
        lane = self.lanes[shard_id]
        lane.is_gone = True
        if lane.last_us is not None or lane.place is not None:
            self._gaps.stand(lane, gaps.REMOVED)
        else:
            self.gone += 1
            self._ends.pass_over(lane, now_us)
            self._ends.pass_handed(now_us)

    def retain(self, retention_us: int) -> None:
        """How long the service holds records, now. An increase brings nothing back: what is unread is judged as before."""
        self._retention.change(retention_us)

    # -- gaps

    @property
    def gap(self) -> Lane | None:
        """The lane whose gap stands before everything that could come out next; None where records come first."""
        return self._gaps.next

    @property
    def gaps(self) -> int:
        """How many gaps were accepted."""
        return self._gaps.accepted

    def skip_gap(self, now_us: int, shard_id: str | None = None) -> None:
        """Accepts the gap that stands, or the one of this shard, which stood: the lane goes on with what is still held."""
        lane = self.gap if shard_id is None else self.lanes[shard_id] if shard_id in self._gaps else None
        if lane is None:
            return
        self._gaps.accept(lane.shard_id)
        if lane.ended:
            lane.gap = None
            lane.ended_us = self.service_us
            if not self.discovery.is_waiting(lane.shard_id):
                self.merge.release(lane.shard_id)
        elif lane.is_gone:
            lane.restart(Horizon(self.service_us))  # what is lost below it was accepted, too
            self._ends.pass_over(lane, now_us)
        else:
            lane.restart(self._start.position(lane.emitted_us, self.service_us))
            self.merge.update(lane)
            self._admission.go_on(lane, now_us)
        self._ends.pass_handed(now_us)

    # -- wishes out

    def wishes(self, now_us: int, most: int = 1 << 30) -> list[str]:
        """The lanes to be asked now, at most so many: first the one that holds the merge, then the emptiest."""
        return self._wishes.lanes(now_us, most)

    def wants_listing(self, now_us: int) -> bool:
        """Whether the shards are to be listed now."""
        due_us = self.listing_due_us
        return due_us is not None and due_us <= now_us

    @property
    def listing_due_us(self) -> int | None:
        """When to list next; None while a listing is under way."""
        return self._wishes.listing_due_us

    def asked(self, shard_id: str) -> None:
        """A call for the lane is under way."""
        self.schedule.asked(shard_id)

    # -- records out

    def records(self) -> Iterator[Record]:
        """The records that can come out now: what is taken from the iterator counts as returned."""
        return self.merge.records()

    def settle(self) -> None:
        """Takes note of what was taken from `records`; to be called before anything else is asked of the reading."""
        self.merge.settle()

    def peek(self) -> Record | None:
        """The record that comes next, without taking it."""
        return self.merge.peek()

    def age_us(self, record: Record) -> int:
        """How long ago the record's order time is, by the service's clock."""
        return 0 if self.service_us is None else max(0, self.service_us - record.order_us)

    def pop(self) -> Record | None:
        """The record that comes next, None while it must wait."""
        return self.merge.pop()

    @property
    def held_by(self) -> str | None:
        """What records wait for: a shard, or "listing"."""
        return "listing" if self.merge.is_blocked else self.merge.held_by

    @property
    def waiting_bytes(self) -> float:
        """About how many bytes were fetched and not returned yet."""
        return self.merge.waiting_bytes

    @property
    def is_read_out(self) -> bool:
        """Whether every known shard was returned to its end, and no gap stands there."""
        is_whole = self.discovery.is_whole and not self._frontier.unread and not len(self._gaps)
        return is_whole and all(lane.is_drained for lane in self.lanes.values())

    @property
    def is_drained(self) -> bool:
        """Whether every known shard was returned to its end, and no child of any is looked for."""
        return self.is_read_out and not any(map(self.discovery.is_waiting, self.lanes))

    def mark(self, now_us: int) -> Mark:
        """Begins to find out what the service holds at this moment: every lane is asked, the shards are listed."""
        return self._marks.begin(now_us)

    def is_past(self, mark: Mark) -> bool:
        """Whether everything that the service held at the mark was returned."""
        return self._marks.is_past(mark)

    def token(self) -> Token:
        """The state after the last record returned."""
        self.merge.settle()
        token = resume.take_token(self._base.stream, self._base, self.lanes, self.lineage, self.merge)
        return self._retention.note(token, is_all_open=not self._frontier.asleep)

    @property
    def service_us(self) -> int | None:
        """The newest service time of any answer."""
        return self._retention.service_us

    def lane(self, shard_id: str) -> Lane:
        """The lane of a shard that was opened, a ghost's too."""
        return self._probes.get(shard_id) or self._ghosts.get(shard_id) or self.lanes[shard_id]

    # -- opening

    def _restore(self, entry: TokenLane, now_us: int) -> None:
        lane = resume.restore_lane(entry, self._base.start, self._lateness_us or 0)
        self.lineage.add(Shard(entry.shard, entry.parents))
        self.lanes[entry.shard] = lane
        if entry.rank is not None:
            self.lineage.fix_rank(entry.shard, entry.rank)
        if not lane.ended:
            self._opening.sleep(lane)
            return
        self._frontier.passed.add(entry.shard)
        if lane.unresolved:
            self._floors.lost.add(entry.shard)
        if entry.gap:
            self._gaps.stand(lane, gaps.CHILDREN_MISSED)
        elif not lane.childless:
            self.discovery.ended(entry.shard, now_us)
        if entry.gap or not lane.childless:
            self.merge.open(lane)

    # -- seeking without AT_TIMESTAMP

    def refuse_time(self, shard_id: str, now_us: int) -> None:
        """The service cannot open shards at a time: they are read from their horizon, and what is older is left out."""
        self._probes.refuse_time()
        self.schedule.at(shard_id, now_us)

    def holds_records(self, shard_id: str) -> bool:
        """Whether what is fetched of the shard waits to be returned; a ghost's and a probe's does not."""
        return shard_id not in self._ghosts and shard_id not in self._probes

    def is_probe(self, shard_id: str) -> bool:
        """Whether only the shard's first record is asked for."""
        return shard_id in self._probes

    def _judge(self, probe: str, records: Sequence[Record], now_us: int, *, ended: bool) -> bool:
        """A page of a child that is looked at. Gives whether more of it must be seen."""
        verdict = self._probes.judge(probe, records, self._base.start, now_us, ended=ended)
        if verdict is None:
            return True
        for shard_id in verdict.parents:
            if verdict.are_old:
                self._ends.pass_over(self.lanes[shard_id], now_us)
            else:
                self.schedule.at(shard_id, now_us)
        self._ends.pass_handed(now_us)
        return False

    # -- handing over

    def take_handed(self) -> list[Handed]:
        """The shards that somebody else is to read now, in the order of lineage; from here on the token is after them."""
        self.merge.settle()
        return [] if self._handover is None else self._handover.take(self.lanes)

    def lost_above(self, shard_id: str) -> list[str]:
        """The ancestors that somebody else reads, or has read: only they know how high their order times go."""
        handed = self._handover.shards if self._handover is not None else set()
        return self._floors.lost_above(shard_id, handed)
