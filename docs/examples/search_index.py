"""Keep a search index up to date with a table: many rows at once, each row in order.

    python search_index.py                        # TABLE=products, INDEX=index.db
    streamiter worker search_index:app --processes 4

A record can come again after a crash. Here that changes nothing: the index is told what a row is now, not what changed.
A row that the index refuses holds up its own key alone; after the last try, its shard waits for a person.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing

from streamiter import App, ChangeRecord, Quarantine, Retry

TABLE = os.environ.get("TABLE", "products")
INDEX = os.environ.get("INDEX", "index.db")

app = App("search", store="sqlite:///search.db", failover=float(os.environ.get("FAILOVER", "10")))


class Index:
    """Stands for a search service; SQLite's full-text search is one that needs no server."""

    def __init__(self, path: str) -> None:
        self._path = path
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS products USING fts5(id UNINDEXED, name, description)")

    async def put(self, row_id: str, name: str, description: str) -> None:
        await asyncio.to_thread(self._replace, row_id, (row_id, name, description))

    async def drop(self, row_id: str) -> None:
        await asyncio.to_thread(self._replace, row_id, None)

    def find(self, words: str) -> list[str]:
        with closing(sqlite3.connect(self._path)) as db:
            found = db.execute("SELECT id FROM products WHERE products MATCH ? ORDER BY rank, id", (words,))
            return [row_id for (row_id,) in found]

    def _replace(self, row_id: str, row: tuple[str, str, str] | None) -> None:
        with closing(sqlite3.connect(self._path, timeout=30)) as db, db:
            db.execute("DELETE FROM products WHERE id = ?", (row_id,))
            if row is not None:
                db.execute("INSERT INTO products VALUES (?, ?, ?)", row)


index = Index(INDEX)


@app.processor(
    f"dynamodb://{TABLE}",
    order="key",
    concurrency=32,
    where="event != MODIFY or changed(name) or changed(description)",  # a new price is nothing to the index
    on_error=Retry(after=[1, 10, 60], then=Quarantine()),
)
async def update(record: ChangeRecord) -> None:
    row_id = record["key"]["id"]
    row = record["new"]
    if row is None:
        await index.drop(row_id)
    else:
        await index.put(row_id, row["name"], row.get("description", ""))


if __name__ == "__main__":
    app.run()
