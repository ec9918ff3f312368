"""Opening: which shards may be read now, and where their lanes begin; before that is clear for all, no record comes out."""

from __future__ import annotations

from collections.abc import Iterable

from streamiter.merge import Lane
from streamiter.position import AtTime, Horizon
from streamiter.reading import gaps
from streamiter.reading.asking import Asking
from streamiter.reading.book import Book, Stage
from streamiter.reading.floors import Start, begins_us, floor, is_floor_unknown, is_unknown_in_lanes_above, seek
from streamiter.reading.handed import Handed, Handover
from streamiter.shard import Shard


class Opening:
    """Opens shards once their parents are read, and hands closed shards over to other readers."""

    def __init__(self, book: Book, asking: Asking) -> None:
        self._book = book
        self._asking = asking
        self._handover = Handover(book)
        self._start = Start(book.token.start)

    # -- what may be opened

    def see(self, rows: Iterable[Shard]) -> bool:
        """Takes rows of a listing in; a shard that they show closed is idle no longer. Gives whether any row was news."""
        known = list(rows)
        is_news = self._book.see(known)
        for shard in known:
            if shard.closed:
                self._asking.schedule.closed(shard.id)
        return is_news

    def open_all(self, now_us: int) -> None:
        """Opens all that may be opened."""
        if self._book.discovery.is_whole:
            for shard_id in sorted(self._book.at(Stage.WAITING), key=self._book.lineage.rank):
                self._open_waiting(self._book.lanes[shard_id], now_us)
            self._open_ready(self._book.at(Stage.UNREAD), now_us)
        self._block()

    def _open_below(self, shard_id: str, now_us: int) -> None:
        """A shard was read to its end: opens those of its children that may be read now."""
        if self._book.has_any(Stage.WAITING):
            self.open_all(now_us)
        else:
            self._open_ready(self._book.lineage.children(shard_id), now_us)
            self._block()

    def _block(self) -> None:
        """Blocks the merge while any shard's place in the lineage is unclear: its records may have to come first."""
        self._book.merge.is_blocked = not self._book.discovery.is_whole or bool(self._book.unsure)

    def _open_ready(self, shard_ids: Iterable[str], now_us: int) -> None:
        book = self._book
        for shard_id in shard_ids:
            if book.stage(shard_id) is not Stage.UNREAD or not book.is_ready(shard_id):
                book.unsure.discard(shard_id)  # its missing parent is listed now, so it waits for that parent
            elif self._is_clear(shard_id, now_us):
                self._open(shard_id, now_us)
            else:
                book.unsure.add(shard_id)

    def _is_clear(self, shard_id: str, now_us: int) -> bool:
        """Whether the shard's parents and its floor are known."""
        book = self._book
        if not book.discovery.is_whole:
            return False
        if not book.is_connected(shard_id) and not book.discovery.is_confirmed(shard_id):
            return False
        return not seek(book, self._asking, shard_id, now_us)

    # -- lanes in

    def _open_waiting(self, lane: Lane, now_us: int) -> None:
        """Opens a lane of the token, once its parents are read to their end and its floor is known."""
        book, shard_id = self._book, lane.shard_id
        if not book.is_ready(shard_id):
            book.unsure.discard(shard_id)  # as in `_open_ready`
            return
        if lane.floor_unknown and seek(book, self._asking, shard_id, now_us):
            book.unsure.add(shard_id)
            return
        if lane.latest and book.service_us is not None:
            lane.restart(AtTime(book.precision.known_us(book.service_us), book.service_us))
        floor_unknown = lane.floor_unknown or is_unknown_in_lanes_above(book, shard_id)
        lane.raise_floor(floor(book, shard_id))
        lane.floor_unknown = book.hands_over and floor_unknown
        if lane.floor_unknown and not self._handover.takes(shard_id):
            # Only the executors that read its ancestors can tell which of its first records lie before the start.
            lane.skip_before_us = None
        lane.rank = book.lineage.rank(shard_id)
        self._admit(lane, now_us)

    def _open(self, shard_id: str, now_us: int) -> None:
        """Opens an unread shard."""
        book = self._book
        if book.token.closed_are_read and book.lineage[shard_id].closed and not book.is_linked(shard_id):
            book.move(shard_id, Stage.PAST)
            self._open_ready(book.lineage.children(shard_id), now_us)
            return
        lane = self._start.lane(
            shard_id,
            book.lineage.rank(shard_id),
            floor(book, shard_id),
            begins_us(book, shard_id),
            closed=book.lineage[shard_id].closed,
            precision=book.precision,
        )
        if book.hands_over and is_floor_unknown(book, shard_id):
            lane.floor_unknown = True
            if not self._handover.takes(shard_id):
                # Only the executors that read its ancestors can tell which of its first records lie before the start.
                lane.start, lane.skip_before_us, lane.read_up_to_us = Horizon(lane.opened_us), None, None
        self._admit(lane, now_us)

    def _admit(self, lane: Lane, now_us: int) -> None:
        """Puts the lane into the merge, and reads it from now on."""
        self._book.move(lane.shard_id, Stage.LANE, lane)
        self._book.lineage.fix_rank(lane.shard_id, lane.rank)
        self._book.merge.open(lane)
        self.go_on(lane, now_us)

    def go_on(self, lane: Lane, now_us: int) -> None:
        """Reads the lane on from where it stands, here or by another reader."""
        if not self._handover.takes(lane.shard_id):
            self._asking.schedule.due_at(lane.shard_id, now_us)
        elif not gaps.stand_if_stale(self._book, self._asking, lane):
            self._handover.add(lane)

    # -- ends

    def ended(self, lane: Lane, now_us: int) -> None:
        """The lane was read to its end."""
        self._book.move(lane.shard_id, Stage.ENDED)
        self._book.discovery.ended(lane.shard_id, now_us, gone=lane.is_gone)
        self._open_below(lane.shard_id, now_us)

    def pass_over(self, lane: Lane, now_us: int) -> None:
        """Counts the lane as read to its end, and leaves out the records that were not fetched."""
        lane.push([], self._book.service_us or 0, ended=True)
        self._asking.schedule.end(lane.shard_id)
        self._book.merge.update(lane)
        self.ended(lane, now_us)

    def pass_handed(self, now_us: int) -> None:
        """Shards that were handed over count as read here, so their children may be opened, and handed over in turn."""
        while (lane := self._handover.next()) is not None:
            self.pass_over(lane, now_us)

    def take_handed(self) -> list[Handed]:
        """The shards that other readers are to read now, parents first."""
        return self._handover.take()
