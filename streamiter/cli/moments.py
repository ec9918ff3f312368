"""Moments: what a person writes for a time: `2 hours ago`, `2025-06-15 14:00`, `now`; pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import arrow
import click

_UNITS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?(?=\s*[a-z])|\ban?(?=\s))\s*([a-z]+)")
HOW = "'2 hours ago', '90m', '2025-06-15 14:00' (UTC, unless it says +02:00) or seconds since 1970"


def parse_moment(text: str, now: float, *, sign: int = -1) -> datetime:
    """The moment that was meant. Amounts alone count back from now, or, with `sign=1`, forward; `in 5m` always forward."""
    words = text.strip().lower()
    if words == "now":
        return datetime.fromtimestamp(now, UTC)
    if words.startswith("in "):
        words, sign = words.removeprefix("in "), 1
    elif words.endswith(" ago"):
        words, sign = words.removesuffix(" ago"), -1
    seconds = _seconds(words)
    try:
        if seconds is not None:
            return datetime.fromtimestamp(now, UTC) + sign * timedelta(seconds=seconds)
        if re.fullmatch(r"\d{9,11}(\.\d+)?", words):
            return datetime.fromtimestamp(float(words), UTC)
        return arrow.get(text.strip()).datetime  # UTC, where it names no zone
    except (ValueError, OverflowError, arrow.ParserError):
        raise ValueError(f"{text!r} is not a time: write {HOW}") from None


def _seconds(words: str) -> float | None:
    """So many seconds: `2 hours`, `1h30m`; None where it is something else."""
    parts = _AMOUNT.findall(words)
    if not parts or _AMOUNT.sub("", words).strip(" ,") not in ("", "and"):
        return None
    total = 0.0
    for amount, unit in parts:
        name = unit if unit in _UNITS else unit.removesuffix("s")
        if name not in _UNITS:
            return None
        total += _UNITS[name] * (1.0 if amount.startswith("a") else float(amount))
    return total


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """An option that takes a moment, or one of a few words."""

    name = "when"

    def __init__(self, *words: str, sign: int = -1) -> None:
        self._words = words
        self._sign = sign

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        from streamiter.cli.setting import setting

        if not isinstance(value, str):
            return value
        word = value.strip().lower().replace("-", "_").replace(" ", "_")
        if word in self._words:
            return word
        try:
            return parse_moment(value, setting().clock.now(), sign=self._sign)
        except ValueError as error:
            words = f", or {' or '.join(self._words)}" if self._words else ""
            return self.fail(f"{error}{words}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        words = (*self._words, "1 hour ago", "2 hours ago")
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
