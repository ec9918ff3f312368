"""Formats: the names that `.format(...)` takes, and how each makes its source from options."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from streamiter.locate import locate
from streamiter.source import DynamoDBStreams, KinesisStreams, Source
from streamiter.spark.options import Options

_ARN = re.compile(r"arn:[\w-]+:\w+:(?P<region>[\w-]+):")


class Format(NamedTuple):
    """A kind of stream."""

    kind: Any  # makes a source from a name, `session`, `endpoint_url` and `region`
    subjects: tuple[str, ...]  # the options that name a stream
    extras: tuple[str, ...] = ()  # options of its own
    is_reached_by_name: bool = False  # whether tasks call it by what the user wrote, not by its own name


FORMATS: dict[str, Format] = {
    "dynamodb_streams": Format(DynamoDBStreams, ("table", "streamArn")),
    "streamiter": Format(locate, ("url",), is_reached_by_name=True),
    "kinesis_streams": Format(KinesisStreams, ("stream", "streamArn"), ("records",), is_reached_by_name=True),
}


def make_source(options: Options, stream: str | None = None) -> Source:
    """The source that the options mean; `stream` is its own name, where it was found already."""
    kind = FORMATS[options.format]
    region = options.region or _region_of(stream or options.subject)
    told: dict[str, Any] = {"endpoint_url": options.endpoint_url, "region": region, **dict(options.extras)}
    if options.role_arn is not None:
        from streamiter.spark.machine.credentials import role_session

        told["session"] = role_session(options.role_arn, region)
    subject = options.subject if stream is None or kind.is_reached_by_name else stream
    source: Source = kind.kind(subject, **told)
    return source


def _region_of(stream: str) -> str | None:
    """The region that an ARN names: executors need not have one in their environment, nor a role's session."""
    arn = _ARN.match(stream)
    return None if arn is None else arn["region"]
