"""Law 18 with real processes: workers are killed again and again; in the end each record's effect stands exactly once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from streamiter.testing import Simulator
from tests.cli.conftest import environment
from tests.cli.conftest import served as served
from tests.stream.helpers import soon

ROOT = Path(__file__).parent.parent.parent
RECORDS = 300
KILLS = 8


class Books:
    """The file, and the processes that write it."""

    def __init__(self, path: Path, sim: Simulator, form: str) -> None:
        self.path = path
        self._environment = environment(
            AWS_ENDPOINT_URL=sim.endpoint_url, PYTHONPATH=str(ROOT), BOOKS=str(path), FORM=form
        )
        self.processes: list[subprocess.Popen[bytes]] = []
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE effects (lease TEXT, id TEXT)")
        db.close()

    def start(self) -> None:
        command = [sys.executable, "-m", "streamiter", "worker", "tests.app.books_app:app"]
        with open(self.path.with_suffix(".log"), "ab") as log:
            self.processes.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=self._environment, stdout=log, stderr=log, start_new_session=True
                )
            )

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.processes.remove(process)

    def effects(self) -> list[tuple[str, str]]:
        db = sqlite3.connect(self.path, timeout=30)
        try:
            return db.execute("SELECT lease, id FROM effects ORDER BY rowid").fetchall()
        finally:
            db.close()


@pytest.mark.parametrize("form", ["function", "class"])
def test_workers_that_are_killed_leave_each_effect_once(tmp_path, served, form):
    chance = Random(form)
    served.shape("S1 ~ S2")
    for number in range(RECORDS):
        served.put(served.open_shards[number % 2], key=f"k{number}")
    books = Books(tmp_path / "books.db", served, form)
    try:
        books.start()
        books.start()
        for _ in range(KILLS):
            wanted = min(len(books.effects()) + chance.randint(1, 20), RECORDS)
            soon(lambda wanted=wanted: len(books.effects()) >= wanted)  # type: ignore[misc]
            books.kill(chance.choice(books.processes))
            books.start()
        soon(lambda: len({key for _, key in books.effects()}) == RECORDS, 120)
        for process in books.processes:
            process.send_signal(signal.SIGTERM)
        codes = {process.wait(60) for process in books.processes}
        assert codes <= {0, 128 + signal.SIGTERM, -signal.SIGTERM}, "one may not have begun by then"
    finally:
        for process in list(books.processes):
            if process.poll() is None:
                books.kill(process)
    effects = books.effects()
    for shard in {record.shard_id for record in served.history}:
        wanted = [record.key["id"] for record in served.history if record.shard_id == shard]
        assert [key for lease, key in effects if lease == shard] == wanted
    assert len(effects) == RECORDS
