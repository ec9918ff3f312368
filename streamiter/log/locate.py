"""Locating: finds the log that a URL names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from streamiter.errors import InvalidOption, InvalidStream
from streamiter.log.base import Log
from streamiter.log.redis_options import WRITTEN
from streamiter.urls import kept, options_of

# For each scheme: how its URL is written, and what opens it. A backend and its library are imported when one is opened.
LOGS: dict[str, str] = {
    "sqlite": "sqlite:///FILE?topic=NAME",
    "redis": WRITTEN,
    "rediss": WRITTEN.replace("redis:", "rediss:"),
    "kafka": "kafka://HOST:9092/TOPIC",
}


KINESIS = (
    "kinesis://STREAM"  # only where a log is meant: as a source it is KinesisStreams, with records of its own kind
)


def open_log(log: str | Log, **given: Any) -> Log:
    """The log that a URL names; a Log is returned as it is. Makes no call yet.

    `env:NAME` and `file:PATH` say where the URL is kept.
    """
    if isinstance(log, Log):
        return log
    if not isinstance(log, str):
        raise InvalidOption(f"a log is a URL ({', '.join(LOGS.values())}), or a Log, not a {type(log).__name__}")
    url = kept(log, "log", InvalidStream)
    scheme = url.partition(":")[0].lower()
    if scheme not in _OPENERS:
        raise InvalidStream(f"no log is called {scheme!r}; there are {', '.join((*LOGS.values(), KINESIS))}")
    if scheme == "kinesis":
        return _kinesis(url, **given)
    if given:
        raise InvalidOption(f"{scheme}:// takes no {' and no '.join(given)}: all it needs stands in its URL")
    return _OPENERS[scheme](url)


def _sqlite(url: str) -> Log:
    from streamiter.log.sqlite import SqliteLog

    parts = urlsplit(url)
    path = unquote(parts.path)
    if "://" not in url or parts.netloc or len(path) < 2 or parts.fragment:
        raise InvalidStream(
            "a log in SQLite is written sqlite:///orders.db?topic=orders, or with four slashes: "
            "sqlite:////var/lib/orders.db?topic=orders"
        )
    options = options_of(parts.query, "sqlite", ("topic",))
    if not options:
        raise InvalidStream(f"this URL names no topic: it is written {LOGS['sqlite']}")
    return SqliteLog(path[1:], options["topic"])


def _redis(url: str) -> Log:
    from streamiter.log.redis import RedisLog

    return RedisLog(url)


def _kafka(url: str) -> Log:
    from streamiter.log.kafka import open_kafka

    return open_kafka(url)


def _kinesis(url: str, **given: Any) -> Log:
    from streamiter.log.kinesis import KinesisLog

    # An ARN holds colons and slashes that urlsplit would take for a port and a path, so it gets the query alone.
    name, _, query = url.partition("://")[2].partition("?")
    if "@" in name or not (name := unquote(name.strip("/"))):
        raise InvalidStream(
            f"a log in Kinesis is written {KINESIS}?region=eu-west-1; credentials come from AWS's own chain"
        )
    return KinesisLog(name, **{**options_of(query, "kinesis", ("endpoint_url", "region")), **given})


_OPENERS: dict[str, Callable[[str], Log]] = {
    "sqlite": _sqlite,
    "redis": _redis,
    "rediss": _redis,
    "kafka": _kafka,
    "kinesis": _kinesis,
}
