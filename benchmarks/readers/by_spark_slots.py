"""Spark's side with a slot for each shard: tasks wait for the network, so there may be more of them than cores."""

from __future__ import annotations

from benchmarks.readers.by_spark import main

if __name__ == "__main__":
    main("local[8]")
