"""Settling: the garbage collector of a worker process leaves loaded modules alone, so that tasks follow one another faster."""

from __future__ import annotations

import gc
import os
from functools import cache


@cache
def settle() -> None:
    """Exempts all objects that exist by now from garbage collection; once, and only in a worker process of Spark's.

    A worker runs a full collection between two tasks. With the objects of pyspark, pyarrow and botocore, which stay for
    good, that took 50 ms. In other processes this does nothing: they are not ours to tune.
    """
    if os.environ.get("SPARK_REUSE_WORKER"):  # Spark sets it for workers that it is going to use again.
        gc.collect()
        gc.freeze()
