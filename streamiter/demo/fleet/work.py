"""The work: the app that each worker of the demo's fleet runs, in a process of its own, until it is stopped or killed."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from streamiter import App, LogRecord, Topic
from streamiter.app import LeaseBatch

PARTITIONS = 6
FAILOVER = 2.0  # seconds: in a real fleet ten
APP, PROCESSOR, TOPIC = "shop", "bill", "orders"
SECONDS_EACH = 0.015  # that an order takes


@dataclass
class Order:
    """What is sent."""

    number: int
    customer: str


class Folder:
    """Where the demo's files are."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def topic(self) -> Topic[Order]:
        """The orders, in partitions by customer."""
        url = f"sqlite:///{self._path}/topic.db?topic={TOPIC}"
        return Topic(url, record=Order, partition_by="customer", partitions=PARTITIONS)

    @property
    def store(self) -> str:
        """The leases."""
        return f"sqlite:///{self._path}/leases.db"

    def connect(self) -> sqlite3.Connection:
        """The bills, in the file of the leases: a bill and the place behind its order are written in one transaction."""
        db = sqlite3.connect(self._path / "leases.db", timeout=30)
        db.execute("CREATE TABLE IF NOT EXISTS bills (customer TEXT, number INTEGER, worker TEXT)")
        return db


def work(folder: str, name: str) -> None:
    """One worker. It ends with the demo, which holds the other end of its standard input."""
    threading.Thread(target=_end_with_demo, daemon=True).start()
    files = Folder(folder)
    app = App(APP, store=files.store, worker_id=name, failover=FAILOVER, checkpoint_every=(0.2, 50))
    pause = threading.Event()

    @app.processor(files.topic(), name=PROCESSOR, size=10, within=0.1)
    def bill(batch: LeaseBatch[LogRecord[Order]]) -> None:
        for _ in batch:
            pause.wait(SECONDS_EACH)
        with closing(files.connect()) as db:
            db.execute("BEGIN IMMEDIATE")
            rows = [(record.payload.customer, record.payload.number, name) for record in batch]
            db.executemany("INSERT INTO bills VALUES (?, ?, ?)", rows)
            batch.commit(db)
            db.commit()

    app.run()


def _end_with_demo() -> None:
    os.read(sys.stdin.fileno(), 1)  # and not through a buffer, whose lock would be held when Python ends
    os._exit(1)
