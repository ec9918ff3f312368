"""Moments as options of commands, and as messages name them; the times that a person writes are parsed in moments.py."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from streamiter.cli.command import Converter
from streamiter.errors import InvalidPosition
from streamiter.moments import FORMS as FORMS
from streamiter.moments import HOW as HOW
from streamiter.moments import parse_moment as parse_moment
from streamiter.stream.starting import LATEST, read_position


def check_order(start: object, until: object, now: float) -> None:
    """An end that is before the begin is a mistake: nothing would ever lie between them."""
    if start == "latest" and isinstance(until, datetime) and until.timestamp() <= now:
        raise click.UsageError(
            f"--until ({shown(until)}) has passed, and --from is latest: nothing lies between them; say where to begin, "
            "such as --from '2 hours ago'"
        )
    if isinstance(start, datetime) and isinstance(until, datetime) and until <= start:
        raise click.UsageError(
            f"--until ({shown(until)}) is not after --from ({shown(start)}): nothing lies between them"
        )


def shown(moment: datetime) -> str:
    """A moment as messages name it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


class Moment(Converter):
    """An option that takes a moment, or one of a few words."""

    name = "when"

    def __init__(self, *words: str, sign: int = -1) -> None:
        self._words = words
        self._sign = sign

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        from streamiter.cli.setting import setting

        if not isinstance(value, str):
            return value
        try:
            return read_position(
                value, setting().clock, self._words, sign=self._sign, takes_token=LATEST in self._words
            )
        except InvalidPosition as error:
            words = f"; or {' or '.join(self._words)}" if self._words else ""
            return self.fail(f"{error}{words}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        words = (*self._words, "1 hour ago", "2 hours ago", "today", "yesterday")
        return [click.shell_completion.CompletionItem(word) for word in words if word.startswith(incomplete)]


def age(seconds: float) -> str:
    """So long, in two words at most: `4 h 10 m`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    for unit, size, rest in (("m", 60, "s"), ("h", 3600, "m"), ("d", 86400, "h")):
        next_size = size * (24 if unit == "h" else 60)
        if whole < next_size or unit == "d":
            more = whole % size // (size // (24 if unit == "d" else 60))
            return f"{whole // size} {unit}" + (f" {more} {rest}" if more else "")
    raise AssertionError(whole)
