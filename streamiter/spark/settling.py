"""Settling: a Python process of Spark's, once it has loaded what it needs."""

from __future__ import annotations

import gc
import os
from functools import cache


@cache
def settle() -> None:
    """Takes what is loaded by now out of what Python's garbage collector looks through; once in a process of Spark's.

    Between two tasks Spark has a worker look through all of its objects. Those of pyspark, pyarrow and botocore, which are
    there to stay, made that take 50 ms. Elsewhere it does nothing: other processes are not ours.
    """
    if os.environ.get("SPARK_REUSE_WORKER"):  # as Spark tells those that it is going to use again
        gc.collect()
        gc.freeze()
