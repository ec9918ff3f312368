"""The runtime that a world is made of: the real one, or a copy of it with a fault; and how its leases are to be shared out."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any


class Kit:
    """Modules by their names within the app's room; those of the fleets under `fleets`; the SQL stores' statements."""

    def __init__(
        self,
        app: str = "streamiter.app",
        fleets: str = "streamiter.testing.fleets",
        sql: str = "streamiter.store.sql",
    ) -> None:
        self.app: Any = importlib.import_module(app)
        self.fleets: Any = importlib.import_module(fleets)
        self.given: Any = importlib.import_module(f"{app}.virtual.given")
        self.process: Any = importlib.import_module(f"{app}.virtual.process")
        self.sql: Any = importlib.import_module(sql)


REAL = Kit()


def check_balance(processor: str, leases: Mapping[str, Any], workers: Sequence[str]) -> None:
    """Law 13: each worker has as many of the leases that can be read as the others, but for one."""
    counts = dict.fromkeys(workers, 0)
    for lease in leases.values():
        if not lease.completed and all(key not in leases or leases[key].completed for key in lease.parents):
            assert lease.owner in counts, f"law 14: {lease.key} of {processor} is with {lease.owner}"
            counts[lease.owner] += 1
    assert max(counts.values()) - min(counts.values()) <= 1, f"law 13: {processor} is not balanced: {counts}"
