"""The observer: sees every row that is written and every delivery, and holds them against the laws.

It shares no code with the engine: it knows the true rows, the true shards, the true time and who is alive, and nothing of
views, stages or plans.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.fleet.agenda import Agenda
from tests.fleet.source import Source
from tests.fleet.store import Store, TrueRow

TOTAL = "total"


class Violation(NamedTuple):
    moment: int
    law: int
    what: str

    def __str__(self) -> str:
        return f"{self.moment / 1e6:10.3f} s  law {self.law}: {self.what}"


@dataclass
class Holding:
    """One stretch of a lease in one worker's hands, as the true rows tell."""

    owner: str
    fence: int
    begins_behind: int  # the place from which it goes on
    done: set[int] = field(default_factory=set)
    out: set[int] = field(default_factory=set)
    again: set[int] = field(default_factory=set)  # failed: may be delivered again
    went_on_at: int = 0  # when a record was delivered that lies behind all that are done


class Observer:
    """Laws 9 to 15, over one world."""

    def __init__(
        self, agenda: Agenda, store: Store, source: Source, failover: int, grace: int, *, by_key: bool
    ) -> None:
        self.agenda, self.store, self.source, self.failover, self.by_key = agenda, store, source, failover, by_key
        self.violations: list[Violation] = []
        self.holdings: dict[str, Holding] = {}
        self.acks: dict[str, set[int]] = {}
        self.prefix: dict[str, int] = {}
        self.written_at: dict[str, int] = {}
        self.shown_at: dict[str, int] = {}  # when each worker's own row was written last
        self.released_at: dict[str, int] = {}
        self.rates: dict[str, float] = {}
        self.leaving: dict[str, tuple[int, bool]] = {}  # told to stop: when, and whether it was calm then
        self.gone: set[str] = set()
        self.last_change = 0
        self.moves = 0
        self.last_write: dict[str, str] = {}  # the table that each worker wrote to last
        self.deliveries = 0
        self.grace = grace
        self.is_at_rest = False  # nobody died unnoticed: what is let go must be taken soon
        self.is_stumbling = False  # a worker stands still while all else is calm
        self.may_abandon = False  # a record hung: a worker that leaves gives it up
        store.watchers.append(self.written)
        store.failures.append(self.call_failed)

    def wrong(self, law: int, what: str) -> None:
        self.violations.append(Violation(self.agenda.now, law, what))

    # -- rows

    def written(self, writer: str, table: str, key: str, old: TrueRow | None, new: TrueRow | None) -> None:
        self.last_write[writer] = table
        if writer in self.gone:
            self.last_change = self.agenda.now  # done long after it was given up: the others see it move
        if table != "leases":
            self._shown(key, new)
            return
        before, after = (None if row is None else row.value for row in (old, new))
        if after is None:
            self._removed(key, before)
        elif before is None:
            self._created(key, after)
        else:
            self._changed(writer, key, before, after)
        self.written_at[key] = self.agenda.now

    def _shown(self, worker: str, row: TrueRow | None) -> None:
        """A worker's own row. One that stood still for a failover by the fastest clock joins anew, for all that others know."""
        shown = self.shown_at.pop(worker, None)
        if row is None:
            return
        self.shown_at[worker] = self.agenda.now
        if shown is not None and (self.agenda.now - shown) * max(self.rates.values()) >= self.failover:
            self.last_change = self.agenda.now

    def call_failed(self, worker: str) -> None:
        """A worker is told now that the store did not answer: until then, it knew of nothing that happened meanwhile."""
        if worker not in self.gone:
            self.last_change = self.agenda.now

    def _removed(self, key: str, before: Any) -> None:
        self.last_change = self.agenda.now
        if not before.completed:
            self.wrong(11, f"the lease of {key} was removed at {before.checkpoint}, and was not completed")
        if key != TOTAL and self.source.shards[key].listed_until is None:
            self.wrong(11, f"the lease of {key} was removed, and the service still lists the shard")

    def _created(self, key: str, after: Any) -> None:
        self.last_change = self.agenda.now
        if self.prefix.get(key):
            self.wrong(11, f"a lease was made for {key}, which was read before")
        if after.owner is not None or after.checkpoint.isdigit():
            self.wrong(10, f"a new lease of {key} begins as {after}")

    def _changed(self, writer: str, key: str, before: Any, after: Any) -> None:
        is_taken = after.owner is not None and (after.owner, after.fence) != (before.owner, before.fence)
        if is_taken:
            self._taken(writer, key, before, after)
        elif writer != before.owner:
            self.wrong(9, f"{writer} wrote to the lease of {key}, which is {before.owner}'s")
        self._check_checkpoint(writer, key, before, after)
        if before.completed:
            self.wrong(10, f"{writer} wrote to the completed lease of {key}")
        if after.owner is None:
            self.holdings_end(key, after)
        if after.completed and not before.completed:
            self._completed(key)

    def _taken(self, writer: str, key: str, before: Any, after: Any) -> None:
        if writer != after.owner:
            self.wrong(9, f"{writer} gave the lease of {key} to {after.owner}")
        if after.fence <= before.fence:
            self.wrong(9, f"the fence of {key} did not rise when {writer} took it: {before.fence}, {after.fence}")
        if before.owner is not None:
            waited = (self.agenda.now - self.written_at[key]) * self.rates[writer]
            if waited < self.failover:
                self.wrong(9, f"{writer} took {key} from {before.owner} after {waited / 1e6:.3f} s by its own clock")
        if after.checkpoint != before.checkpoint:
            self.wrong(11, f"{writer} moved the checkpoint of {key} while taking it")
        self._check_parents(writer, key, "taken")
        self.moves += before.fence > 0  # what nobody held before did not move
        self.holdings[key] = Holding(after.owner, after.fence, _place(after.checkpoint))
        released = self.released_at.pop(key, None)
        if released is not None and self.is_at_rest:
            self._check_pause(writer, key, released, before.progress.get("for"))

    def _check_pause(self, writer: str, key: str, released: int, promised: str | None) -> None:
        slack = 12 * self.store.latency + 400_000
        # What is meant for a worker that stands still, or died after asking, lies for half a failover first.
        share = 0.85 if self.is_stumbling or promised in self.gone else 1 / 3
        if self.agenda.now - released > self.failover * share + slack:
            self.wrong(14, f"{key} lay free for {(self.agenda.now - released) / 1e6:.2f} s until {writer} took it")

    def _check_parents(self, worker: str, key: str, what: str) -> None:
        if key == TOTAL:
            return
        for parent in self.source.shards[key].parents:
            row = self.store.rows["leases"].get(parent)
            shard = self.source.shards[parent]
            if row is not None and not row.value.completed:
                self.wrong(10, f"{key} was {what} by {worker} before its parent {parent} was completed")
            elif row is None and not self.prefix.get(parent, 0) >= shard.end and shard.listed_until is None:
                self.wrong(10, f"{key} was {what} by {worker}, and its parent {parent} was never read")

    def _check_checkpoint(self, writer: str, key: str, before: Any, after: Any) -> None:
        old, new = _place(before.checkpoint), _place(after.checkpoint)
        if after.completed:
            new = self._end(key)
        if new < old:
            self.wrong(11, f"{writer} moved the checkpoint of {key} back from {old} to {new}")
        if new > self.prefix.get(key, 0):
            self.wrong(11, f"{writer} moved the checkpoint of {key} to {new}; acked is {self.prefix.get(key, 0)}")

    def holdings_end(self, key: str, after: Any) -> None:
        """Its owner let it go: what was acked must not come again."""
        holding = self.holdings.pop(key, None)
        self.released_at[key] = self.agenda.now
        if holding is None:
            return
        if holding.owner in self.leaving and self.agenda.now - self.leaving[holding.owner][0] >= self.grace * 0.9:
            return  # what was being processed had time enough
        last = holding.begins_behind
        while last + 1 in holding.done:
            last += 1
        if not after.completed and _place(after.checkpoint) < last and not self.may_abandon:
            self.wrong(11, f"{holding.owner} let {key} go at {after.checkpoint}, and had acked up to {last}")
        behind = {place for place in holding.done if not after.completed and place > _place(after.checkpoint)}
        has_had_time = self.agenda.now - holding.went_on_at >= min(self.failover, self.grace // 2) * 0.85
        may_come_again = holding.again or holding.out or has_had_time or self.may_abandon or "gap" in after.progress
        if behind and self.by_key and not may_come_again:
            self.wrong(11, f"{holding.owner} let {key} go at {after.checkpoint}, and had acked {sorted(behind)}")
        if holding.out and not self.may_abandon:
            self.wrong(15, f"{holding.owner} let {key} go while {sorted(holding.out)} were being processed")

    def _completed(self, key: str) -> None:
        self.last_change = self.agenda.now
        self.released_at.pop(key, None)
        if key == TOTAL:
            return
        shard = self.source.shards[key]
        if not shard.closed or self.prefix.get(key, 0) < shard.end:
            self.wrong(10, f"{key} was completed at {self.prefix.get(key, 0)} of {shard.end}, closed: {shard.closed}")
        children = self.source.children(key)
        leased = [child.id for child in children if child.id in self.store.rows["leases"]]
        if children and not leased:
            self.wrong(10, f"{key} was completed, and none of its children had a lease")
        if self.source.tells_children and len(leased) < len(children):
            self.wrong(10, f"{key} was completed, and of its children only {leased} had a lease")

    # -- records

    def delivered(self, worker: str, key: str, fence: int, places: list[int]) -> None:
        self.deliveries += len(places)
        row = self.store.rows["leases"].get(key)
        owner = None if row is None else row.value.owner
        if owner != worker or row is None or row.value.fence != fence:
            self.wrong(9, f"{worker} delivered {places} of {key} (fence {fence}), which is {owner}'s by now")
            return
        holding = self.holdings[key]
        fills_hole = self.by_key and max(places) < max(holding.done, default=0)
        if not fills_hole:
            holding.went_on_at = self.agenda.now
        if worker in self.leaving and not fills_hole:
            self.wrong(15, f"{worker} delivered {places} of {key} after it was told to stop")
        self._check_parents(worker, key, "delivered")
        for place in places:
            self._check_order(holding, worker, key, place, places)
            if place <= _place(row.value.checkpoint) or place in holding.done or place in holding.out:
                self.wrong(11, f"{worker} delivered record {place} of {key} again")
        holding.again.difference_update(places)
        holding.out.update(places)

    def _check_order(self, holding: Holding, worker: str, key: str, place: int, together: list[int]) -> None:
        groups = self.source.shards[key].records
        for earlier in range(holding.begins_behind + 1, place):
            if earlier in holding.done or (not self.by_key and earlier in together and earlier < place):
                continue
            if not self.by_key or groups[earlier - 1] == groups[place - 1]:
                self.wrong(12, f"{worker} delivered record {place} of {key} before {earlier} was done")
                return

    def acked(self, worker: str, key: str, fence: int, place: int) -> None:
        done = self.acks.setdefault(key, set())
        done.add(place)
        last = self.prefix.get(key, 0)
        while last + 1 in done:
            last += 1
        self.prefix[key] = last
        holding = self.holdings.get(key)
        if holding is not None and (holding.owner, holding.fence) == (worker, fence):
            holding.done.add(place)
            holding.out.discard(place)

    def failed(self, worker: str, key: str, fence: int, places: list[int]) -> None:
        holding = self.holdings.get(key)
        if holding is not None and (holding.owner, holding.fence) == (worker, fence):
            holding.out.difference_update(places)
            holding.again.update(places)

    # -- workers

    def joined(self, worker: str, rate: float) -> None:
        self.rates[worker] = rate
        self.gone.discard(worker)  # the name of one that was killed may be used again
        self.leaving.pop(worker, None)
        self.last_change = self.agenda.now

    def told_to_leave(self, worker: str) -> None:
        self.leaving[worker] = (self.agenda.now, self.source.is_calm)
        self.last_change = self.agenda.now

    def died(self, worker: str) -> None:
        self.gone.add(worker)
        for key in [key for key, holding in self.holdings.items() if holding.owner == worker]:
            del self.holdings[key]  # what it acked and did not checkpoint may come again
        self.last_change = self.agenda.now

    def left(self, worker: str) -> None:
        self.last_change = self.agenda.now
        self.gone.add(worker)
        held = [key for key, row in self.store.rows["leases"].items() if row.value.owner == worker]
        if held and self.leaving.get(worker, (0, False))[1]:
            self.wrong(15, f"{worker} left, and still holds {held}")

    # -- at the end

    def owned(self, alive: list[str]) -> Counter[str]:
        """How many leases each of these has, of those that are not completed and whose parents are."""
        counts = Counter(dict.fromkeys(alive, 0))
        for key, row in self.store.rows["leases"].items():
            if not row.value.completed and self._is_ready(key):
                counts[str(row.value.owner)] += 1
        return counts

    def _is_ready(self, key: str) -> bool:
        rows = self.store.rows["leases"]
        return key == TOTAL or all(
            parent not in rows or rows[parent].value.completed for parent in self.source.shards[key].parents
        )

    def check_balance(self, alive: list[str]) -> None:
        counts = self.owned(alive)
        strangers = sorted(set(counts) - set(alive))
        if strangers:
            self.wrong(14, f"leases are with {strangers}, who are gone: {dict(counts)}")
        elif max(counts.values()) - min(counts.values()) > 1:
            self.wrong(13, f"not balanced: {dict(counts)}")

    def check_removed(self) -> None:
        """Leases of shards that the service listed no more for long are gone."""
        left = [
            key for key, shard in self.source.shards.items() if shard.listed_until and key in self.store.rows["leases"]
        ]
        if left:
            self.wrong(14, f"the leases of {left} are still there, and the service listed them no more for 15 minutes")

    def check_all_read(self) -> None:
        for key, shard in self.source.shards.items():
            if self.prefix.get(key, 0) < shard.end and shard.listed_until is None:
                self.wrong(11, f"{key} was read up to {self.prefix.get(key, 0)} of {shard.end}: the rest is lost")
            row = self.store.rows["leases"].get(key)
            if (
                shard.closed
                and key != TOTAL
                and shard.listed_until is None
                and (row is None or not row.value.completed)
            ):
                self.wrong(14, f"{key} came to its end, and its lease was not completed: {row}")

    def _end(self, key: str) -> int:
        return self.source.shards[key].end


def _place(checkpoint: str) -> int:
    return int(checkpoint) if checkpoint.isdigit() else 0
