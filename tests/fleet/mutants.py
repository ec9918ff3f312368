"""Deliberate faults in the engine, each of which the observer has to find; and the engine with one of them in it."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import streamiter.lease

_NUMBERS = count(1)


class Mutant(NamedTuple):
    """A fault: what it does, and, by file, the text that it replaces."""

    what: str
    changes: tuple[tuple[str, str, str], ...]  # file, before, after

    @property
    def seed(self) -> int:
        """Where the search begins."""
        return _SEEDS.get(self.what, 0)


def _one(what: str, file: str, before: str, after: str) -> Mutant:
    return Mutant(what, ((file, before, after),))


# Where each search begins: there the fault was found once. A change of the engine or of the worlds makes some stale; that
# costs time, and no more.
_SEEDS = {
    "has no margin": 17,
    "counts a renewal from its answer": 14,
    "counts a lost renewal from the last try": 4,
    "drops parents that one listing lacks": 109,
    "counts the dead": 58,
    "leaves lying what another does not take": 58,
    "counts on those who leave": 30,
    "takes a lost answer for a lost lease": 7,
    "counts acks of an earlier stretch": 12,
    "never removes leases": 42,
    "counts standing still from the question": 18,
    "looks for expired leases only in rounds": 88,
}

MUTANTS = (
    # Law 9
    _one(
        "delivers without looking at the clock",
        "hold",
        "self.valid_from_us is not None and now_us < self.valid_from_us + pace.valid_us",
        "self.valid_from_us is not None",
    ),
    _one("has no margin", "pace", "self.failover_us - self.failover_us // _MARGIN", "self.failover_us"),
    _one(
        "counts a renewal from its answer",
        "holdings",
        "self._confirm(hold, lease, hold.attempt.sent_us, now_us)",
        "self._confirm(hold, lease, now_us, now_us)",
    ),
    _one(
        "counts a lost renewal from the last try",
        "holdings",
        "self._confirm(hold, standing, attempt.first_us, now_us)",
        "self._confirm(hold, standing, now_us, now_us)",
    ),
    _one(
        "counts standing still from the question",
        "ledger",
        "                self.see(lease, now_us)",
        "                self.see(lease, begun_us)",
    ),
    _one(
        "waits half a failover", "ledger", "now_us) >= self.pace.failover_us", "now_us) >= self.pace.failover_us // 2"
    ),
    _one(
        "takes every row that stands for its own",
        "holdings",
        "elif hold.is_mine(standing, self._ledger.me):",
        "elif standing is not None:",
    ),
    _one("takes without raising the fence", "holdings", "fence=lease.fence + 1", "fence=lease.fence"),
    # Law 10
    _one(
        "takes a child whose parent is not done",
        "ledger",
        "            if above is not None and not above.completed:\n                return False\n",
        "",
    ),
    _one("writes leases without their parents", "shards", "parents=known, progress", "parents=(), progress"),
    _one(
        "drops parents that one listing lacks",
        "shards",
        "            return True\n        above",
        "            return False\n        above",
    ),
    _one(
        "completes a shard before its children have leases",
        "engine",
        "hold.knows_children and all(child in self._ledger.leases for child in children)",
        "hold.knows_children",
    ),
    _one(
        "takes a shard for childless at once",
        "engine",
        "hold.knows_children = self._shards.ended(hold.key, hold.told_children, now_us)",
        "hold.knows_children = True",
    ),
    _one(
        "completes a shard before all is acked",
        "pipeline",
        "self.is_ended and not self._ways.held and",
        "self.is_ended and",
    ),
    # Law 11
    _one(
        "moves the checkpoint over what is not acked",
        "ways",
        "                break\n            done",
        "                continue\n            done",
    ),
    _one(
        "checkpoints what was fetched",
        "hold",
        "checkpoint = pipeline.checkpoint",
        "checkpoint = pipeline.fetched",
    ),
    _one(
        "releases without the last checkpoint",
        "holdings",
        "hold.as_it_is.at_rest(",
        "hold.lease.at_rest(",
    ),
    _one(
        "begins anew when it takes a lease",
        "holdings",
        "taken._replace(owner=self._ledger.me, fence=lease.fence + 1)",
        "taken._replace(owner=self._ledger.me, fence=lease.fence + 1, checkpoint=START)",
    ),
    _one(
        "takes what failed for done",
        "pipeline",
        "self._ways.give_back(number, again_us)",
        "self.ack(number)",
    ),
    _one("removes leases of shards that are still listed", "shards", "for key in forgotten\n", "for key in leases\n"),
    Mutant(
        "takes a lost answer for a lost lease",
        (
            ("holdings", "standing is not None and standing.says_same(attempt.wish.lease)", "False"),
            ("holdings", "elif hold.is_mine(standing, self._ledger.me):", "elif False:"),
        ),
    ),
    _one(
        "counts acks of an earlier stretch",
        "holdings",
        "hold is not None and hold.lease.fence == fence and",
        "hold is not None and",
    ),
    _one(
        "never removes leases",
        "shards",
        "            and leases[key].completed\n",
        "            and not leases[key].completed\n",
    ),
    # Law 12
    _one(
        "delivers a batch before the last one is acked",
        "ways",
        "0 if self._sent else self._order.batch",
        "self._order.batch",
    ),
    _one(
        "delivers records of one key side by side",
        "ways",
        "group not in self._out_groups and group not in behind",
        "True",
    ),
    _one(
        "lets records overtake one of their key that failed",
        "ways",
        "            behind.add(group)",
        "            pass",
    ),
    # Law 13
    _one("never gives a lease", "balance", "if is_mine and counts", "if False and counts"),
    _one("never asks for one", "dealing", "asks=balance.asks_of(view)", "asks=[]"),
    Mutant(
        "moves leases though all are balanced",
        (
            ("balance", "for _ in range(max(0, room[worker]))", "for _ in range(1 + max(0, room[worker]))"),
            ("balance", "if left.get(owner, 0) > 0 and", "if left.get(owner, 0) > -1 and"),
            (
                "balance",
                "counts[worker] > aims.get(worker, 0) and counts[taker] < aims.get(taker, 0)",
                "counts[worker] > 1",
            ),
        ),
    ),
    _one("deals the odd leases to nobody", "balance", "least + (place < odd)", "least"),
    Mutant(
        "counts the dead",
        (
            ("members", "if still[name] < pace.failover_us and not", "if not"),
            ("members", "self._ledger.timers.hasten(Timer.LOOK, died_us)", "pass"),
        ),
    ),
    # Law 14
    _one(
        "looks for expired leases only in rounds",
        "dealing",
        "self._ledger.timers.set(Timer.STOOD_STILL, found.again_us)",
        "pass",
    ),
    _one("counts on those who leave", "members", " and not row.leaving", ""),
    _one("leaves lying what another does not take", "balance", "mine + left_lying[: max(0, most - have)]", "mine"),
    _one(
        "forgets a write whose outcome it does not know",
        "holdings",
        "        self._ledger.timers.set(Timer.RETRY, now_us + self._ledger.pace.retry_us * min(attempt.tries, 4), key)",
        "        pass",
    ),
    _one(
        "lets a lease go at a hole, so that what is acked behind it comes again",
        "pipeline",
        "        self._ways.let_go(until_us)\n",
        "        pass\n",
    ),
    # Law 15
    _one(
        "releases what is still being processed",
        "holdings",
        "            if not hold.pipeline.is_idle or hold.attempt is not None:",
        "            if hold.attempt is not None:",
    ),
    _one(
        "leaves without releasing",
        "engine",
        "            self._holdings.leave(now_us)\n",
        "            self._holdings.is_leaving = True\n            self._go()\n",
    ),
    _one(
        "goes on while it leaves",
        "engine",
        "            self._holdings.leave(now_us)\n",
        "            self._holdings.is_leaving = True\n",
    ),
)


def texts_with(mutant: Mutant) -> dict[str, str]:
    """The engine's files with this fault in them."""
    origin = Path(streamiter.lease.__file__).parent
    texts = {path.stem: path.read_text("utf-8") for path in origin.glob("*.py")}
    for file, before, after in mutant.changes:
        assert texts[file].count(before) == 1, f"{mutant.what}: {file}.py has {texts[file].count(before)} of {before!r}"
        texts[file] = texts[file].replace(before, after)
    return texts


@contextmanager
def engine_with(mutant: Mutant) -> Iterator[Any]:
    """The engine's package with this fault in it, beside the real one."""
    name = f"streamiter_mutant_{next(_NUMBERS)}"
    texts = texts_with(mutant)
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, name)
        package.mkdir()
        for stem, text in texts.items():
            (package / f"{stem}.py").write_text(text.replace("streamiter.lease", name), "utf-8")
        sys.path.insert(0, folder)
        try:
            yield importlib.import_module(name)
        finally:
            sys.path.remove(folder)
            for module in [module for module in sys.modules if module.partition(".")[0] == name]:
                del sys.modules[module]
