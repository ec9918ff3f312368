"""Call a webhook for each new order: retries, and a table of dead letters for what fails for good.

    python webhook.py                             # TABLE=orders, HOOK=http://127.0.0.1:9000/orders
    streamiter worker webhook:app --processes 4
    python webhook.py --again                     # tries the dead letters once more

Calls for one customer are made one after the other; those for others do not wait. A record can come again after a crash, so
each call has an idempotency key, which is the same each time.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from random import Random

from streamiter import App, ChangeRecord, Retry
from streamiter.app import Failure, Policy
from streamiter.app.policies import Pass, Verdict

TABLE = os.environ.get("TABLE", "orders")
HOOK = os.environ.get("HOOK", "http://127.0.0.1:9000/orders")
PAUSES = json.loads(os.environ.get("PAUSES", "[1, 10, 60]"))

app = App("webhook", store="sqlite:///webhook.db", failover=float(os.environ.get("FAILOVER", "10")))


class DeadLetters(Policy):
    """Keeps what failed for good, and passes it over. It is written before the record counts as processed: none gets lost."""

    def decide(self, failure: Failure, chance: Random) -> Verdict:
        # It runs on the event loop, so it is short. After a crash a record may fail again, and is kept once all the same.
        with letters() as db:
            for record in failure.records:
                # A record that cannot be decoded has a place, and no content.
                content = json.dumps(call_of(record)) if isinstance(record, ChangeRecord) else ""
                error = type(failure.error).__name__
                db.execute("INSERT OR REPLACE INTO dead VALUES (?, ?, ?)", (record.order_key, content, error))
        return Pass()


@contextmanager
def letters() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect("dead.db", timeout=30)) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS dead (key TEXT PRIMARY KEY, content TEXT, error TEXT)")
        yield db


def call_of(record: ChangeRecord) -> dict[str, str]:
    return {"order": str(record["key"]["id"]), "customer": str((record["new"] or {}).get("customer"))}


def post(key: str, content: str) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    urllib.request.urlopen(urllib.request.Request(HOOK, content.encode(), headers), timeout=10).close()


@app.processor(
    f"dynamodb://{TABLE}",
    where="event = INSERT",
    order="key",
    key=lambda record: record["new"]["customer"],
    concurrency=32,
    on_error=Retry(after=PAUSES, then=DeadLetters()),
)
async def call(record: ChangeRecord) -> None:
    await asyncio.to_thread(post, record.order_key, json.dumps(call_of(record)))


def call_again() -> None:
    with letters() as db:
        for key, content in db.execute("SELECT key, content FROM dead ORDER BY key").fetchall():
            post(key, content)
            db.execute("DELETE FROM dead WHERE key = ?", (key,))


if __name__ == "__main__":
    call_again() if "--again" in sys.argv else app.run()
