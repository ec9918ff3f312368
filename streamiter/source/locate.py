"""Locating: a source from what a user writes: a URL, a table's name, an ARN."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote

from streamiter.errors import InvalidOption, InvalidStream
from streamiter.source.base import Source
from streamiter.source.dynamodb import DynamoDBStreams

_OPTIONS = ("endpoint_url", "region")


def locate(source: str | Source, **given: Any) -> Source:
    """The source that was meant; one that is a source already stays as it is.

    `given` is what the caller says besides, as the command line does: `session`, `endpoint_url`, `region`. Where the URL
    says the same, the caller's word goes before it.
    """
    given = {name: value for name, value in given.items() if value is not None}
    if not isinstance(source, str):
        missing = [
            name for name in ("list_shards", "open_iterator", "fetch") if not callable(getattr(source, name, None))
        ]
        if missing:
            raise InvalidOption(
                f"a source is a URL ('dynamodb://TABLE'), a table's name, an ARN, or a Source, not a {type(source).__name__}"
            )
        return source
    if "://" not in source:
        return DynamoDBStreams(source, **given)
    scheme, _, rest = source.partition("://")
    if scheme.lower() != "dynamodb":
        raise InvalidStream(f"no source is called {scheme!r}: there is dynamodb://TABLE")
    name, options = _parse(rest, scheme)
    return DynamoDBStreams(name, **{**options, **given})


def _parse(rest: str, scheme: str) -> tuple[str, dict[str, Any]]:
    # An ARN holds colons and slashes that urlsplit would take for a port and a path: only the query is its business.
    name, _, query = rest.partition("?")
    if "@" in name:
        raise InvalidStream(
            "a URL with a user name or password in it is refused: it would end up in logs; "
            "credentials come from AWS's own chain (AWS_PROFILE, AWS_ACCESS_KEY_ID, a role), or pass session="
        )
    name = unquote(name.strip("/"))
    if not name:
        raise InvalidStream(f"this URL names no table: {scheme}://TABLE")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise InvalidStream(f"the options of a URL are written ?name=value&name=value, this is {query!r}") from None
    options: dict[str, Any] = {}
    for option, value in pairs:
        if option not in _OPTIONS:
            raise InvalidStream(f"{scheme}:// knows no option {option!r}; it knows {', '.join(_OPTIONS)}")
        if option in options or not value:
            raise InvalidStream(f"the option {option!r} is {'given twice' if option in options else 'empty'}")
        options[option] = value
    return name, options
