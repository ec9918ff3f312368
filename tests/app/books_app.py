"""An app that keeps books in its own store's file, for worker processes that are killed; plain functions, on threads."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import Any

from streamiter import App, Retry

PATH = os.environ["BOOKS"]
PAUSE = float(os.environ.get("PAUSE", "0.02"))

app = App("books", store=f"sqlite:///{PATH}", failover=1)


def write(batch: Any) -> None:
    db = sqlite3.connect(PATH, timeout=30)
    try:
        db.execute("BEGIN IMMEDIATE")
        for record in batch:
            db.execute("INSERT INTO effects VALUES (?, ?)", (batch.lease.key, record.key["id"]))
        time.sleep(PAUSE / 2)  # in the middle of the transaction
        batch.commit(db)
        db.commit()
    finally:
        db.close()
    time.sleep(PAUSE / 2)  # after it, before the runtime knows


if os.environ.get("FORM") == "class":

    @app.processor("dynamodb://users", name="book", size=5, within=0, on_error=Retry(after=[0.5] * 100))
    class Book:
        def process(self, batch: Any) -> None:
            write(batch)
else:

    @app.processor("dynamodb://users", size=5, within=0, on_error=Retry(after=[0.5] * 100))
    def book(batch: Any) -> None:
        write(batch)
