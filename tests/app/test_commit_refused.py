"""Where an effect and its checkpoint cannot stand together, that is said; operators, and trials over a store of the test."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from streamiter import App, Halt, InvalidOption
from streamiter.errors import ProcessorFailed
from streamiter.store import Table
from streamiter.store.sqlite import SqliteStore
from tests.app.effects import Ledger, Stage
from tests.app.test_exactly_once import RECORDS, make_app


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def test_what_cannot_take_part_is_refused(path, tmp_path):
    ledger = Ledger(path)
    app = App("shop", store=f"sqlite:///{path}")
    told: dict[str, str] = {}

    @app.processor("dynamodb://orders", name="book", size=3, within=0.0)
    async def book(batch: Any) -> None:
        other = sqlite3.connect(tmp_path / "other.db")
        memory = sqlite3.connect(":memory:")
        attached = sqlite3.connect(tmp_path / "other.db")
        attached.execute("ATTACH ? AS store", (str(path),))
        autocommit = sqlite3.connect(path, isolation_level=None)
        for name, wrong in {
            "other": other,
            "memory": memory,
            "attached": attached,
            "autocommit": autocommit,
            "text": "shop.db",
        }.items():
            with pytest.raises(InvalidOption) as caught:
                batch.commit(wrong)
            told[name] = str(caught.value)
        autocommit.execute("BEGIN IMMEDIATE")
        for record in batch:
            autocommit.execute("INSERT INTO effects VALUES (?, ?)", (batch.lease.key, record.key["id"]))
        batch.commit(autocommit)
        autocommit.execute("COMMIT")
        for connection in (other, memory, attached, autocommit):
            connection.close()

    stage = Stage(app, path, records=2)
    stage.finish(ledger)
    stage.assert_each_once(ledger)
    for name in ("other", "memory", "attached"):
        assert "takes a connection to the app's own store" in told[name]
    assert "works in a transaction" in told["autocommit"]
    assert "takes a sqlite3 connection here, not a str" in told["text"]
    stage.close()


def test_a_store_without_transactions_says_so():
    app = App("shop", store="memory:")

    @app.processor("dynamodb://orders")
    async def book(batch: Any) -> None:
        batch.commit(object())

    with pytest.raises(ProcessorFailed) as caught:
        app.test([{"id": "r1"}])
    assert "wants an app whose store is SQLite or Postgres" in str(caught.value.__cause__)


def test_an_operator_who_resets_the_lease_takes_it(path):
    ledger = Ledger(path)
    is_reset = False

    async def step(place: str) -> None:
        nonlocal is_reset
        if place == "before all" and not is_reset:
            is_reset = True
            table = Table("leases", "shop", "book")
            (row,) = stage.world.store.scan(table)
            fields = {**row.fields, "owner": "operator", "fence": row.fields["fence"] + 1}
            stage.world.store.write(table, row._replace(fields=fields), row.version)

    stage = Stage(make_app(path, ledger, step, on_error=Halt()), path, records=RECORDS)
    stage.finish(ledger)
    stage.assert_each_once(ledger)
    stage.close()


def test_an_app_that_commits_is_tried_out_over_a_store_of_the_test(path):
    ledger = Ledger(path)
    app = App("shop", store="sqlite:///elsewhere.db")

    @app.processor("dynamodb://orders")
    def book(batch: Any) -> None:
        with ledger.connected() as db:
            for record in batch:
                db.execute("INSERT INTO effects VALUES (?, ?)", (batch.lease.key, record.key["id"]))
            batch.commit(db)
            db.commit()

    with SqliteStore(path) as store:
        result = app.test([{"id": "a"}, {"id": "b"}], store=store)
    assert [key for _, key in ledger.effects()] == ["a", "b"]
    assert result.checkpoints["book"]["shard-0"] == f"{2:021d}"
