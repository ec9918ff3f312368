"""Garbage: what a worker's process has from its start is not looked at again, while the app runs, by Python's collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def passing_over_what_lasts() -> Iterator[None]:
    """Modules and what they hold stay: to look at all of it each time took a fifth of the time that records of a log take.

    Before that, what is garbage goes. Afterwards all is as it was.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
