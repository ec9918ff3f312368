"""The made-up store: true rows, and calls that are slow, refused, lost, answered too late or done after they were given up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from tests.fleet.agenda import SECOND, Agenda

TIMEOUT = 3 * SECOND // 2


class TrueRow(NamedTuple):
    version: int
    value: Any  # as the writer told it: a Lease or a Worker


@dataclass
class Weather:
    """How bad the days are: chances per call."""

    lost_request: float = 0.0  # never done, and told so only by the time-out
    lost_answer: float = 0.0  # done, and told as a time-out
    late: float = 0.0  # given up by the time-out, and done long after
    slow: float = 0.0  # takes up to the time-out
    throttled: float = 0.0


@dataclass
class Trouble:
    """A time in which one worker (None: all) does not reach the store."""

    begins: int
    ends: int
    worker: str | None
    loses_answers: bool  # else requests


Answer = Callable[[str, Any], None]  # "ok", "conflict", "failed"; and what came


class Store:
    """Rows by table and key. Each call is done at one moment, and answered at a later one."""

    def __init__(self, agenda: Agenda, chance: Random, weather: Weather) -> None:
        self.agenda = agenda
        self.chance = chance
        self.weather = weather
        self.troubles: list[Trouble] = []
        self.rows: dict[str, dict[str, TrueRow]] = {"leases": {}, "workers": {}}
        self.watchers: list[Callable[[str, str, str, TrueRow | None, TrueRow | None], None]] = []
        self.failures: list[Callable[[str], None]] = []
        self.is_calm = False
        self.latency = chance.choice((2_000, 10_000, 40_000))

    def write(self, worker: str, table: str, key: str, value: Any, expected: int | None, answer: Answer) -> None:
        def do() -> tuple[str, Any]:
            standing = self.rows[table].get(key)
            if (None if standing is None else standing.version) != expected:
                return "conflict", standing
            row = TrueRow(1 if expected is None else expected + 1, value)
            self.rows[table][key] = row
            for watcher in self.watchers:
                watcher(worker, table, key, standing, row)
            return "ok", row.version

        self._call(worker, do, answer)

    def delete(self, worker: str, table: str, key: str, expected: int) -> None:
        def do() -> tuple[str, Any]:
            standing = self.rows[table].get(key)
            if standing is not None and standing.version == expected:
                del self.rows[table][key]
                for watcher in self.watchers:
                    watcher(worker, table, key, standing, None)
            return "ok", None

        self._call(worker, do, lambda _outcome, _told: None)

    def scan(self, worker: str, table: str, answer: Answer) -> None:
        """Page by page: each page is read at a moment of its own."""
        found: dict[str, TrueRow] = {}
        pages = self.chance.choice((1, 3, 4))
        spread = self.latency * pages if self.is_calm else self.chance.choice((self.latency * pages, SECOND))

        def read(page: int) -> Callable[[], tuple[str, Any]]:
            def do() -> tuple[str, Any]:
                rows = self.rows[table]
                # Keys keep their page, whatever is written meanwhile.
                found.update((key, row) for key, row in rows.items() if sum(key.encode()) % pages == page)
                return "ok", found

            return do

        for page in range(pages - 1):
            read_page = read(page)
            self.agenda.after(page * spread // pages, lambda read_page=read_page: read_page() and None)  # type: ignore[misc]
        self.agenda.after((pages - 1) * spread // pages, lambda: self._call(worker, read(pages - 1), answer))

    def _call(self, worker: str, do: Callable[[], tuple[str, Any]], answer: Answer) -> None:
        there = self.chance.randrange(self.latency) + 500
        back = self.chance.randrange(self.latency) + 500
        what = self._what_happens(worker)
        if what == "throttled":
            self.agenda.after(there + back, lambda: self._fail(worker, answer))
            return
        if what == "slow":
            there, back = self.chance.randrange(TIMEOUT // 2), self.chance.randrange(TIMEOUT // 2)
        if what == "late":
            there = TIMEOUT + self.chance.randrange(20 * SECOND)
        answers = what in ("well", "slow")

        def arrive() -> None:
            if what != "lost_request":
                told = do()
                if answers:
                    self.agenda.after(back, lambda: answer(*told))

        self.agenda.after(there, arrive)
        if not answers:
            self.agenda.after(TIMEOUT, lambda: self._fail(worker, answer))

    def _fail(self, worker: str, answer: Answer) -> None:
        for failure in self.failures:
            failure(worker)
        answer("failed", None)

    def _what_happens(self, worker: str) -> str:
        for trouble in self.troubles:  # the first that fits
            if trouble.begins <= self.agenda.now < trouble.ends and trouble.worker in (None, worker):
                return "lost_answer" if trouble.loses_answers else "lost_request"
        luck = self.chance.random()
        for name in ("lost_request", "lost_answer", "late", "slow", "throttled"):
            luck -= getattr(self.weather, name)
            if luck < 0:
                return name
        return "well"
