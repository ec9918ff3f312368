"""Opening: the store that a command names, and the tables in it that are meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streamiter.cli.setting import make_session
from streamiter.errors import InvalidOption, InvalidStore
from streamiter.store import Store, Table, open_store
from streamiter.store.base import LEASES
from streamiter.store.sqlite import SqliteStore

LEADER = "leader"  # the kind of rows, and how people call the one lease among them


@contextmanager
def opened(place: dict[str, Any], *, makes: bool = False) -> Iterator[Store]:
    """The store, reached as the options say; unless the command `makes` it, its file has to be there."""
    options: dict[str, Any] = {}
    if "dynamodb://" in place["store"]:
        session = make_session(place["profile"]) if place["profile"] else None
        options = {"session": session, "endpoint_url": place["endpoint_url"], "region": place["region"]}
    with open_store(place["store"], **options) as store:
        if isinstance(store, SqliteStore) and not makes and store.path.parent.exists() and not store.path.exists():
            raise InvalidStore(f"there is no file {str(store.path)!r}: has a worker run with it, in this folder?")
        yield store


def tables_meant(store: Store, place: dict[str, Any]) -> list[Table]:
    """The tables of leases that the options mean."""
    found = tables_of(store, place)
    if not found:
        named = " and ".join(f"--{name} {place[name]}" for name in ("app", "stream") if place[name])
        raise InvalidOption(f"the store has no leases{f' for {named}' if named else ''}: has a worker run with it?")
    return found


def tables_of(store: Store, place: dict[str, Any], kind: str = LEASES) -> list[Table]:
    """The same, or none."""
    return [
        table
        for table in store.tables(kind)
        if place["app"] in (None, table.app) and place["stream"] in (None, table.stream)
    ]


def leaders_meant(store: Store, place: dict[str, Any]) -> list[Table]:
    """Where the leaders of the apps stand that the options mean."""
    return tables_of(store, place, LEADER)


def table_meant(store: Store, place: dict[str, Any]) -> Table:
    """The one that the options mean."""
    found = tables_meant(store, place)
    if len(found) > 1:
        shown = "; ".join(str(table) for table in found)
        raise InvalidOption(f"the store has {shown}: say which with --app and --stream")
    return found[0]
