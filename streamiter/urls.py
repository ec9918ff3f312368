"""URLs: what the addresses of sources, logs and stores have in common: where one is kept, what may stand in it, its options."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from streamiter.errors import InvalidStream, StreamiterError


def is_kept(url: str) -> bool:
    """Whether this says where the URL stands: `env:NAME`, a variable, or `file:PATH`, a file."""
    return url.startswith(("env:", "file:"))


def kept(url: str, kind: str, refusal: type[StreamiterError]) -> str:
    """The URL itself, of this kind of thing; raises `refusal` where it cannot be had, or has a password in plain sight.

    One with a password is kept in an environment variable or a file: so it never shows in a command or in a log.
    """
    if is_kept(url):
        return _looked_up(url, kind, refusal)
    try:
        has_password = urlsplit(url).password is not None
    except ValueError:
        raise refusal(f"this URL of a {kind} cannot be read") from None
    if has_password:
        raise refusal(
            f"a {kind}'s URL with a password in it is refused: it would end up in logs; keep the URL in an environment "
            "variable and name that, as env:NAME, or in a file, as file:PATH"
        )
    return url


def _looked_up(url: str, kind: str, refusal: type[StreamiterError]) -> str:
    where, _, name = url.partition(":")
    if where == "env":
        if not os.environ.get(name):
            raise refusal(f"the environment variable {name} is not set; it was to hold the {kind}'s URL")
        return os.environ[name].strip()
    try:
        return Path(name).read_text("utf-8").strip()
    except OSError as error:
        raise refusal(f"the file {name!r}, which was to hold the {kind}'s URL, cannot be read: {error}") from error


def options_of(query: str, scheme: str, known: Collection[str] | None) -> dict[str, str]:
    """The options of a source's or a log's URL, each of them known (None: any) and given once, with a value."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise InvalidStream(f"the options of a URL are written ?name=value&name=value, not {query!r}") from None
    options: dict[str, str] = {}
    for name, value in pairs:
        if known is not None and name not in known:
            raise InvalidStream(f"{scheme}:// has no option {name!r}; its options are {', '.join(known)}")
        if name in options or not value:
            raise InvalidStream(f"the option {name!r} is {'given twice' if name in options else 'empty'}")
        options[name] = value
    return options
