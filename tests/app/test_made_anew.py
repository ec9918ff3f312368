"""A log that was deleted and made again while no worker ran: its numbers begin anew, and no place of the old one is its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streamiter import App
from streamiter.app import GapStands
from streamiter.lease.operator import accept_gap, reset
from streamiter.log import Entry, SqliteLog
from streamiter.store import Table, open_store

FINAL = b"final"


def made(path: Path, *payloads: bytes) -> None:
    with SqliteLog(path, "orders") as log:
        log.grow(1)
        log.append(0, [Entry(payload) for payload in payloads])


def worked_off(folder: Path) -> list[bytes]:
    """What an app is given from where its leases stand, until the last entry, or a gap."""
    done: list[bytes] = []
    told: list[GapStands] = []

    def note(event: object) -> None:
        if isinstance(event, GapStands):
            told.append(event)
            asyncio.get_running_loop().call_soon(app.stop)  # once the lease says so

    app = App("shop", store=f"sqlite:///{folder / 'shop.db'}", on_event=note)

    @app.processor(f"sqlite:///{folder / 'orders.db'}?topic=orders")
    async def bill(batch):
        done.extend(record.payload for record in batch)
        if FINAL in done:
            app.stop()

    app.run()
    assert not (done and told)
    return done or [event.reason.encode() for event in told]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made(tmp_path / "orders.db", b"0", b"1", b"2", FINAL)
    assert worked_off(tmp_path) == [b"0", b"1", b"2", FINAL]
    return tmp_path


def make_anew(folder: Path) -> None:
    for path in folder.glob("orders.db*"):
        path.unlink()
    made(folder / "orders.db", b"n0", b"n1", b"n2", b"n3", b"n4", FINAL)


def test_what_the_new_one_holds_is_never_passed_over_in_silence(folder: Path):
    make_anew(folder)
    (told,) = worked_off(folder)
    assert b"deleted and made again" in told
    with open_store(f"sqlite:///{folder / 'shop.db'}") as store:
        accept_gap(store, Table("leases", "shop", "bill"), "0", 0)
    assert worked_off(folder) == [b"n0", b"n1", b"n2", b"n3", b"n4", FINAL]
    made(folder / "orders.db", b"more", FINAL)
    assert worked_off(folder) == [b"more", FINAL]


def test_an_operator_may_say_where_to_go_on(folder: Path):
    make_anew(folder)
    with open_store(f"sqlite:///{folder / 'shop.db'}") as store:
        reset(store, Table("leases", "shop", "bill"), "0", "4", 0)
    assert worked_off(folder) == [b"n4", FINAL]


def test_one_that_only_grew_goes_on(folder: Path):
    made(folder / "orders.db", b"more", FINAL)
    assert worked_off(folder) == [b"more", FINAL]
