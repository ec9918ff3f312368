"""The ways of records through a pipeline: one behind the other, or keys side by side, each key in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import repeat, takewhile
from typing import Any, NamedTuple

from streamiter.errors import InvalidOption
from streamiter.lease.wishes import Checkpoint, Entries, Entry, Every


@dataclass(frozen=True, slots=True)
class Order:
    """How records go out. By default `batch` at a time, one batch after the other. `by_key`: one of each key, side by side."""

    by_key: bool = False
    concurrency: int = 1  # with `by_key`, the most records that are out
    batch: int = 100  # without it, the most that go out together
    buffer: int = 200  # no page is fetched while so many wait
    within_us: int = 0  # how long a batch that is not full waits for more records
    is_open: bool = False  # without `by_key`: more records follow, in order, while up to `batch` are out
    by_hand: bool = False  # the processor keeps the checkpoint itself: see byhand.py
    source: str | None = None  # the source's name, where a lease is to remember whose places its checkpoints are

    def __post_init__(self) -> None:
        if min(self.concurrency, self.batch, self.buffer) < 1:
            raise InvalidOption("concurrency, batch and buffer are 1 or more")


class Done(NamedTuple):
    """So many records are done, with all before them, and this is the last of them."""

    number: int
    last: Entry | None


NOTHING_DONE = Done(0, None)


KEPT = 256  # so many records that are acked may still be in memory: each is not taken away by itself


class _Row:
    """Records whose numbers follow each other: more at its end, and fewer at its beginning, at the price of those alone."""

    def __init__(self) -> None:
        self.first = 0  # the number of the first that is here
        self._places: list[Checkpoint] = []
        self._records: list[Any] = []
        self._passed = 0  # so many are still in the lists, and here no more

    def __len__(self) -> int:
        return len(self._records) - self._passed

    def add(self, entries: Entries) -> None:
        """These follow."""
        if not self:
            self.first = entries.first
        self._places += entries.places
        self._records += entries.records

    def run(self, start: int, stop: int) -> Entries:
        """Those from one place on, up to another one."""
        here = slice(self._passed + start, self._passed + stop)
        return Entries(self.first + start, self._places[here], self._records[here])

    def drop(self, count: int) -> None:
        """The first ones are here no more."""
        self.first += count
        self._passed += count
        if self._passed >= KEPT or not self:
            del self._places[: self._passed], self._records[: self._passed]
            self._passed = 0

    @property
    def oldest(self) -> Any:
        """The first record; None where there is none."""
        return self._records[self._passed] if self else None


class InOrder:
    """One behind the other: what is out is a run from the first record that is not acked."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._row = _Row()  # from the first that is not acked
        self._sent = 0  # so many of them have gone out, or were acked out of turn
        self.out = 0  # how many are with the processor
        self._acked: set[int] = set()  # out of turn
        self._back: set[int] = set()  # given back while later ones are out: all wait for those
        self._came: deque[tuple[int, int]] = deque()  # the first record of each page that is not out, and when it came
        self._paused_us = 0

    @property
    def held(self) -> int:
        """How many records are not acked."""
        return len(self._row)

    @property
    def oldest(self) -> Any:
        """The first record that is not acked; None where there is none."""
        return self._row.oldest

    @property
    def last_out(self) -> int:
        """The number of the last record that is out; -1 where none is."""
        return self._row.first + self._sent - 1 if self.out else -1

    def is_past(self, number: int) -> bool:
        """Whether no record up to this number is out."""
        return not self.out or self._row.first > number

    def add(self, entries: Entries, groups: Sequence[Any] | None, now_us: int) -> None:
        """More records, after all that are here."""
        self._row.add(entries)
        if self._order.within_us:
            self._came.append((entries.first, now_us))

    def take(self, now_us: int, *, is_last: bool) -> Sequence[Entry]:
        """What is to go out now."""
        if self._back or now_us < self._paused_us:
            return ()
        room = self._order.batch - self.out if self._order.is_open else 0 if self._sent else self._order.batch
        waiting = len(self._row) - self._sent
        if room <= 0 or not waiting:
            return ()
        full_us = self._full_us()
        if waiting < self._order.batch and not is_last and full_us is not None and now_us < full_us:
            return ()
        run = self._row.run(self._sent, self._sent + room)
        taken: Sequence[Entry] = run
        self._sent += len(run)
        if self._acked:  # they had been out before, behind one that was given back
            taken = tuple(entry for entry in run if entry.number not in self._acked)
            if taken:  # once they are done, so is all of the run
                taken = (*taken[:-1], taken[-1].upto(run[-1]))
        self.out += len(taken)
        self._note_gone()
        return taken or self.take(now_us, is_last=is_last)

    def ack(self, numbers: Sequence[int]) -> Done:
        """These are done; gives what now is, with all before it."""
        if self._are_the_first(numbers):
            return self._pass(len(numbers))
        count = 0
        for number in numbers:
            if self._is_out(number):
                self._acked.add(number)
                self.out -= 1
        while count < self._sent and self._row.first + count in self._acked:
            self._acked.discard(self._row.first + count)
            count += 1
        self.out += count  # they were counted out above
        done = self._pass(count)
        self._rewind()
        return done

    def give_back(self, number: int, again_us: int | None) -> None:
        """One was not processed. It goes out again once nothing is out any more."""
        if self._is_out(number):
            self._back.add(number)
            self.out -= 1
            if again_us is not None:
                self._paused_us = max(self._paused_us, again_us)
            self._rewind()

    def abandon(self) -> None:
        """What is out counts as not processed."""
        for number in range(self._row.first, self._row.first + self._sent):
            self.give_back(number, None)

    # What is out is a run from the first record that is not acked, so no record is missing before others that are done.

    has_holes = False

    def let_go(self, until_us: int | None) -> None:
        """The lease is to be released."""

    def take_holes(self, now_us: int) -> Sequence[Entry]:
        """What is to go out though the lease is let go."""
        return ()

    def is_hole(self, number: int) -> bool:
        """Whether this record may go out though the lease is let go."""
        return False

    def again_us(self, now_us: int) -> int | None:
        """When more can go out."""
        if now_us < self._paused_us:
            return self._paused_us
        full_us = self._full_us()
        return full_us if full_us is not None and full_us > now_us and not self._sent else None

    def _are_the_first(self, numbers: Sequence[int]) -> bool:
        """Whether they are the first that are out, as they nearly always are: then they are done without a look at each."""
        if self._acked or self._back or not numbers or len(numbers) > self._sent:
            return False
        first = range(self._row.first, self._row.first + len(numbers))
        return (
            numbers == first
            if isinstance(numbers, range)
            else numbers[-1] == first[-1] and list(numbers) == list(first)
        )

    def _pass(self, count: int) -> Done:
        """The first ones are done, and out no more."""
        if not count:
            return NOTHING_DONE
        (last,) = self._row.run(count - 1, count)
        self._row.drop(count)
        self._sent -= count
        self.out -= count
        return Done(count, last)

    def _full_us(self) -> int | None:
        return self._came[0][1] + self._order.within_us if self._came else None

    def _is_out(self, number: int) -> bool:
        if not 0 <= number - self._row.first < self._sent:
            return False
        return number not in self._acked and number not in self._back

    def _rewind(self) -> None:
        """Once nothing is out, what was given back, and all behind it, goes out anew; but not what was acked meanwhile."""
        if self._back and not self.out:
            self._sent = 0
            self._back.clear()

    def _note_gone(self) -> None:
        """Forgets when pages came of which nothing waits any more."""
        if self._sent == len(self._row):
            self._came.clear()
        while len(self._came) > 1 and self._came[1][0] <= self._row.first + self._sent:
            self._came.popleft()


_EVERY = Every.GROUP


class _State(Enum):
    WAITING = auto()
    OUT = auto()  # delivered, not yet acked
    ACKED = auto()  # but one before it is not


class SideBySide:
    """One record of each key at a time, and as many keys as `concurrency` says.

    A key's records wait for each other, while later ones of other keys are acked: the acked prefix ends before a hole. A lease
    that is let go there would have its next owner repeat what is acked behind the hole, though nobody failed (law 11). So
    holes are filled first; but those whose key rests for long, since its record failed, are not waited for.
    """

    def __init__(self, order: Order) -> None:
        self._concurrency = order.concurrency
        self._entries: dict[int, Entry] = {}  # from the first that is not acked, in order
        self._states: dict[int, _State] = {}
        self._out_groups: set[Hashable] = set()
        self._paused_us: dict[Hashable, int] = {}  # until when groups rest whose record failed
        self._last_acked = -1  # the greatest number that ever was
        self._until_us: int | None = None  # the lease is let go: holes are filled until then
        self.out = 0

    @property
    def held(self) -> int:
        """How many records are not in the acked prefix."""
        return len(self._entries)

    @property
    def oldest(self) -> Any:
        """The first record that is not acked; None where there is none."""
        return next((entry.record for entry in self._entries.values()), None)

    @property
    def last_out(self) -> int:
        """The number of the last record that is out; -1 where none is."""
        return max((number for number, state in self._states.items() if state is _State.OUT), default=-1)

    def is_past(self, number: int) -> bool:
        """Whether no record up to this number is out."""
        ahead = takewhile(lambda item: item[0] <= number, self._states.items())
        return not any(state is _State.OUT for _, state in ahead)

    def add(self, entries: Entries, groups: Sequence[Any] | None, now_us: int) -> None:
        """More records, after all that are here."""
        for entry, group in zip(entries, groups or repeat(None), strict=False):
            self._entries[entry.number] = Entry(entry.number, entry.place, group, entry.record)
            self._states[entry.number] = _State.WAITING

    def take(self, now_us: int, *, is_last: bool) -> tuple[Entry, ...]:
        """What is to go out now."""
        return self._send(self._free(now_us))

    def ack(self, numbers: Sequence[int]) -> Done:
        """These are done; gives what now is, with all before it."""
        for number in numbers:
            if self._states.get(number) is _State.OUT:
                self._come_back(number, _State.ACKED)
                self._last_acked = max(self._last_acked, number)
        done = []
        for first, state in self._states.items():
            if state is not _State.ACKED:
                break
            done.append(first)
        last = None
        for first in done:
            del self._states[first]
            last = self._entries.pop(first)
        return NOTHING_DONE if last is None else Done(len(done), last)

    def give_back(self, number: int, again_us: int | None) -> None:
        """One was not processed: its group rests until that moment."""
        if self._states.get(number) is _State.OUT:
            self._come_back(number, _State.WAITING)
            if again_us is not None:
                self._paused_us[_group(self._entries[number])] = again_us

    def let_go(self, until_us: int | None) -> None:
        """The lease is to be released: holes are filled until that moment. None: it is kept after all, or given up."""
        self._until_us = until_us

    @property
    def has_holes(self) -> bool:
        """Whether records wait to go out before the lease can be released, so that nothing that is acked comes again."""
        until_us = self._until_us
        return until_us is not None and any(
            state is _State.WAITING and self._paused_us.get(_group(self._entries[number]), 0) < until_us
            for number, state in self._states.items()
            if number < self._last_acked
        )

    def take_holes(self, now_us: int) -> tuple[Entry, ...]:
        """What is to go out though the lease is let go."""
        if self._until_us is None or now_us >= self._until_us:
            self._until_us = None
            return ()
        return self._send(takewhile(lambda entry: entry.number < self._last_acked, self._free(now_us)))

    def is_hole(self, number: int) -> bool:
        """Whether this record may go out though the lease is let go. Any thread may ask."""
        return self._until_us is not None and number < self._last_acked

    def abandon(self) -> None:
        """What is out counts as not processed."""
        self._until_us = None
        for number in [number for number, state in self._states.items() if state is _State.OUT]:
            self._come_back(number, _State.WAITING)

    def again_us(self, now_us: int) -> int | None:
        """When the first group that rests goes on, or holes are filled no longer."""
        moments = (*self._paused_us.values(), *(() if self._until_us is None else (self._until_us,)))
        return min((moment for moment in moments if moment > now_us), default=None)

    def _send(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        taken = tuple(entries)
        for entry in taken:
            self._states[entry.number] = _State.OUT
            self.out += 1
            self._out_groups.add(_group(entry))
        return taken

    def _free(self, now_us: int) -> Iterator[Entry]:
        room = self._concurrency - self.out
        behind: set[Hashable] = set()  # groups of which a record before this one waits
        for number, entry in self._entries.items():
            if room <= 0:
                return
            if entry.group is _EVERY:
                if self._is_first(number) and self._paused_us.get(_EVERY, now_us) <= now_us:
                    self._paused_us.pop(_EVERY, None)
                    yield entry
                return
            if self._states[number] is not _State.WAITING:
                continue
            group = _group(entry)
            is_free = group not in self._out_groups and group not in behind
            if is_free and self._paused_us.get(group, now_us) <= now_us:
                self._paused_us.pop(group, None)
                room -= 1
                yield entry
            behind.add(group)

    def _is_first(self, number: int) -> bool:
        """Whether it waits, and all before it are done."""
        return self._states[number] is _State.WAITING and number == next(iter(self._entries))

    def _come_back(self, number: int, state: _State) -> None:
        self._states[number] = state
        self.out -= 1
        self._out_groups.discard(_group(self._entries[number]))


def _group(entry: Entry) -> Hashable:
    group: Hashable = (entry.number,) if entry.group is None else entry.group
    return group
