"""The rig of a log in SQLite: a file in a folder of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from streamiter.errors import TransientError
from streamiter.log import SqliteLog
from streamiter.sqlitefile import SqliteFile
from streamiter.testing import LogRig


class Spoiled(SqliteFile):
    """The next call meets a fault before it is made, or after."""

    plan = ""

    def call(self, call, turn=None):
        plan, self.plan = self.plan, ""
        if plan == "fail":
            raise TransientError("planted") from sqlite3.OperationalError()
        found = super().call(call) if turn is None else super().call(call, turn)
        if plan == "lose":
            raise TransientError("the answer is lost")
        return found


@contextmanager
def sqlite_rig() -> Iterator[LogRig]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "logs.db"
        log = SqliteLog(path, "orders")
        log.grow(3)
        log._file.__class__ = Spoiled

        def spoil(plan: str) -> None:
            log._file.plan = plan  # type: ignore[attr-defined]

        yield LogRig(
            log,
            lambda: SqliteLog(path, "orders"),
            url=f"sqlite:///{path}?topic=orders",
            is_durable=True,
            is_atomic=True,
            fail=lambda: spoil("fail"),
            lose_answer=lambda: spoil("lose"),
        )
        log.close()
