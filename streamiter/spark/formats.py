"""Formats: the names that `.format(...)` takes, and how each makes its source from options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from streamiter.source import DynamoDBStreams, Source
from streamiter.spark.options import Options


class Format(NamedTuple):
    """A kind of stream."""

    subjects: tuple[str, ...]  # the options that name a stream
    make: Callable[[str, dict[str, Any]], Source]  # from what they name, and what a session needs


FORMATS: dict[str, Format] = {
    "dynamodb_streams": Format(("table", "streamArn"), lambda name, session: DynamoDBStreams(name, **session)),
}


def make_source(options: Options, stream: str | None = None) -> Source:
    """The source that the options mean; `stream` is its own name, where it was found already."""
    session: dict[str, Any] = {"endpoint_url": options.endpoint_url, "region": options.region}
    if options.role_arn is not None:
        from streamiter.spark.credentials import role_session

        session["session"] = role_session(options.role_arn, options.region)
    return FORMATS[options.format].make(stream or options.subject, session)
