"""Write each change of a table to an audit log in SQLite, exactly once and in one order.

    python audit_to_sqlite.py                     # TABLE=orders, AUDIT=audit.db
    streamiter worker audit_to_sqlite:app         # the same; start a second one as a hot standby

The log and the place in the stream are rows of one file. They change in one transaction: after a crash at any point,
each change stands in the log exactly once.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from streamiter import App, ChangeRecord, Retry
from streamiter.app import LeaseBatch

TABLE = os.environ.get("TABLE", "orders")
AUDIT = os.environ.get("AUDIT", "audit.db")

app = App("audit", store=f"sqlite:///{AUDIT}", failover=float(os.environ.get("FAILOVER", "10")))


def connect() -> sqlite3.Connection:
    db = sqlite3.connect(AUDIT, timeout=30)
    db.execute("CREATE TABLE IF NOT EXISTS audit (at TEXT, event TEXT, key TEXT, old TEXT, new TEXT)")
    return db


# A batch that fails is tried again: where the file is locked for long, say. Nothing is passed over.
@app.processor(f"dynamodb://{TABLE}", order="total", on_error=Retry(after=[1, 5, 30]))
def audit(batch: LeaseBatch[ChangeRecord]) -> None:
    with closing(connect()) as db:
        db.execute("BEGIN IMMEDIATE")  # waits for the file before it begins
        for record in batch:
            at = record.created_at
            told = (record["key"], record["old"], record["new"])
            db.execute(
                "INSERT INTO audit VALUES (?, ?, ?, ?, ?)",
                (at and at.isoformat(), record["meta"]["event"]["type"], *(repr(part) for part in told)),
            )
        batch.commit(db)  # the place in the stream, in the same transaction
        db.commit()


if __name__ == "__main__":
    app.run()
