"""Options of a Redis log: its server, app and stream, as its URL says them."""

from __future__ import annotations

from typing import NamedTuple, Self
from urllib.parse import unquote, urlsplit

from streamiter.errors import InvalidStream
from streamiter.redis_server import plain
from streamiter.urls import options_of

WRITTEN = "redis://HOST:PORT/STREAM?app=APP"
DEFAULT_APP = "streamiter"
_OPTIONS = ("app", "db", "partition_size", "when_full", "trim", "cluster", "hash_tag")
_CHOICES = {
    "when_full": ("refuse", "trim"),
    "trim": ("never", "read"),
    "cluster": ("no", "yes"),
    "hash_tag": ("none", "stream"),
}


class RedisOptions(NamedTuple):
    """What a URL says."""

    server_url: str
    app: str
    stream: str
    db: int = 0
    partition_size: int = 0  # 0: a partition grows as long as the server has memory
    when_full: str = "refuse"
    trim: str = "never"  # "read": what all groups of readers have read goes
    is_cluster: bool = False
    hash_tag: str = "none"  # "stream": all partitions lie on one node of a cluster

    @classmethod
    def parse(cls, url: str) -> Self:
        """The options of redis://HOST:PORT/STREAM?app=APP&db=0&partition_size=N&when_full=refuse|trim&trim=never|read
        &cluster=no|yes&hash_tag=none|stream.
        """
        parts = urlsplit(url)
        stream = unquote(parts.path.strip("/"))
        if not stream or "/" in stream or not stream.isprintable():
            raise InvalidStream(f"a log in Redis is written {WRITTEN}: its URL names one stream")
        told = options_of(parts.query, "redis", _OPTIONS)
        for name, value in told.items():
            if not value.isprintable():
                raise InvalidStream(f"the option {name!r} holds signs that cannot be printed")
        for name, choices in _CHOICES.items():
            if told.setdefault(name, choices[0]) not in choices:
                raise InvalidStream(f"{name} is {' or '.join(choices)}, not {told[name]!r}")
        if told["cluster"] == "yes" and _whole(told, "db"):
            raise InvalidStream("a cluster has the database 0 alone: leave db out")
        return cls(
            parts._replace(path="", query="", fragment="").geturl(),
            told.get("app", DEFAULT_APP),
            stream,
            _whole(told, "db"),
            _whole(told, "partition_size"),
            told["when_full"],
            told["trim"],
            told["cluster"] == "yes",
            told["hash_tag"],
        )

    @property
    def scope(self) -> str:
        """App and stream, as they stand in keys."""
        return f"{plain(self.app)}.{plain(self.stream)}"

    @property
    def key(self) -> str:
        """The log's own key; behind it, a dot, and a partition's number stand its streams."""
        return f"__strm:{{{self.scope}}}" if self.hash_tag == "stream" else f"__strm:{self.scope}"


def _whole(told: dict[str, str], name: str) -> int:
    value = told.get(name, "0")
    if not (value.isascii() and value.isdigit() and len(value) < 12):
        raise InvalidStream(f"{name} is a whole number, not {value!r}")
    return int(value)
