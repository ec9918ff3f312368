"""Targets: the topic that a command means: one of an app, or a log by its URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from streamiter.cli.fleet.finding import find_app
from streamiter.topic import Topic

_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes_topic(function: _Function) -> _Function:
    """The options for a log that is named by its URL."""
    for option in (
        click.option(
            "--partitions", type=click.IntRange(min=1), metavar="N", help="With a URL: make the log, if there is none."
        ),
        click.option(
            "--partition-by", metavar="NAME", multiple=True,
            help="With a URL: this attribute of a value is its key; several make a key together.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def is_url(target: str) -> bool:
    """Whether a log is named, and not an app."""
    return "://" in target or target.startswith(("env:", "file:"))


def split_words(target: str, words: tuple[str, ...], last: str) -> tuple[str | None, str]:
    """The topic's name, where an app is named, and the last word."""
    wanted = 1 if is_url(target) else 2
    if len(words) != wanted:
        usage = f"URL {last}" if wanted == 1 else f"MODULE:APP TOPIC {last}"
        raise click.UsageError(f"say {usage}: there are {len(words) + 1} words, and not {wanted + 1}")
    return (None, words[0]) if wanted == 1 else (words[0], words[1])


def topic_meant(target: str, name: str | None, partition_by: tuple[str, ...], partitions: int | None) -> Topic[Any]:
    """The topic; nothing is called yet."""
    by = partition_by[0] if len(partition_by) == 1 else partition_by or None
    if name is None:
        hidden = "topic" if target.startswith(("env:", "file:")) else None
        return Topic(target, partition_by=by, partitions=partitions, name=hidden)
    if partition_by or partitions is not None:
        raise click.UsageError(
            "--partition-by and --partitions go with a URL: an app says for itself how its topics are"
        )
    app = find_app(target)
    if name not in app.topics:
        known = ", ".join(app.topics) or "none; they are declared with app.topic(...)"
        raise click.UsageError(f"{app.name} has no topic {name!r}; its topics: {known}")
    return app.topics[name]
