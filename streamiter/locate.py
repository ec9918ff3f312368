"""Locating: a source from what a user writes: a URL, a table's name, an ARN."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from streamiter.errors import InvalidOption, InvalidStream
from streamiter.log.locate import LOGS, open_log
from streamiter.source.base import Source
from streamiter.source.dynamodb import DynamoDBStreams
from streamiter.source.kinesis import KinesisStreams
from streamiter.urls import is_kept, options_of

# By scheme: the source, what it calls a stream's name, and the options that its URL takes.
_SCHEMES: dict[str, tuple[type[Any], str, tuple[str, ...]]] = {
    "dynamodb": (DynamoDBStreams, "table", ("endpoint_url", "region")),
    "kinesis": (KinesisStreams, "stream", ("endpoint_url", "region", "records", "duplicates")),
}


def locate(source: str | Source, **given: Any) -> Source:
    """The source that was meant; one that is a source already stays as it is.

    `given` is what the caller says besides, as the command line does: `session`, `endpoint_url`, `region`. Where the URL
    says the same, the caller's word goes before it.
    """
    given = {name: value for name, value in given.items() if value is not None}
    if not isinstance(source, str):
        if not isinstance(source, Source):
            raise InvalidOption(
                f"a source is a URL ('dynamodb://TABLE', 'kinesis://STREAM'), a table's name, an ARN, or a Source "
                f"(an object of a class that inherits from streamiter.Source), not a {type(source).__name__}"
            )
        return source
    if is_kept(source) or source.partition("://")[0].lower() in LOGS:
        return open_log(source, **given)
    if "://" not in source:
        by_words = KinesisStreams if source.startswith("arn:") and ":kinesis:" in source else DynamoDBStreams
        return by_words(source, **given)
    scheme, _, rest = source.partition("://")
    if scheme.lower() not in _SCHEMES:
        known = [*(f"{name}://{kind.upper()}" for name, (_, kind, _) in _SCHEMES.items()), *LOGS.values()]
        raise InvalidStream(f"{scheme!r} is not a source; the sources are {', '.join(known)}")
    make, kind, options = _SCHEMES[scheme.lower()]
    name, told = _parse(rest, scheme, kind, options)
    found: Source = make(name, **{**told, **given})
    return found


def _parse(rest: str, scheme: str, kind: str, known: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    # An ARN holds colons and slashes that urlsplit would take for a port and a path: only the query is its business.
    name, _, query = rest.partition("?")
    if "@" in name:
        raise InvalidStream(
            "a URL with a user name or password in it is refused: it would end up in logs; "
            "credentials come from AWS's own chain (AWS_PROFILE, AWS_ACCESS_KEY_ID, a role), or pass session="
        )
    name = unquote(name.strip("/"))
    if not name:
        raise InvalidStream(f"this URL names no {kind}: {scheme}://{kind.upper()}")
    return name, dict(options_of(query, scheme, known))
