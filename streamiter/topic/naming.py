"""Naming: a topic's name, by default from its URL."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

from streamiter.errors import InvalidOption
from streamiter.log import Log


def name_of(log: str | Log, name: str | None) -> str:
    """The given name; without one, `?topic=` of the URL, or the URL's last part."""
    if name is None:
        name = _last_part(log if isinstance(log, str) else log.name)
    if not isinstance(name, str) or not name or not name.isprintable() or "/" in name:
        raise InvalidOption(f"a topic's name is a word without slashes, such as 'orders', not {name!r}: say name=")
    return name


def _last_part(url: str) -> str:
    if url.startswith(("env:", "file:")):
        raise InvalidOption("a topic whose URL is hidden has a name of its own: say name=")
    parts = urlsplit(url)
    told = parse_qs(parts.query).get("topic")
    return unquote(told[0] if told else parts.path.rstrip("/").rpartition("/")[2] or parts.netloc)
