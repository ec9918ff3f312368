"""Count orders in all workers, and write a report in one of them: the leader.

    streamiter worker leader_report:app --processes 4       # TABLE=orders, SHOP=shop.db, EVERY=60

The counts are exact: each is changed in the transaction that moves the place in the stream. Two workers never write the
report at once; if one stood still for long and wakes up, the report's fence refuses what it writes late.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing

from streamiter import App, ChangeRecord, Retry
from streamiter.app import HeldLease, LeaseBatch

TABLE = os.environ.get("TABLE", "orders")
SHOP = os.environ.get("SHOP", "shop.db")
EVERY = float(os.environ.get("EVERY", "60"))

app = App("shop", store=f"sqlite:///{SHOP}", failover=float(os.environ.get("FAILOVER", "10")))


def connect() -> sqlite3.Connection:
    db = sqlite3.connect(SHOP, timeout=30)
    db.execute("CREATE TABLE IF NOT EXISTS counts (customer TEXT PRIMARY KEY, orders INTEGER)")
    db.execute("CREATE TABLE IF NOT EXISTS report (id INTEGER PRIMARY KEY CHECK (id = 1), fence INTEGER, text TEXT)")
    return db


@app.processor(f"dynamodb://{TABLE}", where="event = INSERT", on_error=Retry(after=[1, 5, 30]))
def count(batch: LeaseBatch[ChangeRecord]) -> None:
    counts = Counter(record.new["customer"] for record in batch if record.new is not None)
    with closing(connect()) as db:
        db.execute("BEGIN IMMEDIATE")
        for customer, orders in counts.items():
            db.execute(
                "INSERT INTO counts VALUES (?, ?) ON CONFLICT DO UPDATE SET orders = orders + excluded.orders",
                (customer, orders),
            )
        batch.commit(db)
        db.commit()


@app.timer(EVERY, on_leader=True)
def report(lease: HeldLease) -> None:
    with closing(connect()) as db, db:
        lines = [f"{customer}: {orders}" for customer, orders in db.execute("SELECT * FROM counts ORDER BY customer")]
        db.execute(
            "INSERT INTO report VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET fence = excluded.fence, text = excluded.text "
            "WHERE excluded.fence >= report.fence",
            (lease.fence, "\n".join(lines)),
        )


if __name__ == "__main__":
    app.run()
