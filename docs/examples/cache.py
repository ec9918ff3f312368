"""Keep a cache of a table's rows, and drop each row from the cache when it changes.

    python cache.py products --token cache.token [--once]

A cache may forget rows, but must never keep an old one. So:
- after a gap, it forgets everything: the lost changes could be of any row;
- a record that the model refuses still names its row: the row is forgotten, and the record is written down.
"""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from streamiter import PoisonRecord, RecordsExpired, Stream, TokenFile


@dataclass
class Product:
    """A row as this program understands it."""

    id: str
    price: Decimal


class Cache:
    """What a shop would keep in memory or in Redis."""

    def __init__(self) -> None:
        self.rows: dict[str, Product] = {}

    def put(self, product: Product) -> None:
        self.rows[product.id] = product

    def drop(self, row_id: str) -> None:
        self.rows.pop(row_id, None)

    def clear(self) -> None:
        self.rows.clear()


def follow(table: str, token_path: Path, cache: Cache, until: str | None) -> None:
    """Apply changes to the cache; after a gap or a poison record, do what a cache must do, and continue."""
    file = TokenFile(token_path)
    with Stream(f"dynamodb://{table}", file.load() or "trim_horizon", model=Product) as stream:
        signal.signal(signal.SIGTERM, lambda *_: stream.close())
        while True:
            try:
                for batch in stream.batches(100, until=until):
                    for record in batch:
                        if record.new is None:
                            cache.drop(record.key["id"])
                        else:
                            cache.put(record.new)
                    file.save(batch.token)
                return
            except RecordsExpired as gap:
                print(f"gap: {gap.reason}; the cache is empty now", file=sys.stderr)
                cache.clear()
                stream.skip()
            except PoisonRecord as poison:
                cache.drop(key_of_next(table, stream.token))
                print(f"poison: shard {poison.shard_id}, record {poison.sequence_number}", file=sys.stderr)
                stream.skip()
            file.save(stream.token)


def key_of_next(table: str, token: dict[str, object]) -> str:
    """The key of the record that comes next: without the model, it can be read."""
    with Stream(f"dynamodb://{table}", token) as plain:
        record = next(plain.follow())
        return str(record.key["id"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep a cache of a table's rows.")
    parser.add_argument("table")
    parser.add_argument("--token", type=Path, default=Path("cache.token"))
    parser.add_argument("--once", action="store_true", help="end when there are no more changes")
    options = parser.parse_args()
    cache = Cache()
    follow(options.table, options.token, cache, until="caught_up" if options.once else None)
    for product in sorted(cache.rows.values(), key=lambda product: product.id):
        print(product.id, product.price)


if __name__ == "__main__":
    main()
