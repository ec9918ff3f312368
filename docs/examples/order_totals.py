"""Keep each customer's total of orders, exactly once, without any service: orders come through a topic in SQLite.

    streamiter worker order_totals:app --processes 4
    streamiter sendmany order_totals:app orders orders.csv --state orders.state
    streamiter send order_totals:app orders '{"order_id": 1, "customer": "ann", "total": "9.99"}'

Orders are in orders.db; totals.db has the totals and the workers' places, which change in one transaction: however often a
worker is killed, each order counts once. A value that is no order is refused by send and sendmany; if another program
writes one, its partition stops until a person has looked, and all others go on.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal

from streamiter import App, LogRecord, Quarantine, Retry
from streamiter.app import LeaseBatch


@dataclass
class Order:
    order_id: int
    customer: str
    total: Decimal


TOTALS = os.environ.get("TOTALS", "totals.db")
ORDERS = os.environ.get("ORDERS", "sqlite:///orders.db?topic=orders")

app = App("totals", store=f"sqlite:///{TOTALS}", failover=float(os.environ.get("FAILOVER", "10")))
orders = app.topic(ORDERS, record=Order, partition_by="customer", partitions=16)


def connect() -> sqlite3.Connection:
    db = sqlite3.connect(TOTALS, timeout=30)
    db.execute("CREATE TABLE IF NOT EXISTS totals (customer TEXT PRIMARY KEY, orders INTEGER, cents INTEGER)")
    return db


@app.processor(orders, on_error=Retry(after=[1, 5], then=Quarantine()))
def add(batch: LeaseBatch[LogRecord[Order]]) -> None:
    counts: Counter[str] = Counter()
    cents: Counter[str] = Counter()
    for record in batch:
        order = record.payload
        counts[order.customer] += 1
        cents[order.customer] += int(order.total * 100)
    with closing(connect()) as db:
        db.execute("BEGIN IMMEDIATE")
        for customer, count in counts.items():
            db.execute(
                "INSERT INTO totals VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET orders = orders + excluded.orders, "
                "cents = cents + excluded.cents",
                (customer, count, cents[customer]),
            )
        batch.commit(db)
        db.commit()


if __name__ == "__main__":
    app.run()
