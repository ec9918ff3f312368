"""Garbage: while an app runs, Python's collector does not look at the objects that were there before it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def passing_over_what_lasts() -> Iterator[None]:
    """Freezes the objects of all modules: looking at them again and again took a fifth of the time that a log's records take.

    Collects garbage first. At the end, all is as it was before.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
