"""Pages: a world's shards, cut as a tape says: sizes, runs of empty ones, ends with or after the last record."""

from __future__ import annotations

from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator
from tests.worlds.tape import Tape
from tests.worlds.world import SECOND, World


class Told(Record):
    """A record as a page tells it, that remembers which one of the world it is."""

    index: int = 0


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

    def fetch(self, shard_id: str, at: int, service_us: int) -> tuple[Page, int]:
        """The page that starts at this record, and where the next one starts."""
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
        following = None if ended else ShardIterator(shard_id, at + count)
        page = Page(records, following, service_us, caught_up, 100 * count, children, rest_us)
        return page, at + count

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
