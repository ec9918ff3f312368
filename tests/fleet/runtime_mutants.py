"""Deliberate faults in the runtime, each of which its worlds have to find; and the runtime with one of them in it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import streamiter.app
import streamiter.testing.fleets
from streamiter.store import sql
from tests.fleet.runtime_kit import Kit

_NUMBERS = count(1)


class Mutant(NamedTuple):
    """A fault: what it does, the file of the app's room (or `sql`, the SQL stores'), the text that it replaces, and the seed of
    a world that shows it.
    """

    what: str
    file: str
    before: str
    after: str
    seed: int = 0


MUTANTS = (
    # Law 9
    Mutant(
        "hands over records one by one without asking",
        "works",
        "            if not self.desk.may_deliver():\n                break\n            self.desk.begin",
        "            self.desk.begin",
        16,
    ),
    Mutant(
        "hands over what waits in a feed without asking",
        "feed",
        "if not self._giver.may_begin(entry.number):",
        "if not self._giver.may_begin(entry.number) and False:",
        102,
    ),
    Mutant(
        "has a leader for each worker",
        "ticking",
        "    tables = Table(LEADER, app.name), ",
        "    tables = Table(LEADER, app.name, app.worker_id), ",
        1,
    ),
    Mutant(
        "makes up for runs that another leader began",
        "timers",
        "        self._next_us[timer.name] = schedule.after(max(now_us, last_us))",
        "        self._next_us[timer.name] = schedule.after(min(now_us, last_us) - 1)",
        7,
    ),
    # Law 11
    Mutant(
        "reads on behind what was trimmed",
        "pages",
        "        return Read(gap=TRIMMED)",
        "        self._start, self._place = Horizon(), None\n        return Read()",
        24,
    ),
    Mutant(
        "takes what is held for all there was since its start",
        "pages",
        "            if self._is_expired(page.service_us):",
        "            if False:",
        18,
    ),
    Mutant(
        "delivers on where a gap was found",
        "runtime",
        "            self.engine.found_gap(key, fence, read.gap, now_us)\n",
        "            self.engine.paged(key, fence, (), now_us, again_us=now_us + 100_000)\n",
        18,
    ),
    Mutant(
        "takes what is tried again for done",
        "desk",
        "engine.nacked(key, fence, numbers, again_us, now)",
        "engine.acked(key, fence, numbers, now)",
        9,
    ),
    Mutant(
        "takes a record for done when the iterator gives it",
        "feed",
        "            yield self._given(entry)\n            self._feed.ack_all()",
        "            self._feed.ack_all()\n            yield self._given(entry)",
        34,
    ),
    Mutant(
        "takes what a function let go of for done",
        "works",
        "            self.desk.give_back(unacked)",
        "            self.desk.ack(unacked)",
        53,
    ),
    Mutant(
        "takes all that was handed over for done when one fails",
        "works",
        "self.desk.ack(entries[done.acked : done.count])",
        "self.desk.ack(entries[done.acked :])",
        16,
    ),
    Mutant(
        "takes a failed record for done beside others",
        "works",
        "            self.desk.fail([entry], raised)",
        "            self.desk.ack([entry])",
        9,
    ),
    Mutant(
        "reads a shard from its beginning again when an iterator dies",
        "pages",
        "        except IteratorExpired:\n            self._cursor = None",
        "        except IteratorExpired:\n            self._cursor = self._place = None",
        17,
    ),
    Mutant(
        "begins where a shard begins, whatever the lease says",
        "pages",
        "return After(Place.of(number, int(since or 0))) if number.isdigit() else Horizon(opened_us)",
        "return Horizon(opened_us)",
        1,
    ),
    Mutant(
        "reads on behind a gap of the total order",
        "total",
        "                if not self._passes_gaps:",
        "                if False:",
        2,
    ),
    # Law 14
    Mutant(
        "forgets what was not handed over",
        "desk",
        "self._host.happen(lambda now: self._host.engine.returned(self.lease.key, self.lease.fence, numbers, now))",
        "pass",
        53,
    ),
    Mutant(
        "forgets what left out records count as",
        "runtime",
        "            self.engine.acked(wish.key, wish.fence, left_out, self.now_us())\n",
        "            pass\n",
    ),
    Mutant("never looks at the time", "runtime", "        self.happen(self.engine.tick)\n", ""),
    Mutant(
        "does not begin anew where a function returned",
        "works",
        "        kept, self._kept, self._feed = self._kept, [], None",
        "        kept, self._kept = self._kept, []",
        53,
    ),
    Mutant(
        "ends where a worker's row is not answered for",
        "runtime",
        "        except TransientError as error:\n            answer = error\n",
        "        except ZeroDivisionError as error:\n            answer = error\n",
    ),
    Mutant(
        "forgets a page that could not be had",
        "runtime",
        "            self.engine.fetch_at(key, fence, now_us + max(1, read.rest_us))\n",
        "",
        10,
    ),
    Mutant(
        "leads three times as long",
        "ticking",
        "        pace=app.pace,",
        "        pace=type(app.pace)(3 * app.pace.failover_us),",
        7,
    ),
    # Law 18
    Mutant(
        "commits though another transaction has done that work",
        "commit",
        "lease.fence, str(self.checkpoint), unless)",
        "lease.fence, str(self.checkpoint), ())",
        7,
    ),
    Mutant(
        "commits effects without their checkpoint",
        "runtime",
        "        self._kit.store.move_checkpoint(connection, self._leases, place.move(lease, unless))",
        "        pass",
        2,
    ),
    Mutant(
        "lets a lost lease's effects stand",
        "runtime",
        "        self._kit.store.move_checkpoint(connection, self._leases, place.move(lease, unless))",
        "        with suppress(StreamiterError):\n"
        "            self._kit.store.move_checkpoint(connection, self._leases, place.move(lease, unless))",
        7,
    ),
    Mutant(
        "does not ask the store what became of a commit",
        "desk",
        "        if commit.begun_us is not None:",
        "        if False:",
        140,
    ),
    Mutant(
        "forgets what its processor may have committed",
        "commit",
        "        mover.engine.promised(lease.key, lease.fence, self._number, self.checkpoint)\n",
        "",
        7,
    ),
    Mutant(
        "lets a former owner's transaction move the checkpoint",
        "sql",
        "WHERE {_equal(held)}{others}",
        "WHERE {_equal(_LEASES.keys)} AND ? <> '' AND ? > 0 AND completed = ?{others}",
        23,
    ),
    Mutant(
        "lets a transaction do work that another has done",
        "sql",
        '    others = "".join(" AND checkpoint <> ?" for _ in wanted.unless)',
        '    others = "".join(" AND ? IS NOT NULL" for _ in wanted.unless)',
        7,
    ),
    # Law 15
    Mutant(
        "ends before its leases are released",
        "worker",
        "await self._until_left()",
        "await asyncio.sleep(60)",
    ),
    Mutant(
        "keeps what waits in a feed that is closed",
        "feed",
        "        self.is_closed = True\n        self._return_waiting()\n",
        "        self.is_closed = True\n",
        53,
    ),
)


@contextmanager
def _sql_with(mutant: Mutant, name: str) -> Iterator[None]:
    text = Path(str(sql.__file__)).read_text("utf-8")
    assert text.count(mutant.before) == 1, f"{mutant.what}: sql has {text.count(mutant.before)} of {mutant.before!r}"
    module = sys.modules[name] = ModuleType(name)
    try:
        exec(text.replace(mutant.before, mutant.after), module.__dict__)
        yield
    finally:
        del sys.modules[name]


@contextmanager
def runtime_with(mutant: Mutant) -> Iterator[Kit]:
    """The app's room and the fleets over it, with this fault in them, beside the real ones."""
    name = f"streamiter_runtime_mutant_{next(_NUMBERS)}"
    if mutant.file == "sql":
        with _sql_with(mutant, name):
            yield Kit(sql=name)
        return
    app, fleets = (Path(str(room.__file__)).parent for room in (streamiter.app, streamiter.testing.fleets))
    texts = {path.relative_to(app): path.read_text("utf-8") for path in app.rglob("*.py")}
    file = Path(f"{mutant.file}.py")
    found = texts[file].count(mutant.before)
    assert found == 1, f"{mutant.what}: {file} has {found} of {mutant.before!r}"
    texts[file] = texts[file].replace(mutant.before, mutant.after)
    texts |= {Path("fleets", path.name): path.read_text("utf-8") for path in fleets.glob("*.py")}
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            target = Path(folder, name, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = text.replace("streamiter.testing.fleets", f"{name}.fleets").replace("streamiter.app", name)
            target.write_text(text, "utf-8")
        sys.path.insert(0, folder)
        try:
            yield Kit(name, f"{name}.fleets")
        finally:
            sys.path.remove(folder)
            for module in [module for module in sys.modules if module.partition(".")[0] == name]:
                del sys.modules[module]
