"""Locating: a store from its URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from streamiter.errors import InvalidOption, InvalidStore
from streamiter.store.base import Store
from streamiter.urls import kept

URLS = (
    "sqlite:///FILE, postgresql://HOST/DATABASE, redis://HOST:PORT/0, dynamodb://TABLE, kcl+dynamodb://TABLE, memory:"
)


def open_store(store: str | Store, **given: Any) -> Store:
    """The store that was meant; one that is a store already stays as it is. Nothing is called yet.

    `env:NAME` and `file:PATH` say where the URL stands: so a URL with a password never shows in a command or a log.
    `given` is what the caller says besides, for stores at AWS: `session`, `endpoint_url`, `region`.
    """
    if isinstance(store, Store):
        return store
    if not isinstance(store, str):
        raise InvalidOption(f"a store is a URL ({URLS}), or a Store, not a {type(store).__name__}")
    url = kept(store, "store", InvalidStore)
    scheme, _, _ = url.partition(":")
    if scheme.lower() not in _OPENERS:
        raise InvalidStore(f"no store is called {scheme!r}; there are {URLS}")
    given = {name: value for name, value in given.items() if value is not None}
    return _OPENERS[scheme.lower()](url, given)


def _memory(_: str, __: dict[str, Any]) -> Store:
    from streamiter.store.memory import MemoryStore

    return MemoryStore()


def _sqlite(url: str, _: dict[str, Any]) -> Store:
    from streamiter.store.sqlite import SqliteStore

    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.netloc or len(path) < 2 or parts.query:
        raise InvalidStore(
            "a SQLite store is written sqlite:///shop.db, or with four slashes: sqlite:////var/lib/shop.db"
        )
    return SqliteStore(path[1:])


def _postgres(url: str, _: dict[str, Any]) -> Store:
    from streamiter.store.postgres import PostgresStore

    return PostgresStore(url)


def _redis(url: str, _: dict[str, Any]) -> Store:
    from streamiter.store.redis import RedisStore

    return RedisStore(url)


def _dynamodb(url: str, given: dict[str, Any]) -> Store:
    from streamiter.store.dynamodb import DynamoDBStore

    return DynamoDBStore(_table_name(url), **given)


def _kcl(url: str, given: dict[str, Any]) -> Store:
    from streamiter.store.kcl import KCLStore

    return KCLStore(_table_name(url), **given)


def _table_name(url: str) -> str:
    name = unquote(url.partition("://")[2].strip("/"))
    if not name or "/" in name or "?" in name or "@" in name:
        raise InvalidStore(f"a store in DynamoDB is written {url.partition(':')[0]}://TABLE, and no more")
    return name


_OPENERS: dict[str, Callable[[str, dict[str, Any]], Store]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "postgresql": _postgres,
    "postgres": _postgres,
    "redis": _redis,
    "rediss": _redis,
    "unix": _redis,
    "dynamodb": _dynamodb,
    "kcl+dynamodb": _kcl,
}
