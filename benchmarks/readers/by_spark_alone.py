"""Spark's side with a single core."""

from __future__ import annotations

from benchmarks.readers.by_spark import main

if __name__ == "__main__":
    main("local[1]")
