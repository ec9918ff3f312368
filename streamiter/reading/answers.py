"""Answers: what a page or an error means for its shard: for its lane, its errand, or a gap."""

from __future__ import annotations

from collections.abc import Iterable

from streamiter.errors import IteratorExpired, PositionTrimmed, ShardGone, TimeUnsupported, TransientError
from streamiter.merge import Lane
from streamiter.position import AtTime, Place
from streamiter.reading import gaps, probes
from streamiter.reading.asking import Asking
from streamiter.reading.book import Book, Entry, Stage
from streamiter.reading.opening import Opening
from streamiter.reading.patience import Patience
from streamiter.shard import Shard
from streamiter.source.base import Page


class Answers:
    """Takes in pages and errors of shards. `failed` is the one place that says what an error means."""

    def __init__(self, book: Book, asking: Asking, opening: Opening, patience: Patience) -> None:
        self.shards_gone = 0  # listed shards that the service does not hold any more, and of which nothing was read
        self._book = book
        self._asking = asking
        self._opening = opening
        self._patience = patience
        self._refusal: BaseException | None = None  # an error that is not to be waited out
        self._told_serial = 0  # how many calls had been made when the caller was last told of one

    def opened(self, shard_id: str, behind: Place | None = None) -> None:
        """The driver opened the shard where the ask said; the page, or a failure, follows. `behind`: the place it stands at."""
        entry = self._book.get(shard_id)
        if entry is not None:
            entry.is_open = entry.is_fresh = True
            entry.behind = behind

    def paged(self, shard_id: str, page: Page, now_us: int, *, skipped: int = 0) -> None:
        """The next page of a shard came; besides its records, it had `skipped` that were returned before."""
        entry = self._answered(shard_id)
        if entry is None:
            return
        assert page.service_us is not None
        self._patience.recovered(shard_id, now_us)
        self._book.see_time(page.service_us)
        self._asking.learn(page)
        self._asking.schedule.rest(shard_id, now_us + page.rest_us)
        was_just_opened, entry.is_fresh = entry.is_fresh, False
        if was_just_opened and entry.behind is not None and entry.errand is None:
            entry.read.anchor(entry.behind)
        entry.is_open = page.next is not None
        if entry.is_probe:
            self._judge(entry, page, now_us)
        elif entry.errand is not None:
            self._take_errand(entry, entry.errand, page, now_us)
        elif was_just_opened and gaps.stand_if_stale(self._book, self._asking, entry.read):
            pass  # Only now does the service's clock tell that opening hid a gap.
        else:
            self._take_page(entry, entry.read, page, now_us, skipped)

    def failed(self, shard_id: str, error: BaseException, now_us: int) -> None:
        """A call for the shard failed. No token changes by it."""
        entry = self._answered(shard_id)
        if entry is None:
            return
        if isinstance(error, IteratorExpired):
            entry.is_open = False
            entry.read.reopen()
            if entry.open_at is None:
                self._asking.schedule.due_at(shard_id, now_us)
            else:  # The iterator was just handed out: to open the shard at once would be no better.
                self._postpone(entry, error, now_us)
        elif isinstance(error, TimeUnsupported) and isinstance(entry.open_at, AtTime):
            self._book.refuses_time = True
            self._asking.schedule.due_at(shard_id, now_us)
        elif isinstance(error, ShardGone):
            entry.is_open = False
            self._patience.recovered(shard_id, now_us)  # the service gave its word: it is not failing any more
            self._lose(entry, now_us)
        elif isinstance(error, PositionTrimmed):
            entry.is_open = False
            if self._is_kept_when_trimmed(entry, now_us):
                self._postpone(entry, error, now_us)
            else:
                self._patience.recovered(shard_id, now_us)
        else:
            self._postpone(entry, error, now_us)
            if not isinstance(error, TransientError) and entry.asked > self._told_serial:
                self.refuse(error)

    def refuse(self, error: BaseException) -> None:
        """The error will not pass by itself: `take_refusal` will give it to the caller."""
        self._refusal = self._refusal or error

    def take_refusal(self) -> BaseException | None:
        """The error to raise now. The caller hears of a refusal once, not again for each call that was under way with it."""
        error, self._refusal = self._refusal, None
        if error is not None:
            self._told_serial = self._asking.serial
        return error

    def _answered(self, shard_id: str) -> Entry | None:
        """The entry of the shard that a call was for; None if its answer is of no use any more."""
        entry = self._book.get(shard_id)
        if entry is None:
            return None  # it was forgotten meanwhile
        self._asking.answered(entry)
        is_wanted = entry.stage is Stage.LANE or (entry.errand is not None and not entry.errand.ended)
        return entry if is_wanted else None

    def _take_page(self, entry: Entry, lane: Lane, page: Page, now_us: int, skipped: int) -> None:
        assert page.service_us is not None
        is_doubtful = self._is_doubtful_end(lane, page)
        lane.push(
            page.records,
            page.service_us,
            ended=page.next is None and not is_doubtful,
            caught_up=False if is_doubtful else page.caught_up,
            size_bytes=page.size_bytes,
            skipped=skipped,
        )
        if not is_doubtful:
            lane.doubted_end = None
        elif not lane.doubt_end():
            lane.push([], page.service_us, ended=True)  # it told the same before, at this place
        self._book.merge.update(lane)
        self._asking.schedule.fetched(entry, lane, now_us)
        if lane.ended:
            self._end(lane, page.children, now_us)

    def _is_doubtful_end(self, lane: Lane, page: Page) -> bool:
        """Whether to ask the shard once more before believing that it ended.

        Listings show the shard open and without a child, and nothing else speaks for its end. The answer may have lost its
        body on the way, and with it the next iterator; the rest of the shard would be lost in silence.
        """
        if page.next is not None or page.children:
            return False
        return not self._book.lineage[lane.shard_id].closed and not self._book.lineage.children(lane.shard_id)

    def _end(self, lane: Lane, children: Iterable[Shard], now_us: int) -> None:
        """The lane was read to its end; `children`: all its children, if the service names them."""
        book = self._book
        rows = list(children)
        self._opening.see(rows)
        self._opening.ended(lane, now_us)
        if rows and book.discovery.found(lane.shard_id):
            book.merge.release(lane.shard_id)
        if any(child.id in book.unsure for child in rows):
            book.discovery.request()  # the other parent of a merge is not listed yet
        self._opening.pass_handed(now_us)

    def _take_errand(self, entry: Entry, lane: Lane, page: Page, now_us: int) -> None:
        """A page of an errand: only the order times of its records count."""
        assert page.service_us is not None
        lane.push(page.records, page.service_us, ended=page.next is None, caught_up=page.caught_up)
        lane.discard()
        self._asking.schedule.fetched(entry, lane, now_us)
        if lane.ended:
            self._opening.see(page.children)
            self._opening.open_all(now_us)

    def _judge(self, entry: Entry, page: Page | None, now_us: int) -> None:
        """A page of a probe; None: the service holds nothing more of the child."""
        records, ended = ((), True) if page is None else (page.records, page.next is None)
        verdict = probes.judge(self._book, self._asking, entry, records, now_us, ended=ended)
        if verdict is None:
            return
        for shard_id in verdict.parents:
            if verdict.are_old:
                self._opening.pass_over(self._book.lanes[shard_id], now_us)
            else:
                self._asking.schedule.due_at(shard_id, now_us)
        self._opening.pass_handed(now_us)

    def _end_errand(self, errand: Lane, now_us: int) -> None:
        """The service holds no more of the errand's shard: the floor follows from the records seen so far."""
        errand.push([], errand.service_us, ended=True)
        self._asking.schedule.end(errand.shard_id)
        self._opening.open_all(now_us)

    def _lose(self, entry: Entry, now_us: int) -> None:
        """The service does not know the shard any more: a gap if it or an ancestor was read, else only a count (law 5)."""
        if entry.is_probe:
            self._judge(entry, None, now_us)
        elif entry.errand is not None:
            self._end_errand(entry.errand, now_us)
        else:
            lane = entry.read
            lane.is_gone = True
            if gaps.was_read(lane):
                gaps.stand(self._book, self._asking, lane, gaps.REMOVED)
            else:
                self.shards_gone += 1
                self._opening.pass_over(lane, now_us)
                self._opening.pass_handed(now_us)

    def _is_kept_when_trimmed(self, entry: Entry, now_us: int) -> bool:
        """The service trimmed the place. Returns whether the lane goes on without a gap."""
        if entry.is_probe:
            self._judge(entry, None, now_us)
            return False
        if entry.errand is not None:
            self._end_errand(entry.errand, now_us)
            return False
        return not gaps.stand_if_trimmed(self._book, self._asking, entry.read)

    def _postpone(self, entry: Entry, error: BaseException, now_us: int) -> None:
        self._asking.schedule.postpone(entry.shard_id, self._patience.failed(entry.shard_id, error, now_us))
