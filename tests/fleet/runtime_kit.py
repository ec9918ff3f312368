"""The runtime that a world is made of: the real one, or a copy of it with a fault."""

from __future__ import annotations

import importlib
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
